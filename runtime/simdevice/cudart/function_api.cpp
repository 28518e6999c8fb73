// SPDX-License-Identifier: Apache-2.0
// Kernels: attributes, occupancy, handles, libraries.
#include "runtime/simdevice/cudart/api_call.h"
#include "runtime/simdevice/cudart/launch.h"
#include "runtime/simdevice/cudart/layout.h"
#include "runtime/simdevice/cudart/registry.h"
#include "runtime_impl.h"

namespace gacer::cudart {
namespace {

// Attributes that a driver does not know leave the field as it is.
template <typename Field>
void read_attribute(CUfunction function, CUfunction_attribute attribute, Field& out) {
  int value = 0;
  if (legacy_driver().cuFuncGetAttribute(&value, attribute, function) == CUDA_SUCCESS)
    out = static_cast<Field>(value);
}

CUkernel as_kernel(cudaKernel_t kernel) {
  return reinterpret_cast<CUkernel>(kernel);
}

}  // namespace

namespace impl {

Outcome cudaFuncGetAttributes(const Driver&, cudaFuncAttributes* attr, const void* func) {
  if (attr == nullptr) return cudaErrorInvalidValue;
  CUfunction f = nullptr;
  RT_TRY(find_loaded_function(func, f));
  *attr = {};
  read_attribute(f, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, attr->sharedSizeBytes);
  read_attribute(f, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, attr->constSizeBytes);
  read_attribute(f, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, attr->localSizeBytes);
  read_attribute(f, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, attr->maxThreadsPerBlock);
  read_attribute(f, CU_FUNC_ATTRIBUTE_NUM_REGS, attr->numRegs);
  read_attribute(f, CU_FUNC_ATTRIBUTE_PTX_VERSION, attr->ptxVersion);
  read_attribute(f, CU_FUNC_ATTRIBUTE_BINARY_VERSION, attr->binaryVersion);
  read_attribute(f, CU_FUNC_ATTRIBUTE_CACHE_MODE_CA, attr->cacheModeCA);
  read_attribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                 attr->maxDynamicSharedSizeBytes);
  read_attribute(f, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                 attr->preferredShmemCarveout);
  read_attribute(f, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, attr->clusterDimMustBeSet);
  read_attribute(f, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, attr->requiredClusterWidth);
  read_attribute(f, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, attr->requiredClusterHeight);
  read_attribute(f, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, attr->requiredClusterDepth);
  read_attribute(f, CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
                 attr->clusterSchedulingPolicyPreference);
  read_attribute(f, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
                 attr->nonPortableClusterSizeAllowed);
  return cudaSuccess;
}
Outcome cudaFuncSetAttribute(const Driver& driver, const void* func, cudaFuncAttribute attr,
                             int value) {
  CUfunction function = nullptr;
  RT_TRY(find_loaded_function(func, function));
  return driver.cuFuncSetAttribute(function, static_cast<CUfunction_attribute>(attr), value);
}
Outcome cudaFuncSetCacheConfig(const Driver& driver, const void* func, cudaFuncCache cacheConfig) {
  CUfunction function = nullptr;
  RT_TRY(find_loaded_function(func, function));
  return driver.cuFuncSetCacheConfig(function, static_cast<CUfunc_cache>(cacheConfig));
}
Outcome cudaFuncSetSharedMemConfig(const Driver& driver, const void* func,
                                   cudaSharedMemConfig config) {
  CUfunction function = nullptr;
  RT_TRY(find_loaded_function(func, function));
  return driver.cuFuncSetSharedMemConfig(function, static_cast<CUsharedconfig>(config));
}
Outcome cudaFuncGetName(const Driver& driver, const char** name, const void* func) {
  if (name == nullptr) return cudaErrorInvalidValue;
  CUfunction function = nullptr;
  RT_TRY(find_loaded_function(func, function));
  return driver.cuFuncGetName(name, function);
}
Outcome cudaFuncGetParamInfo(const Driver& driver, const void* func, size_t paramIndex,
                             size_t* paramOffset, size_t* paramSize) {
  CUfunction function = nullptr;
  RT_TRY(find_loaded_function(func, function));
  return driver.cuFuncGetParamInfo(function, paramIndex, paramOffset, paramSize);
}

Outcome cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(const Driver& driver, int* numBlocks,
                                                               const void* func, int blockSize,
                                                               size_t dynamicSMemSize,
                                                               unsigned flags) {
  CUfunction function = nullptr;
  RT_TRY(find_loaded_function(func, function));
  return driver.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, function, blockSize,
                                                                     dynamicSMemSize, flags);
}
Outcome cudaOccupancyMaxActiveBlocksPerMultiprocessor(const Driver& driver, int* numBlocks,
                                                      const void* func, int blockSize,
                                                      size_t dynamicSMemSize) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
      driver, numBlocks, func, blockSize, dynamicSMemSize, CU_OCCUPANCY_DEFAULT);
}
Outcome cudaOccupancyAvailableDynamicSMemPerBlock(const Driver& driver, size_t* dynamicSmemSize,
                                                  const void* func, int numBlocks, int blockSize) {
  CUfunction function = nullptr;
  RT_TRY(find_loaded_function(func, function));
  return driver.cuOccupancyAvailableDynamicSMemPerBlock(dynamicSmemSize, function, numBlocks,
                                                        blockSize);
}
Outcome cudaOccupancyMaxPotentialClusterSize(const Driver& driver, int* clusterSize,
                                             const void* func,
                                             const cudaLaunchConfig_t* launchConfig) {
  if (launchConfig == nullptr) return cudaErrorInvalidValue;
  CUfunction function = nullptr;
  RT_TRY(find_loaded_function(func, function));
  const CUlaunchConfig config = driver_config(*launchConfig);
  return driver.cuOccupancyMaxPotentialClusterSize(clusterSize, function, &config);
}
Outcome cudaOccupancyMaxActiveClusters(const Driver& driver, int* numClusters, const void* func,
                                       const cudaLaunchConfig_t* launchConfig) {
  if (launchConfig == nullptr) return cudaErrorInvalidValue;
  CUfunction function = nullptr;
  RT_TRY(find_loaded_function(func, function));
  const CUlaunchConfig config = driver_config(*launchConfig);
  return driver.cuOccupancyMaxActiveClusters(numClusters, function, &config);
}

Outcome cudaGetKernel(const Driver&, cudaKernel_t* kernelPtr, const void* entryFuncAddr) {
  if (kernelPtr == nullptr) return cudaErrorInvalidValue;
  CUkernel kernel = nullptr;
  RT_TRY(find_kernel(entryFuncAddr, kernel));
  *kernelPtr = reinterpret_cast<cudaKernel_t>(kernel);
  return cudaSuccess;
}
Outcome cudaGetFuncBySymbol(const Driver&, cudaFunction_t* functionPtr, const void* symbolPtr) {
  if (functionPtr == nullptr) return cudaErrorInvalidValue;
  CUfunction function = nullptr;
  RT_TRY(find_loaded_function(symbolPtr, function));
  *functionPtr = reinterpret_cast<cudaFunction_t>(function);
  return cudaSuccess;
}
Outcome cudaKernelSetAttributeForDevice(const Driver& driver, cudaKernel_t kernel,
                                        cudaFuncAttribute attr, int value, int device) {
  return driver.cuKernelSetAttribute(static_cast<CUfunction_attribute>(attr), value,
                                     as_kernel(kernel), device);
}

Outcome cudaLibraryLoadData(const Driver& driver, cudaLibrary_t* library, const void* code,
                            cudaJitOption* jitOptions, void** jitOptionsValues,
                            unsigned numJitOptions, cudaLibraryOption* libraryOptions,
                            void** libraryOptionValues, unsigned numLibraryOptions) {
  return driver.cuLibraryLoadData(reinterpret_cast<CUlibrary*>(library), code,
                                  same_layout<CUjit_option>(jitOptions), jitOptionsValues,
                                  numJitOptions, same_layout<CUlibraryOption>(libraryOptions),
                                  libraryOptionValues, numLibraryOptions);
}
Outcome cudaLibraryLoadFromFile(const Driver& driver, cudaLibrary_t* library, const char* fileName,
                                cudaJitOption* jitOptions, void** jitOptionsValues,
                                unsigned numJitOptions, cudaLibraryOption* libraryOptions,
                                void** libraryOptionValues, unsigned numLibraryOptions) {
  return driver.cuLibraryLoadFromFile(reinterpret_cast<CUlibrary*>(library), fileName,
                                      same_layout<CUjit_option>(jitOptions), jitOptionsValues,
                                      numJitOptions, same_layout<CUlibraryOption>(libraryOptions),
                                      libraryOptionValues, numLibraryOptions);
}
Outcome cudaLibraryUnload(const Driver& driver, cudaLibrary_t library) {
  return driver.cuLibraryUnload(reinterpret_cast<CUlibrary>(library));
}
Outcome cudaLibraryGetKernel(const Driver& driver, cudaKernel_t* pKernel, cudaLibrary_t library,
                             const char* name) {
  return driver.cuLibraryGetKernel(reinterpret_cast<CUkernel*>(pKernel),
                                   reinterpret_cast<CUlibrary>(library), name);
}
Outcome cudaLibraryGetGlobal(const Driver& driver, void** dptr, size_t* bytes,
                             cudaLibrary_t library, const char* name) {
  return driver.cuLibraryGetGlobal(device_address_out(dptr), bytes,
                                   reinterpret_cast<CUlibrary>(library), name);
}
Outcome cudaLibraryGetManaged(const Driver& driver, void** dptr, size_t* bytes,
                              cudaLibrary_t library, const char* name) {
  return driver.cuLibraryGetManaged(device_address_out(dptr), bytes,
                                    reinterpret_cast<CUlibrary>(library), name);
}
Outcome cudaLibraryGetUnifiedFunction(const Driver& driver, void** fptr, cudaLibrary_t library,
                                      const char* symbol) {
  return driver.cuLibraryGetUnifiedFunction(fptr, reinterpret_cast<CUlibrary>(library), symbol);
}
Outcome cudaLibraryGetKernelCount(const Driver& driver, unsigned* count, cudaLibrary_t lib) {
  return driver.cuLibraryGetKernelCount(count, reinterpret_cast<CUlibrary>(lib));
}
Outcome cudaLibraryEnumerateKernels(const Driver& driver, cudaKernel_t* kernels,
                                    unsigned numKernels, cudaLibrary_t lib) {
  return driver.cuLibraryEnumerateKernels(reinterpret_cast<CUkernel*>(kernels), numKernels,
                                          reinterpret_cast<CUlibrary>(lib));
}

}  // namespace impl
}  // namespace gacer::cudart
