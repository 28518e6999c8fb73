// SPDX-License-Identifier: Apache-2.0
// A model on a device: memory, seeded weights, and the forward pass in the session's stream.
// Every call returns false on failure; the session's status says why. Not thread-safe.
#pragma once

#include <cuda.h>

#include <cstddef>

#include "kernels/host/cuda_session.h"
#include "kernels/host/device_ops.h"
#include "kernels/host/driver_launcher.h"
#include "kernels/model/layer_runner.h"
#include "kernels/model/memory_plan.h"

namespace gacer::kernels {

class DeviceModel {
 public:
  // `session` must be open and outlive this object.
  DeviceModel(LayerTable table, CudaSession& session);
  ~DeviceModel();
  DeviceModel(const DeviceModel&) = delete;
  DeviceModel& operator=(const DeviceModel&) = delete;

  // Takes the memory and enqueues the weights' initialisation.
  bool load(unsigned seed);
  // Captures the forward pass; enqueue_forward() then launches the graph. Call after a first
  // forward pass.
  bool capture();
  bool enqueue_forward();

  const LayerTable& table() const { return table_; }
  const Layer& input_layer() const { return table_.layers.front(); }
  CUdeviceptr input() const { return reinterpret_cast<CUdeviceptr>(buffers_.output.front()); }
  CUdeviceptr output() const { return reinterpret_cast<CUdeviceptr>(buffers_.output.back()); }
  std::size_t input_bytes() const { return bytes_of(table_.layers.front()); }
  std::size_t output_bytes() const { return bytes_of(table_.layers.back()); }
  std::size_t weight_bytes() const { return weight_bytes_; }
  std::size_t arena_bytes() const { return plan_.arena_bytes; }

 private:
  static std::size_t bytes_of(const Layer& layer) {
    return static_cast<std::size_t>(layer.out.count()) * sizeof(float);
  }
  bool place_weights();
  bool place_activations();

  LayerTable table_;
  CudaSession& session_;
  MemoryPlan plan_;
  ModelBuffers buffers_;
  DriverLauncher launcher_;
  DeviceOps ops_;
  LayerRunner runner_;
  std::size_t weight_bytes_ = 0;
  CUgraphExec graph_ = nullptr;
};

}  // namespace gacer::kernels
