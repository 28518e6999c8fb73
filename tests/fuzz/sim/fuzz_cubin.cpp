// SPDX-License-Identifier: Apache-2.0
// Machine code: whatever is accepted must be consistent, because launches are checked against it.
#include "runtime/simdevice/image/cubin.h"
#include "tests/fuzz/support/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gacer;
  const auto cubin = simdevice::parse_cubin({data, size});
  if (!cubin.ok()) return 0;
  uint64_t initial_bytes = 0;
  for (const simdevice::CubinKernel& kernel : cubin->kernels)
    for (const simdevice::CubinParam& param : kernel.params)
      fuzz::require(param.offset + param.bytes <= kernel.param_bytes,
                    "parameters fit their buffer");
  for (const simdevice::CubinGlobal& global : cubin->globals) {
    initial_bytes += global.initial.size();
    fuzz::require(global.initial.empty() || global.initial.size() == global.bytes,
                  "a variable is initialised whole");
    for (const auto& [offset, target] : global.relocations)
      fuzz::require(offset + 8 <= global.initial.size() && target < cubin->globals.size(),
                    "an address lies in its variable");
  }
  fuzz::require(initial_bytes <= 1ULL << 30, "memory is bounded");
  return 0;
}
