// SPDX-License-Identifier: Apache-2.0
#include "tests/property/world.h"

namespace gacer::property {
namespace {

constexpr CUresult kRefusals[] = {CUDA_SUCCESS, CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_LAUNCH_FAILED,
                                  CUDA_ERROR_NOT_SUPPORTED, CUDA_ERROR_UNKNOWN};
constexpr uintptr_t kNoStream = 0xdead'0000;

}  // namespace

void World::about_to(Symbol symbol, const Step& step) {
  thread->expected = symbol;
  thread->reached = false;
  thread->injected = kRefusals[step.failure];
}

CUresult World::done(Symbol symbol, CUresult result) {
  thread->expected = Symbol::kCount;
  if (!thread->reached) {
    const std::lock_guard guard(model.mutex);
    model.violation(std::string("the call never reached the driver: ") + name_of(symbol));
  }
  if (thread->reached && thread->answered != result) {
    const std::lock_guard guard(model.mutex);
    model.violation(std::string("not the driver's answer: ") + name_of(symbol));
  }
  saw(result);
  return result;
}

CUstream World::stream(uint32_t choice) const {
  switch (choice % 16) {
    case 0:
    case 1:
      return nullptr;
    case 2:
      return CU_STREAM_LEGACY;
    case 3:
      return CU_STREAM_PER_THREAD;
    case 4:
      return choice / 16 % 4 == 0 ? reinterpret_cast<CUstream>(kNoStream) : v.streams[0];
    default:
      return v.streams[choice / 16 % 5];
  }
}

// A CUkernel is as good as a CUfunction.
CUfunction World::function(uint32_t choice) const {
  const uint32_t index = choice % 8;
  if (index < 6) return v.functions[index % 4];
  return reinterpret_cast<CUfunction>(v.kernels[index % 3]);
}

}  // namespace gacer::property
