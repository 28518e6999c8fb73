// SPDX-License-Identifier: Apache-2.0
// Every driver entry point that matters to a regulator, in all its ABI versions, has a row in
// interpose/hooks/*.def.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "interpose/cuda_api.h"

namespace {

// Base names; "a regulator hooks the union of what its peers hook, and what none of them does".
constexpr const char* kBaseNames[] = {
    // Bootstrap and lookup
    "cuInit", "cuDriverGetVersion", "cuGetProcAddress", "cuGetExportTable",
    // Devices and contexts
    "cuDeviceGet", "cuDeviceGetCount", "cuDeviceGetAttribute", "cuDeviceGetUuid", "cuDeviceGetName",
    "cuDeviceTotalMem", "cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRelease",
    "cuDevicePrimaryCtxReset", "cuDevicePrimaryCtxSetFlags", "cuDevicePrimaryCtxGetState",
    "cuCtxCreate", "cuCtxDestroy", "cuCtxSetCurrent", "cuCtxPushCurrent", "cuCtxPopCurrent",
    "cuCtxGetCurrent", "cuCtxGetDevice", "cuCtxSynchronize", "cuCtxSetLimit",
    "cuCtxGetStreamPriorityRange", "cuCtxRecordEvent", "cuCtxWaitEvent", "cuCtxFromGreenCtx",
    "cuGreenCtxCreate", "cuGreenCtxDestroy", "cuGreenCtxStreamCreate", "cuGreenCtxRecordEvent",
    "cuGreenCtxWaitEvent",
    // Launches
    "cuLaunchKernel", "cuLaunchKernelEx", "cuLaunchCooperativeKernel",
    "cuLaunchCooperativeKernelMultiDevice", "cuLaunchHostFunc", "cuLaunch", "cuLaunchGrid",
    "cuLaunchGridAsync", "cuFuncSetBlockShape", "cuStreamAddCallback",
    // Graphs and capture
    "cuStreamBeginCapture", "cuStreamBeginCaptureToGraph", "cuStreamEndCapture",
    "cuStreamIsCapturing", "cuThreadExchangeStreamCaptureMode", "cuGraphCreate",
    "cuGraphInstantiate", "cuGraphInstantiateWithFlags", "cuGraphInstantiateWithParams",
    "cuGraphLaunch", "cuGraphUpload", "cuGraphExecUpdate", "cuGraphExecDestroy", "cuGraphDestroy",
    "cuGraphAddKernelNode", "cuGraphKernelNodeSetParams", "cuGraphKernelNodeGetParams",
    "cuGraphAddMemcpyNode", "cuGraphAddMemsetNode", "cuGraphAddHostNode",
    "cuGraphAddChildGraphNode", "cuGraphGetNodes", "cuGraphNodeGetType", "cuGraphAddNode",
    "cuGraphAddMemAllocNode", "cuGraphExecKernelNodeSetParams", "cuDeviceGetGraphMemAttribute",
    "cuDeviceGraphMemTrim", "cuStreamGetCaptureInfo",
    // Code
    "cuModuleLoad", "cuModuleLoadData", "cuModuleLoadDataEx", "cuModuleLoadFatBinary",
    "cuModuleGetFunction", "cuModuleGetGlobal", "cuModuleUnload", "cuLinkCreate", "cuLinkAddData",
    "cuLinkAddFile", "cuLinkComplete", "cuLinkDestroy", "cuFuncGetAttribute", "cuFuncSetAttribute",
    "cuFuncSetCacheConfig", "cuLibraryLoadData", "cuLibraryLoadFromFile", "cuLibraryGetKernel",
    "cuLibraryGetModule", "cuLibraryEnumerateKernels", "cuLibraryUnload", "cuKernelGetFunction",
    "cuKernelGetAttribute", "cuKernelSetAttribute", "cuKernelGetParamInfo", "cuFuncGetParamInfo",
    "cuFuncGetName", "cuFuncGetModule", "cuFuncLoad", "cuFuncIsLoaded",
    "cuOccupancyMaxActiveBlocksPerMultiprocessor",
    "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", "cuOccupancyMaxActiveClusters",
    // Memory
    "cuMemAlloc", "cuMemFree", "cuMemAllocPitch", "cuMemAllocManaged", "cuMemAllocAsync",
    "cuMemFreeAsync", "cuMemAllocFromPoolAsync", "cuMemPoolCreate", "cuMemPoolDestroy",
    "cuMemPoolTrimTo", "cuMemPoolSetAttribute", "cuMemPoolGetAttribute", "cuMemPoolImportPointer",
    "cuMemPoolExportPointer", "cuMemCreate", "cuMemRelease", "cuMemMap", "cuMemUnmap",
    "cuMemAddressReserve", "cuMemAddressFree", "cuMemImportFromShareableHandle",
    "cuMemExportToShareableHandle", "cuArrayCreate", "cuArray3DCreate", "cuArrayDestroy",
    "cuMipmappedArrayCreate", "cuMipmappedArrayDestroy", "cuMemGetInfo", "cuIpcGetMemHandle",
    "cuIpcOpenMemHandle", "cuIpcCloseMemHandle", "cuImportExternalMemory",
    "cuExternalMemoryGetMappedBuffer", "cuMemHostAlloc", "cuMemAllocHost", "cuMemHostRegister",
    "cuMemHostUnregister", "cuMemAdvise", "cuMemPrefetchAsync", "cuPointerGetAttribute",
    "cuPointerGetAttributes",
    // Copies and sets
    "cuMemcpy", "cuMemcpyAsync", "cuMemcpyHtoD", "cuMemcpyDtoH", "cuMemcpyDtoD",
    "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuMemcpyDtoDAsync", "cuMemcpyPeer",
    "cuMemcpyPeerAsync", "cuMemcpy2D", "cuMemcpy2DUnaligned", "cuMemcpy2DAsync", "cuMemcpy3D",
    "cuMemcpy3DAsync", "cuMemcpy3DPeer", "cuMemcpy3DPeerAsync", "cuMemcpyAtoD", "cuMemcpyDtoA",
    "cuMemcpyHtoA", "cuMemcpyAtoH", "cuMemcpyHtoAAsync", "cuMemcpyAtoHAsync",
#if CUDA_VERSION >= 12080
    "cuMemcpyBatchAsync", "cuMemcpy3DBatchAsync",
#endif
    "cuMemsetD8", "cuMemsetD16", "cuMemsetD32", "cuMemsetD2D8", "cuMemsetD2D16", "cuMemsetD2D32",
    "cuMemsetD8Async", "cuMemsetD16Async", "cuMemsetD32Async", "cuMemsetD2D8Async",
    "cuMemsetD2D16Async", "cuMemsetD2D32Async",
    // Streams, events, ordering
    "cuStreamCreate", "cuStreamCreateWithPriority", "cuStreamDestroy", "cuStreamSynchronize",
    "cuStreamQuery", "cuStreamWaitEvent", "cuEventCreate", "cuEventDestroy", "cuEventRecord",
    "cuEventRecordWithFlags", "cuEventQuery", "cuEventSynchronize", "cuEventElapsedTime",
    "cuSignalExternalSemaphoresAsync", "cuWaitExternalSemaphoresAsync", "cuStreamWriteValue32",
    "cuStreamWriteValue64", "cuStreamWaitValue32", "cuStreamWaitValue64", "cuStreamBatchMemOp",
    "cuStreamGetPriority", "cuStreamGetCtx", "cuStreamGetFlags", "cuStreamGetId",
    "cuStreamCopyAttributes", "cuStreamSetAttribute"};

struct Export {
  const char* symbol;
  const char* base;
};
constexpr Export kExports[] = {
#define TYPEDEF(symbol, base, version, stream, type) {#symbol, #base},
#include "typedef_rows.inc"
#undef TYPEDEF
};

std::set<std::string> rows() {
  return {
#define GACER_HOOK(symbol, base, version, stream, hook_class) #symbol,
#define GACER_FORWARD GACER_HOOK
#include "interpose/cuda_hooks.def"
  };
}

TEST(CoverageRows, given_every_name_that_matters_then_the_toolkit_exports_it) {
  std::set<std::string> bases;
  for (const Export& row : kExports) bases.insert(row.base);
  for (const char* name : kBaseNames) EXPECT_TRUE(bases.count(name)) << name;
}

TEST(CoverageRows, given_every_export_of_a_name_that_matters_then_it_has_a_row) {
  const std::set<std::string> wanted(std::begin(kBaseNames), std::end(kBaseNames));
  const std::set<std::string> have = rows();
  std::string missing;
  for (const Export& row : kExports)
    if (wanted.count(row.base) && !have.count(row.symbol)) missing += std::string(" ") + row.symbol;
  EXPECT_EQ(missing, "");
}

}  // namespace
