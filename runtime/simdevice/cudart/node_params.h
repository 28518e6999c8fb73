// SPDX-License-Identifier: Apache-2.0
// Parameters of graph nodes: the runtime's form as the driver's.
#pragma once

#include "runtime/simdevice/cudart/copy.h"
#include "runtime/simdevice/cudart/driver_api.h"
#include "runtime/simdevice/cudart/outcome.h"

namespace gacer::cudart {

Outcome driver_kernel_node(const cudaKernelNodeParams* in, CUDA_KERNEL_NODE_PARAMS& out);
cudaKernelNodeParams runtime_kernel_node(const CUDA_KERNEL_NODE_PARAMS& in);
Outcome driver_memset_node(const cudaMemsetParams* in, CUDA_MEMSET_NODE_PARAMS& out);
cudaMemsetParams runtime_memset_node(const CUDA_MEMSET_NODE_PARAMS& in);

// The union of all kinds (cudaGraphAddNode). `give_back` carries what the driver wrote (address of
// an allocation, body graphs) to the program's structure.
Outcome driver_node(const cudaGraphNodeParams* in, CUgraphNodeParams& out);
void give_back(const CUgraphNodeParams& in, cudaGraphNodeParams& out);

// The context that copies, memsets and conditions of a graph run in.
Outcome node_context(CUcontext& out);

}  // namespace gacer::cudart
