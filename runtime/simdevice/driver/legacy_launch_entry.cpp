// SPDX-License-Identifier: Apache-2.0
// cuFuncSetBlockShape, cuParamSet*, cuLaunch*: launches as before API 4.0, whose shape and
// parameters are kept in the function.
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/module.h"

using namespace gacer::simdriver;

namespace {

constexpr size_t kMostParamBytes = 4096;

struct LaunchState {
  std::array<unsigned, 3> block{1, 1, 1};
  unsigned smem = 0;
  size_t param_bytes = 0;
  std::vector<uint8_t> params;
};

struct LaunchStates {
  std::mutex mutex;
  std::map<uint64_t, LaunchState> states;  // by module and place in it
};

LaunchStates& launch_states() {
  static LaunchStates& all = *new LaunchStates;
  return all;
}

// Changes the state of a function under the lock.
template <typename Change>
CUresult change(CUfunction handle, const Change& apply) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Function> function;
  SIM_TRY(current_context(context));
  SIM_TRY(resolve_function(handle, function));
  const std::lock_guard lock(launch_states().mutex);
  return apply(launch_states().states[function->server_module << 16 | function->index]);
}

CUresult set_param(CUfunction handle, int offset, const void* value, size_t bytes) {
  if (offset < 0 || value == nullptr || static_cast<size_t>(offset) + bytes > kMostParamBytes)
    return CUDA_ERROR_INVALID_VALUE;
  return change(handle, [&](LaunchState& state) {
    const size_t end = static_cast<size_t>(offset) + bytes;
    if (state.params.size() < end) state.params.resize(end);
    memcpy(state.params.data() + offset, value, bytes);
    return CUDA_SUCCESS;
  });
}

CUresult launch(CUfunction handle, int width, int height, CUstream stream) {
  if (width <= 0 || height <= 0) return CUDA_ERROR_INVALID_VALUE;
  LaunchState copy;
  SIM_TRY(change(handle, [&](LaunchState& state) {
    state.params.resize(state.param_bytes);
    copy = state;
    return CUDA_SUCCESS;
  }));
  size_t bytes = copy.params.size();
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, copy.params.data(), CU_LAUNCH_PARAM_BUFFER_SIZE,
                   &bytes, CU_LAUNCH_PARAM_END};
  return cuLaunchKernel(handle, static_cast<unsigned>(width), static_cast<unsigned>(height), 1,
                        copy.block[0], copy.block[1], copy.block[2], copy.smem, stream, nullptr,
                        extra);
}

}  // namespace

CUresult cuFuncSetBlockShape(CUfunction function, int x, int y, int z) {
  if (x <= 0 || y <= 0 || z <= 0) return CUDA_ERROR_INVALID_VALUE;
  return change(function, [&](LaunchState& state) {
    state.block = {static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z)};
    return CUDA_SUCCESS;
  });
}
CUresult cuFuncSetSharedSize(CUfunction function, unsigned bytes) {
  return change(function, [&](LaunchState& state) {
    state.smem = bytes;
    return CUDA_SUCCESS;
  });
}
CUresult cuParamSetSize(CUfunction function, unsigned bytes) {
  if (bytes > kMostParamBytes) return CUDA_ERROR_INVALID_VALUE;
  return change(function, [&](LaunchState& state) {
    state.param_bytes = bytes;
    return CUDA_SUCCESS;
  });
}
CUresult cuParamSeti(CUfunction function, int offset, unsigned value) {
  return set_param(function, offset, &value, sizeof value);
}
CUresult cuParamSetf(CUfunction function, int offset, float value) {
  return set_param(function, offset, &value, sizeof value);
}
CUresult cuParamSetv(CUfunction function, int offset, void* value, unsigned bytes) {
  return set_param(function, offset, value, bytes);
}

CUresult cuLaunch(CUfunction function) {
  return launch(function, 1, 1, nullptr);
}
CUresult cuLaunchGrid(CUfunction function, int width, int height) {
  return launch(function, width, height, nullptr);
}
CUresult cuLaunchGridAsync(CUfunction function, int width, int height, CUstream stream) {
  return launch(function, width, height, stream);
}
