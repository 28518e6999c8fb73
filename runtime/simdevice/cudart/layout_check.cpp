// SPDX-License-Identifier: Apache-2.0
// What same_layout() and the casts of enumerations rest on: the headers of both interfaces agree.
#include <cstddef>

#include "runtime/simdevice/cudart/driver_api.h"
#include "runtime/simdevice/cudart/layout.h"

namespace gacer::cudart {

#define SAME_FIELD(runtime, field, driver, other) \
  static_assert(offsetof(runtime, field) == offsetof(driver, other))
#define SAME_VALUE(runtime, driver) \
  static_assert(static_cast<int>(runtime) == static_cast<int>(driver))

SAME_FIELD(cudaMemLocation, type, CUmemLocation, type);
SAME_FIELD(cudaMemLocation, id, CUmemLocation, id);
SAME_FIELD(cudaMemPoolProps, allocType, CUmemPoolProps, allocType);
SAME_FIELD(cudaMemPoolProps, handleTypes, CUmemPoolProps, handleTypes);
SAME_FIELD(cudaMemPoolProps, location, CUmemPoolProps, location);
SAME_FIELD(cudaMemPoolProps, maxSize, CUmemPoolProps, maxSize);
SAME_FIELD(cudaMemPoolProps, usage, CUmemPoolProps, usage);
SAME_FIELD(cudaMemAccessDesc, location, CUmemAccessDesc, location);
SAME_FIELD(cudaMemAccessDesc, flags, CUmemAccessDesc, flags);
SAME_FIELD(cudaMemAllocNodeParams, accessDescs, CUDA_MEM_ALLOC_NODE_PARAMS, accessDescs);
SAME_FIELD(cudaMemAllocNodeParams, accessDescCount, CUDA_MEM_ALLOC_NODE_PARAMS, accessDescCount);
SAME_FIELD(cudaMemAllocNodeParams, bytesize, CUDA_MEM_ALLOC_NODE_PARAMS, bytesize);
SAME_FIELD(cudaMemAllocNodeParams, dptr, CUDA_MEM_ALLOC_NODE_PARAMS, dptr);
SAME_FIELD(cudaMemcpyAttributes, srcAccessOrder, CUmemcpyAttributes, srcAccessOrder);
SAME_FIELD(cudaMemcpyAttributes, srcLocHint, CUmemcpyAttributes, srcLocHint);
SAME_FIELD(cudaMemcpyAttributes, dstLocHint, CUmemcpyAttributes, dstLocHint);
SAME_FIELD(cudaMemcpyAttributes, flags, CUmemcpyAttributes, flags);
SAME_FIELD(cudaMemcpy3DBatchOp, src, CUDA_MEMCPY3D_BATCH_OP, src);
SAME_FIELD(cudaMemcpy3DBatchOp, dst, CUDA_MEMCPY3D_BATCH_OP, dst);
SAME_FIELD(cudaMemcpy3DBatchOp, extent, CUDA_MEMCPY3D_BATCH_OP, extent);
SAME_FIELD(cudaMemcpy3DBatchOp, flags, CUDA_MEMCPY3D_BATCH_OP, flags);
SAME_FIELD(cudaMemcpy3DOperand, op.ptr.rowLength, CUmemcpy3DOperand, op.ptr.rowLength);
SAME_FIELD(cudaMemcpy3DOperand, op.ptr.locHint, CUmemcpy3DOperand, op.ptr.locHint);
SAME_FIELD(cudaMemcpy3DOperand, op.array.offset, CUmemcpy3DOperand, op.array.offset);
SAME_FIELD(cudaGraphInstantiateParams, uploadStream, CUDA_GRAPH_INSTANTIATE_PARAMS, hUploadStream);
SAME_FIELD(cudaGraphInstantiateParams, errNode_out, CUDA_GRAPH_INSTANTIATE_PARAMS, hErrNode_out);
SAME_FIELD(cudaGraphInstantiateParams, result_out, CUDA_GRAPH_INSTANTIATE_PARAMS, result_out);
SAME_FIELD(cudaGraphExecUpdateResultInfo, errorNode, CUgraphExecUpdateResultInfo, errorNode);
SAME_FIELD(cudaGraphExecUpdateResultInfo, errorFromNode, CUgraphExecUpdateResultInfo,
           errorFromNode);
SAME_FIELD(cudaHostNodeParams, userData, CUDA_HOST_NODE_PARAMS, userData);
SAME_FIELD(cudaGraphEdgeData, to_port, CUgraphEdgeData, to_port);
SAME_FIELD(cudaGraphEdgeData, type, CUgraphEdgeData, type);
SAME_FIELD(cudaResourceViewDesc, width, CUDA_RESOURCE_VIEW_DESC, width);
SAME_FIELD(cudaResourceViewDesc, lastLayer, CUDA_RESOURCE_VIEW_DESC, lastLayer);
SAME_FIELD(cudaArraySparseProperties, miptailSize, CUDA_ARRAY_SPARSE_PROPERTIES, miptailSize);
SAME_FIELD(cudaArrayMemoryRequirements, alignment, CUDA_ARRAY_MEMORY_REQUIREMENTS, alignment);
SAME_FIELD(cudaLaunchAttributeValue, clusterDim, CUlaunchAttributeValue, clusterDim);
SAME_FIELD(cudaLaunchAttributeValue, clusterDim.z, CUlaunchAttributeValue, clusterDim.z);
SAME_FIELD(cudaLaunchAttributeValue, programmaticEvent.flags, CUlaunchAttributeValue,
           programmaticEvent.flags);
SAME_FIELD(cudaAccessPolicyWindow, hitRatio, CUaccessPolicyWindow, hitRatio);

SAME_VALUE(cudaLaunchAttributeCooperative, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
SAME_VALUE(cudaLaunchAttributeClusterDimension, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
SAME_VALUE(cudaLaunchAttributePriority, CU_LAUNCH_ATTRIBUTE_PRIORITY);
SAME_VALUE(cudaLaunchAttributeMemSyncDomain, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN);
SAME_VALUE(cudaLimitStackSize, CU_LIMIT_STACK_SIZE);
SAME_VALUE(cudaLimitMallocHeapSize, CU_LIMIT_MALLOC_HEAP_SIZE);
SAME_VALUE(cudaLimitPersistingL2CacheSize, CU_LIMIT_PERSISTING_L2_CACHE_SIZE);
SAME_VALUE(cudaFuncCachePreferL1, CU_FUNC_CACHE_PREFER_L1);
SAME_VALUE(cudaSharedMemBankSizeEightByte, CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE);
SAME_VALUE(cudaStreamCaptureModeRelaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
SAME_VALUE(cudaStreamCaptureStatusInvalidated, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
SAME_VALUE(cudaGraphNodeTypeConditional, CU_GRAPH_NODE_TYPE_CONDITIONAL);
SAME_VALUE(cudaGraphNodeTypeMemFree, CU_GRAPH_NODE_TYPE_MEM_FREE);
SAME_VALUE(cudaGraphCondTypeWhile, CU_GRAPH_COND_TYPE_WHILE);
SAME_VALUE(cudaGraphExecUpdateErrorTopologyChanged, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
SAME_VALUE(cudaGraphInstantiateFlagAutoFreeOnLaunch,
           CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
SAME_VALUE(cudaAddressModeBorder, CU_TR_ADDRESS_MODE_BORDER);
SAME_VALUE(cudaFilterModeLinear, CU_TR_FILTER_MODE_LINEAR);
SAME_VALUE(cudaResourceTypePitch2D, CU_RESOURCE_TYPE_PITCH2D);
SAME_VALUE(cudaMemPoolAttrUsedMemHigh, CU_MEMPOOL_ATTR_USED_MEM_HIGH);
SAME_VALUE(cudaMemHandleTypePosixFileDescriptor, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
SAME_VALUE(cudaMemLocationTypeHostNuma, CU_MEM_LOCATION_TYPE_HOST_NUMA);
SAME_VALUE(cudaMemAdviseSetAccessedBy, CU_MEM_ADVISE_SET_ACCESSED_BY);
SAME_VALUE(cudaMemRangeAttributeLastPrefetchLocation,
           CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION);
SAME_VALUE(cudaFuncAttributeMaxDynamicSharedMemorySize,
           CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME_VALUE(cudaFuncAttributeNonPortableClusterSizeAllowed,
           CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
SAME_VALUE(cudaDevAttrMultiProcessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME_VALUE(cudaDevAttrMpsEnabled, CU_DEVICE_ATTRIBUTE_MPS_ENABLED);
SAME_VALUE(cudaDevP2PAttrCudaArrayAccessSupported,
           CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED);
SAME_VALUE(cudaEventBlockingSync, CU_EVENT_BLOCKING_SYNC);
SAME_VALUE(cudaEventInterprocess, CU_EVENT_INTERPROCESS);
SAME_VALUE(cudaStreamNonBlocking, CU_STREAM_NON_BLOCKING);
SAME_VALUE(cudaHostAllocWriteCombined, CU_MEMHOSTALLOC_WRITECOMBINED);
SAME_VALUE(cudaHostRegisterReadOnly, CU_MEMHOSTREGISTER_READ_ONLY);
SAME_VALUE(cudaMemAttachSingle, CU_MEM_ATTACH_SINGLE);
SAME_VALUE(cudaArrayCubemap, CUDA_ARRAY3D_CUBEMAP);
SAME_VALUE(cudaArraySurfaceLoadStore, CUDA_ARRAY3D_SURFACE_LDST);
SAME_VALUE(cudaDeviceScheduleBlockingSync, CU_CTX_SCHED_BLOCKING_SYNC);
SAME_VALUE(cudaDeviceLmemResizeToMax, CU_CTX_LMEM_RESIZE_TO_MAX);

}  // namespace gacer::cudart
