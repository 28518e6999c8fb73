// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/fatbin.h"

#include <cstring>
#include <optional>
#include <string_view>

#include "runtime/simdevice/driver/cuda_api.h"
#include "runtime/simdevice/driver/decompress.h"

namespace gacer::simdriver {
namespace {

constexpr uint32_t kWrapperMagic = 0x466243b1;
constexpr uint32_t kContainerMagic = 0xBA55ED50;
constexpr uint32_t kElfMagic = 0x464c457f;
constexpr uint16_t kKindPtx = 1;
constexpr uint64_t kFlagLz4 = 0x2000;
constexpr uint64_t kFlagZstd = 0x8000;
// Larger is taken for a damaged header; the largest PTX of a shipped library is a few MiB.
constexpr uint64_t kMaxPtxBytes = 256ULL << 20;

struct Wrapper {
  uint32_t magic;
  uint32_t version;
  const void* container;
  const void* prelinked;
};

struct ContainerHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t header_bytes;
  uint64_t payload_bytes;
};

struct EntryHeader {
  uint16_t kind;
  uint16_t version;
  uint32_t header_bytes;
  uint64_t padded_bytes;  // from the end of this header to the next entry
  uint32_t compressed_bytes;
  uint32_t options_offset;
  uint16_t minor;
  uint16_t major;
  uint32_t sm;
  uint32_t name_offset;
  uint32_t name_bytes;
  uint64_t flags;
  uint64_t reserved;
  uint64_t content_bytes;  // uncompressed; 0 when stored plain
};
static_assert(sizeof(ContainerHeader) == 16 && sizeof(EntryHeader) == 64);

template <typename T>
T read(const void* from) {
  T value;
  memcpy(&value, from, sizeof value);
  return value;
}

Error bad_image(const std::string& what) {
  return Error{CUDA_ERROR_INVALID_IMAGE, "fat binary: " + what};
}

struct Entry {
  EntryHeader header;
  std::span<const uint8_t> payload;
};

// The entry at the front of `rest`, which is moved behind it; nullopt when it does not fit.
std::optional<Entry> next_entry(std::span<const uint8_t>& rest) {
  if (rest.size() < sizeof(EntryHeader)) return std::nullopt;
  Entry entry{read<EntryHeader>(rest.data()), {}};
  const uint64_t header_bytes = entry.header.header_bytes;
  if (header_bytes < sizeof(EntryHeader) || header_bytes > rest.size()) return std::nullopt;
  if (entry.header.padded_bytes > rest.size() - header_bytes) return std::nullopt;
  entry.payload = rest.subspan(header_bytes, entry.header.padded_bytes);
  rest = rest.subspan(header_bytes + entry.header.padded_bytes);
  return entry;
}

Result<std::string> content(const Entry& entry) {
  const EntryHeader& header = entry.header;
  if ((header.flags & (kFlagLz4 | kFlagZstd)) == 0)
    return std::string(reinterpret_cast<const char*>(entry.payload.data()), entry.payload.size());
  if (header.compressed_bytes > entry.payload.size() || header.content_bytes > kMaxPtxBytes)
    return bad_image("compressed PTX is larger than its entry");
  const auto input = entry.payload.first(header.compressed_bytes);
  std::string text;
  const bool ok = (header.flags & kFlagZstd) != 0
                      ? decompress_zstd(input, header.content_bytes, text)
                      : decompress_lz4(input, header.content_bytes, text);
  if (!ok) return bad_image("PTX does not decompress");
  return text;
}

// Up to the first NUL; nvcc pads in front with newlines and behind with NULs.
std::string trimmed(std::string text) {
  text.resize(strnlen(text.data(), text.size()));
  return text;
}

}  // namespace

Result<std::string> ptx_of_entries(std::span<const uint8_t> entries, int sm) {
  std::optional<Entry> best;
  std::string seen;
  std::span<const uint8_t> rest = entries;
  while (!rest.empty()) {
    const auto entry = next_entry(rest);
    if (!entry) return bad_image("an entry reaches beyond the end");
    seen += (entry->header.kind == kKindPtx ? " PTX sm_" : " code sm_") +
            std::to_string(entry->header.sm);
    if (entry->header.kind != kKindPtx || entry->header.sm > static_cast<uint32_t>(sm)) continue;
    if (!best || entry->header.sm > best->header.sm) best = entry;
  }
  if (!best)
    return Error{CUDA_ERROR_NO_BINARY_FOR_GPU,
                 "no PTX for sm_" + std::to_string(sm) +
                     " or below; the simulated device runs PTX only; image has:" + seen};
  auto text = content(*best);
  if (!text.ok()) return text.error();
  return trimmed(std::move(text).value());
}

Result<std::string> ptx_of_image(const void* image, int sm) {
  const auto* bytes = static_cast<const uint8_t*>(image);
  // Byte by byte: a PTX text may be shorter than a header.
  const std::string_view start(static_cast<const char*>(image),
                               strnlen(static_cast<const char*>(image), 4));
  if (start.size() < 4) return Error{CUDA_ERROR_INVALID_IMAGE, "neither PTX text nor a fat binary"};
  const uint32_t magic = read<uint32_t>(image);
  if (magic == kWrapperMagic) {
    const auto wrapper = read<Wrapper>(image);
    if (wrapper.container == nullptr || read<uint32_t>(wrapper.container) != kContainerMagic)
      return bad_image("the wrapper points to no container");
    return ptx_of_image(wrapper.container, sm);
  }
  if (magic == kContainerMagic) {
    const auto header = read<ContainerHeader>(image);
    return ptx_of_entries({bytes + header.header_bytes, header.payload_bytes}, sm);
  }
  if (magic == kElfMagic)
    return Error{CUDA_ERROR_NO_BINARY_FOR_GPU,
                 "the image is machine code only; the simulated device runs PTX only"};
  return std::string(static_cast<const char*>(image));
}

Result<std::string> ptx_of_bytes(std::span<const uint8_t> image, int sm) {
  if (image.size() >= sizeof(ContainerHeader) && read<uint32_t>(image.data()) == kContainerMagic) {
    const auto header = read<ContainerHeader>(image.data());
    if (header.header_bytes > image.size() ||
        header.payload_bytes > image.size() - header.header_bytes)
      return bad_image("cut short");
    return ptx_of_entries(image.subspan(header.header_bytes, header.payload_bytes), sm);
  }
  // A copy with a terminator; a wrapper holds pointers and means nothing outside the process that
  // has it.
  const std::string text(reinterpret_cast<const char*>(image.data()), image.size());
  if (text.size() >= 4 && read<uint32_t>(text.data()) == kWrapperMagic)
    return bad_image("a wrapper without memory");
  return ptx_of_image(text.c_str(), sm);
}

}  // namespace gacer::simdriver
