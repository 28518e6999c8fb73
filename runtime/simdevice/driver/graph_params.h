// SPDX-License-Identifier: Apache-2.0
// Between the parameter structures of graph nodes and the work they stand for. Parameters are
// checked as for a launch.
#pragma once

#include "runtime/simdevice/driver/graph.h"

namespace gacer::simdriver {

CUresult to_work(const CUDA_KERNEL_NODE_PARAMS_v1* params, Work& out);
CUresult to_work(const CUDA_KERNEL_NODE_PARAMS_v2* params, Work& out);
CUresult to_work(const CUDA_MEMCPY3D* params, Work& out);
CUresult to_work(const CUDA_MEMSET_NODE_PARAMS* params, Work& out);
CUresult to_work(const CUDA_HOST_NODE_PARAMS* params, Work& out);
CUresult to_work(const CUDA_BATCH_MEM_OP_NODE_PARAMS* params, Work& out);
CUresult to_work_record(CUevent event, Work& out);
CUresult to_work_wait(CUevent event, Work& out);
// CUDA_ERROR_NOT_SUPPORTED: memory nodes, semaphores, conditionals.
CUresult to_work(const CUgraphNodeParams* params, Work& out);

// Replaces the work of a node by work of the same type, keeping attributes that are no parameters.
CUresult replace_work(Work& old, Work work);

// Pointers handed out stay valid until the node changes.
CUresult read_params(GraphNode& node, CUDA_KERNEL_NODE_PARAMS_v1& out);
CUresult read_params(GraphNode& node, CUDA_KERNEL_NODE_PARAMS_v2& out);
CUresult read_params(GraphNode& node, CUDA_BATCH_MEM_OP_NODE_PARAMS& out);

}  // namespace gacer::simdriver
