// SPDX-License-Identifier: Apache-2.0
// libFuzzer driver: bin/fuzz_ptx -max_total_time=60 tests/fuzz/ptx/corpus
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/ptx/ptx_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gacer::fuzz::run_ptx(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
