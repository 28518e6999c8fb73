// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/decompress.h"

#include <zstd.h>

namespace gacer::simdriver {
namespace {

constexpr size_t kMinMatch = 4;

// Reader of one LZ4 block; the format: https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md
class Lz4Reader {
 public:
  Lz4Reader(std::span<const uint8_t> input, size_t limit) : input_(input), limit_(limit) {
    out_.reserve(limit);
  }

  bool run() {
    while (at_ < input_.size()) {
      const uint8_t token = input_[at_++];
      if (!copy_literals(token >> 4)) return false;
      if (at_ == input_.size()) return true;  // the last sequence has no match
      if (!copy_match(token & 15)) return false;
    }
    return true;
  }
  std::string take() { return std::move(out_); }

 private:
  // 15 means that further bytes are added, up to and including the first that is not 255.
  bool read_length(size_t& length) {
    if (length != 15) return true;
    uint8_t more = 255;
    while (more == 255) {
      if (at_ >= input_.size()) return false;
      more = input_[at_++];
      length += more;
    }
    return true;
  }
  bool copy_literals(size_t length) {
    if (!read_length(length) || length > input_.size() - at_ || length > limit_ - out_.size())
      return false;
    out_.append(reinterpret_cast<const char*>(input_.data()) + at_, length);
    at_ += length;
    return true;
  }
  bool copy_match(size_t length) {
    if (input_.size() - at_ < 2) return false;
    const size_t distance = input_[at_] | static_cast<size_t>(input_[at_ + 1]) << 8;
    at_ += 2;
    if (!read_length(length)) return false;
    length += kMinMatch;
    if (distance == 0 || distance > out_.size() || length > limit_ - out_.size()) return false;
    for (size_t i = 0; i < length; ++i)
      out_.push_back(out_[out_.size() - distance]);  // may overlap itself
    return true;
  }

  std::span<const uint8_t> input_;
  const size_t limit_;
  size_t at_ = 0;
  std::string out_;
};

}  // namespace

bool decompress_lz4(std::span<const uint8_t> input, size_t expected_bytes, std::string& out) {
  Lz4Reader reader(input, expected_bytes);
  if (!reader.run()) return false;
  out = reader.take();
  return out.size() == expected_bytes;
}

bool decompress_zstd(std::span<const uint8_t> input, size_t expected_bytes, std::string& out) {
  out.resize(expected_bytes);
  const size_t written = ZSTD_decompress(out.data(), out.size(), input.data(), input.size());
  return ZSTD_isError(written) == 0 && written == expected_bytes;
}

}  // namespace gacer::simdriver
