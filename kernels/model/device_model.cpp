// SPDX-License-Identifier: Apache-2.0
#include "kernels/model/device_model.h"

#include <utility>

namespace gacer::kernels {
namespace {

std::size_t aligned_bytes(const Parameter& parameter) {
  const std::size_t bytes = static_cast<std::size_t>(parameter.count) * sizeof(float);
  return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

}  // namespace

DeviceModel::DeviceModel(LayerTable table, CudaSession& session)
    : table_(std::move(table)),
      session_(session),
      plan_(plan_memory(table_)),
      launcher_(session.stream(), session.status()),
      ops_(launcher_),
      runner_(table_, buffers_, ops_) {}

DeviceModel::~DeviceModel() {
  if (graph_ != nullptr) cuGraphExecDestroy(graph_);
}

bool DeviceModel::load(unsigned seed) {
  if (!place_weights() || !place_activations()) return false;
  runner_.initialise(seed);
  return session_.status().ok();
}

bool DeviceModel::place_weights() {
  for (const Layer& layer : table_.layers)
    for (const Parameter& parameter : parameters_of(table_, layer))
      weight_bytes_ += aligned_bytes(parameter);
  if (weight_bytes_ == 0) return true;
  CUdeviceptr next = session_.allocate(weight_bytes_, "weights");
  if (next == 0) return false;
  for (const Layer& layer : table_.layers) {
    std::vector<float*>& addresses = buffers_.parameters.emplace_back();
    for (const Parameter& parameter : parameters_of(table_, layer)) {
      addresses.push_back(as_floats(next));
      next += aligned_bytes(parameter);
    }
  }
  return true;
}

bool DeviceModel::place_activations() {
  const CUdeviceptr arena = session_.allocate(plan_.arena_bytes, "activations");
  if (arena == 0) return false;
  for (std::size_t row = 0; row < table_.layers.size(); ++row) {
    buffers_.output.push_back(as_floats(arena + plan_.output_offset[row]));
    buffers_.scratch.push_back(as_floats(arena + plan_.scratch_offset[row]));
  }
  return true;
}

bool DeviceModel::capture() {
  CudaStatus& status = session_.status();
  CUgraph graph = nullptr;
  if (!status.check(cuStreamBeginCapture(session_.stream(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                    "cuStreamBeginCapture"))
    return false;
  runner_.forward();
  // Ended even after a failed launch, which would otherwise leave the stream capturing.
  const bool ended =
      status.check(cuStreamEndCapture(session_.stream(), &graph), "cuStreamEndCapture");
  if (ended && status.ok())
    status.check(cuGraphInstantiateWithFlags(&graph_, graph, 0), "cuGraphInstantiateWithFlags");
  if (graph != nullptr) cuGraphDestroy(graph);
  return status.ok();
}

bool DeviceModel::enqueue_forward() {
  if (graph_ != nullptr)
    return session_.status().check(cuGraphLaunch(graph_, session_.stream()), "cuGraphLaunch");
  runner_.forward();
  return session_.status().ok();
}

}  // namespace gacer::kernels
