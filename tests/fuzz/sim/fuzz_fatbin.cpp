// SPDX-License-Identifier: Apache-2.0
// Files that a program loads or links: fat binaries (compressed too), objects, archives, text. The
// first byte says as what.
#include <string>

#include "runtime/simdevice/driver/fatbin.h"
#include "runtime/simdevice/driver/link_inputs.h"
#include "runtime/simdevice/driver/module.h"
#include "tests/fuzz/support/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gacer;
  if (size == 0) return 0;
  const uint8_t how = data[0] % 8;
  const std::span<const uint8_t> bytes(data + 1, size - 1);
  if (how == 7) {
    (void)simdriver::images_of_section(bytes, 80);
    return 0;
  }
  if (how == 6) {
    const auto image = simdriver::image_in_bytes(bytes, 90);
    if (image.ok()) (void)simdriver::kernel_names(*image);
    return 0;
  }
  simdriver::LinkInputs inputs(80);
  constexpr CUjitInputType kTypes[] = {CU_JIT_INPUT_CUBIN,     CU_JIT_INPUT_PTX,
                                       CU_JIT_INPUT_FATBINARY, CU_JIT_INPUT_OBJECT,
                                       CU_JIT_INPUT_LIBRARY,   CU_JIT_INPUT_NVVM};
  (void)inputs.add(kTypes[how], bytes, "input");
  const auto linked = inputs.complete();
  fuzz::require(!linked.ok() || !linked->empty(), "what is linked is not empty");
  return 0;
}
