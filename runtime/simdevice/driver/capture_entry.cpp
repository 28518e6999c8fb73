// SPDX-License-Identifier: Apache-2.0
// cuStreamBeginCapture and its kin
#include <algorithm>
#include <memory>

#include "runtime/simdevice/driver/capture.h"
#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/entry_pairs.h"
#include "runtime/simdevice/driver/graph_handles.h"

using namespace gacer::simdriver;

namespace {

bool mode_is_valid(CUstreamCaptureMode mode) {
  return mode == CU_STREAM_CAPTURE_MODE_GLOBAL || mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL ||
         mode == CU_STREAM_CAPTURE_MODE_RELAXED;
}

CUresult begin(CUstream handle, CUstreamCaptureMode mode) {
  std::shared_ptr<Stream> stream;
  SIM_TRY(resolve_stream(handle, stream));
  return mode_is_valid(mode) ? begin_capture(stream, mode, nullptr, {}) : CUDA_ERROR_INVALID_VALUE;
}

CUresult begin_v1(CUstream handle) {
  return begin(handle, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult begin_to_graph(CUstream handle, CUgraph graph_handle, const CUgraphNode* dependencies,
                        const CUgraphEdgeData* edge_data, size_t count, CUstreamCaptureMode mode) {
  std::shared_ptr<Stream> stream;
  std::shared_ptr<Graph> graph;
  SIM_TRY(resolve_stream(handle, stream));
  SIM_TRY(find_graph(graph_handle, graph));
  if (!mode_is_valid(mode)) return CUDA_ERROR_INVALID_VALUE;
  if (edge_data != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  std::vector<GraphNode*> tail;
  SIM_TRY(find_nodes(dependencies, count, tail));
  for (const GraphNode* node : tail)
    if (!graph->owns(node)) return CUDA_ERROR_INVALID_VALUE;
  return begin_capture(stream, mode, graph, tail);
}

CUresult end(CUstream handle, CUgraph* out) {
  std::shared_ptr<Stream> stream;
  SIM_TRY(resolve_stream(handle, stream));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = nullptr;
  std::shared_ptr<Graph> graph;
  SIM_TRY(end_capture(stream, graph));
  *out = handle_of(graph.get());
  return CUDA_SUCCESS;
}

struct CaptureInfo {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  std::shared_ptr<CaptureSession> session;
  std::shared_ptr<Stream> stream;
};

CUresult read_info(CUstream handle, CaptureInfo& info) {
  SIM_TRY(resolve_stream(handle, info.stream));
  const std::lock_guard lock(graph_lock());
  info.session = info.stream->capture;
  if (info.session == nullptr) return CUDA_SUCCESS;
  info.status = info.session->invalidated ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                          : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return CUDA_SUCCESS;
}

CUresult is_capturing(CUstream handle, CUstreamCaptureStatus* out) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CaptureInfo info;
  SIM_TRY(read_info(handle, info));
  *out = info.status;
  return CUDA_SUCCESS;
}

CUresult info_v1(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id) {
  SIM_TRY(is_capturing(handle, status));
  CaptureInfo info;
  SIM_TRY(read_info(handle, info));
  if (id != nullptr && info.session != nullptr) *id = info.session->id;
  return CUDA_SUCCESS;
}

// The list stays valid until the next call of this thread, as the interface demands no more than
// "until the next call on the stream".
CUresult info_v2(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                 const CUgraphNode** dependencies, size_t* count) {
  SIM_TRY(info_v1(handle, status, id));
  CaptureInfo info;
  SIM_TRY(read_info(handle, info));
  if (info.session == nullptr) return CUDA_SUCCESS;
  thread_local std::vector<CUgraphNode> list;
  list.clear();
  const std::lock_guard lock(graph_lock());
  for (const GraphNode* node : info.stream->capture_tail) list.push_back(handle_of(node));
  if (graph != nullptr) *graph = handle_of(info.session->graph.get());
  if (dependencies != nullptr) *dependencies = list.data();
  if (count != nullptr) *count = list.size();
  return CUDA_SUCCESS;
}

CUresult info_v3(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                 const CUgraphNode** dependencies, const CUgraphEdgeData** edge_data,
                 size_t* count) {
  if (edge_data != nullptr) *edge_data = nullptr;  // all edges are plain
  return info_v2(handle, status, id, graph, dependencies, count);
}

CUresult update_dependencies(CUstream handle, CUgraphNode* nodes, size_t count, unsigned flags) {
  CaptureInfo info;
  SIM_TRY(read_info(handle, info));
  if (info.status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return CUDA_ERROR_ILLEGAL_STATE;
  std::vector<GraphNode*> tail;
  SIM_TRY(find_nodes(nodes, count, tail));
  for (const GraphNode* node : tail)
    if (!info.session->graph->owns(node)) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(graph_lock());
  if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) {
    info.stream->capture_tail = tail;
    return CUDA_SUCCESS;
  }
  if (flags != CU_STREAM_ADD_CAPTURE_DEPENDENCIES) return CUDA_ERROR_INVALID_VALUE;
  for (GraphNode* node : tail)
    if (std::find(info.stream->capture_tail.begin(), info.stream->capture_tail.end(), node) ==
        info.stream->capture_tail.end())
      info.stream->capture_tail.push_back(node);
  return CUDA_SUCCESS;
}

CUresult update_dependencies_v2(CUstream handle, CUgraphNode* nodes,
                                const CUgraphEdgeData* edge_data, size_t count, unsigned flags) {
  return edge_data != nullptr ? CUDA_ERROR_NOT_SUPPORTED
                              : update_dependencies(handle, nodes, count, flags);
}

}  // namespace

SIM_STREAM_PAIR(cuStreamBeginCapture, _ptsz, (CUstream stream), begin_v1, stream)
SIM_STREAM_PAIR(cuStreamBeginCapture_v2, _ptsz, (CUstream stream, CUstreamCaptureMode mode), begin,
                stream, mode)
SIM_STREAM_PAIR(cuStreamBeginCaptureToGraph, _ptsz,
                (CUstream stream, CUgraph graph, const CUgraphNode* dependencies,
                 const CUgraphEdgeData* edge_data, size_t count, CUstreamCaptureMode mode),
                begin_to_graph, stream, graph, dependencies, edge_data, count, mode)
SIM_STREAM_PAIR(cuStreamEndCapture, _ptsz, (CUstream stream, CUgraph* out), end, stream, out)
SIM_STREAM_PAIR(cuStreamIsCapturing, _ptsz, (CUstream stream, CUstreamCaptureStatus* out),
                is_capturing, stream, out)
SIM_STREAM_PAIR(cuStreamGetCaptureInfo, _ptsz,
                (CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id), info_v1, stream,
                status, id)
SIM_STREAM_PAIR(cuStreamGetCaptureInfo_v2, _ptsz,
                (CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                 const CUgraphNode** dependencies, size_t* count),
                info_v2, stream, status, id, graph, dependencies, count)
SIM_STREAM_PAIR(cuStreamGetCaptureInfo_v3, _ptsz,
                (CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                 const CUgraphNode** dependencies, const CUgraphEdgeData** edge_data,
                 size_t* count),
                info_v3, stream, status, id, graph, dependencies, edge_data, count)
SIM_STREAM_PAIR(cuStreamUpdateCaptureDependencies, _ptsz,
                (CUstream stream, CUgraphNode* nodes, size_t count, unsigned flags),
                update_dependencies, stream, nodes, count, flags)
SIM_STREAM_PAIR(cuStreamUpdateCaptureDependencies_v2, _ptsz,
                (CUstream stream, CUgraphNode* nodes, const CUgraphEdgeData* edge_data,
                 size_t count, unsigned flags),
                update_dependencies_v2, stream, nodes, edge_data, count, flags)

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  SIM_TRY(Driver::get().initialized());
  if (mode == nullptr || !mode_is_valid(*mode)) return CUDA_ERROR_INVALID_VALUE;
  *mode = exchange_capture_mode(*mode);
  return CUDA_SUCCESS;
}
