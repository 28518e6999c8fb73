// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/cudart/thread_state.h"

#include <utility>

namespace gacer::cudart {
namespace {

// driver_types.h: "leaves the process in an inconsistent state".
bool sticky(cudaError_t error) {
  switch (error) {
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContained:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorTensorMemoryLeak:
    case cudaErrorMpsClientTerminated:
    case cudaErrorExternalDevice:
      return true;
    default:
      return false;
  }
}

}  // namespace

ThreadState& thread_state() {
  thread_local ThreadState state;
  return state;
}

cudaError_t record_error(cudaError_t error) {
  if (error != cudaSuccess) [[unlikely]]
    thread_state().last_error = error;
  return error;
}

cudaError_t take_last_error() {
  cudaError_t& last = thread_state().last_error;
  return sticky(last) ? last : std::exchange(last, cudaSuccess);
}

}  // namespace gacer::cudart
