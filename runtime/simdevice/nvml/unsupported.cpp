// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/nvml/unsupported.h"

#include "runtime/simdevice/nvml/library.h"

namespace gacer::simnvml {

int answer_unsupported() {
  return Library::get().initialized() ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_UNINITIALIZED;
}

}  // namespace gacer::simnvml
