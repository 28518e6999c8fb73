// SPDX-License-Identifier: Apache-2.0
// libFuzzer's entry, and what our targets share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace gacer::fuzz {

// A property that no input may break; works in every build type.
inline void require(bool holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "broken: %s\n", what);
  abort();
}

// Values from the front of the input; zeros when it is used up.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool empty() const { return size_ == 0; }
  size_t take(void* out, size_t bytes) {
    const size_t taken = bytes < size_ ? bytes : size_;
    if (taken != 0) memcpy(out, data_, taken);
    if (taken != bytes) memset(static_cast<char*>(out) + taken, 0, bytes - taken);
    data_ += taken;
    size_ -= taken;
    return taken;
  }
  template <typename T>
  T value() {
    T result;
    take(&result, sizeof result);
    return result;
  }

 private:
  const uint8_t* data_;
  size_t size_;
};

}  // namespace gacer::fuzz
