// SPDX-License-Identifier: Apache-2.0
// Matrix instructions.
#include "runtime/simdevice/exec/lower/lowering.h"

namespace gacer::simdevice {

bool FunctionLowering::lower_matrix_load(const Instruction& in) {
  return fail(in, "is not supported");
}
bool FunctionLowering::lower_mma(const Instruction& in) {
  return fail(in, "is not supported");
}

}  // namespace gacer::simdevice
