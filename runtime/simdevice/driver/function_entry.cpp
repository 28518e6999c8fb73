// SPDX-License-Identifier: Apache-2.0
// cuFunc*
#include <memory>

#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/module.h"

namespace gacer::simdriver {
namespace {

CUresult find_function(CUfunction handle, std::shared_ptr<Function>& out) {
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  return resolve_function(handle, out);
}

}  // namespace

CUresult function_attribute(const KernelDescription& info, const FunctionSettings& settings,
                            CUfunction_attribute attribute, int& out) {
  const DeviceSpec& spec = Driver::get().spec();
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      out = static_cast<int>(info.max_threads);
      break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      out = static_cast<int>(info.static_smem_bytes);
      break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      out = static_cast<int>(info.local_bytes);
      break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      out = static_cast<int>(info.regs);
      break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
      out = static_cast<int>(info.virtual_arch);
      break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      out = spec.compute_major * 10 + spec.compute_minor;
      break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      out = static_cast<int>(settings.max_dynamic_smem_bytes.load(std::memory_order_relaxed));
      break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      out = settings.carveout.load(std::memory_order_relaxed);
      break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
      out = info.cluster[0] != 0 ? 1 : 0;
      break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
      out = static_cast<int>(
          info.cluster[static_cast<size_t>(attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH)]);
      break;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      out = settings.non_portable_cluster.load(std::memory_order_relaxed) ? 1 : 0;
      break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      out = settings.cluster_policy.load(std::memory_order_relaxed);
      break;
    default:
      if (attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX) return CUDA_ERROR_INVALID_VALUE;
      out = 0;  // constant bytes, cache mode: neither exists here
  }
  return CUDA_SUCCESS;
}

CUresult set_function_attribute(const KernelDescription& info, FunctionSettings& settings,
                                CUfunction_attribute attribute, int value) {
  if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) {
    if (value < -1 || value > 100) return CUDA_ERROR_INVALID_VALUE;
    settings.carveout.store(value, std::memory_order_relaxed);
    return CUDA_SUCCESS;
  }
  if (attribute == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) {
    settings.non_portable_cluster.store(value != 0, std::memory_order_relaxed);
    return CUDA_SUCCESS;
  }
  if (attribute == CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE) {
    if (value < CU_CLUSTER_SCHEDULING_POLICY_DEFAULT ||
        value > CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING)
      return CUDA_ERROR_INVALID_VALUE;
    settings.cluster_policy.store(value, std::memory_order_relaxed);
    return CUDA_SUCCESS;
  }
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0)
    return CUDA_ERROR_INVALID_VALUE;
  const auto bytes = static_cast<uint32_t>(value);
  if (bytes + info.static_smem_bytes > Driver::get().spec().smem_per_block_optin_bytes)
    return CUDA_ERROR_INVALID_VALUE;
  settings.max_dynamic_smem_bytes.store(bytes, std::memory_order_relaxed);
  return CUDA_SUCCESS;
}

}  // namespace gacer::simdriver

using namespace gacer::simdriver;

CUresult cuFuncGetAttribute(int* out, CUfunction_attribute attribute, CUfunction handle) {
  std::shared_ptr<Function> function;
  SIM_TRY(find_function(handle, function));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return function_attribute(function->info, *function->settings, attribute, *out);
}

CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value) {
  std::shared_ptr<Function> function;
  SIM_TRY(find_function(handle, function));
  return set_function_attribute(function->info, *function->settings, attribute, value);
}

CUresult cuFuncGetName(const char** out, CUfunction handle) {
  std::shared_ptr<Function> function;
  SIM_TRY(find_function(handle, function));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = function->info.name.c_str();
  return CUDA_SUCCESS;
}

CUresult cuFuncGetModule(CUmodule* out, CUfunction handle) {
  std::shared_ptr<Function> function;
  SIM_TRY(find_function(handle, function));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = HandleTable<CUmodule, Module>::to_handle(function->module.lock().get());
  return CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(CUfunction handle, size_t index, size_t* offset, size_t* bytes) {
  std::shared_ptr<Function> function;
  SIM_TRY(find_function(handle, function));
  if (offset == nullptr || index >= function->info.params.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = function->info.params[index].offset;
  if (bytes != nullptr) *bytes = function->info.params[index].bytes;
  return CUDA_SUCCESS;
}

CUresult cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache) {
  std::shared_ptr<Function> function;
  return find_function(handle, function);  // a preference that the device need not follow
}
CUresult cuFuncSetSharedMemConfig(CUfunction handle, CUsharedconfig) {
  std::shared_ptr<Function> function;
  return find_function(handle, function);  // without effect since Maxwell
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState* out, CUfunction handle) {
  std::shared_ptr<Function> function;
  SIM_TRY(find_function(handle, function));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = CU_FUNCTION_LOADING_STATE_LOADED;
  return CUDA_SUCCESS;
}
CUresult cuFuncLoad(CUfunction handle) {
  std::shared_ptr<Function> function;
  return find_function(handle, function);
}
