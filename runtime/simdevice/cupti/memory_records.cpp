// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/cupti/memory_records.h"

#include <unistd.h>

#include <map>
#include <mutex>
#include <optional>

#include "runtime/simdevice/cupti/activity.h"
#include "runtime/simdevice/cupti/driver_link.h"

namespace gacer::simcupti {
namespace {

using simdevice::ToolsCall;

struct Piece {
  uint64_t bytes = 0;
  CUpti_ActivityMemoryKind kind = CUPTI_ACTIVITY_MEMORY_KIND_UNKNOWN;
};

struct Operation {
  uint64_t address = 0;
  Piece piece;
  bool release = false;
  bool async = false;
  CUstream stream = nullptr;
};

// What was allocated while records were wanted, so that its release can say how much it was.
class Pieces {
 public:
  void add(uint64_t address, const Piece& piece) {
    const std::lock_guard lock(mutex_);
    pieces_[address] = piece;
  }
  Piece remove(uint64_t address) {
    const std::lock_guard lock(mutex_);
    const auto found = pieces_.find(address);
    if (found == pieces_.end()) return {};
    const Piece piece = found->second;
    pieces_.erase(found);
    return piece;
  }

 private:
  std::mutex mutex_;
  std::map<uint64_t, Piece> pieces_;
};

template <typename Params>
const Params& params_of(const ToolsCall& call) {
  return *static_cast<const Params*>(call.params);
}

Operation allocated(const void* address, size_t bytes, CUpti_ActivityMemoryKind kind) {
  return {reinterpret_cast<uint64_t>(address), {bytes, kind}, false, false, nullptr};
}
Operation allocated(CUdeviceptr address, size_t bytes, CUpti_ActivityMemoryKind kind) {
  return {address, {bytes, kind}, false, false, nullptr};
}
Operation released(uint64_t address) {
  return {address, {}, true, false, nullptr};
}
Operation in_stream(Operation operation, CUstream stream) {
  operation.async = true;
  operation.stream = stream;
  return operation;
}

std::optional<Operation> host_operation(const ToolsCall& call) {
  switch (call.cbid) {
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocHost_v2: {
      const auto& params = params_of<cuMemAllocHost_v2_params>(call);
      return allocated(*params.pp, params.bytesize, CUPTI_ACTIVITY_MEMORY_KIND_PINNED);
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc: {
      const auto& params = params_of<cuMemHostAlloc_params>(call);
      return allocated(*params.pp, params.bytesize, CUPTI_ACTIVITY_MEMORY_KIND_PINNED);
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMemFreeHost:
      return released(reinterpret_cast<uint64_t>(params_of<cuMemFreeHost_params>(call).p));
    default:
      return std::nullopt;
  }
}

std::optional<Operation> device_operation(const ToolsCall& call) {
  switch (call.cbid) {
    case CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2: {
      const auto& params = params_of<cuMemAlloc_v2_params>(call);
      return allocated(*params.dptr, params.bytesize, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch_v2: {
      const auto& params = params_of<cuMemAllocPitch_v2_params>(call);
      return allocated(*params.dptr, *params.pPitch * params.Height,
                       CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged: {
      const auto& params = params_of<cuMemAllocManaged_params>(call);
      return allocated(*params.dptr, params.bytesize, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED);
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2:
      return released(params_of<cuMemFree_v2_params>(call).dptr);
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync: {
      const auto& params = params_of<cuMemAllocAsync_params>(call);
      return in_stream(allocated(*params.dptr, params.bytesize, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE),
                       params.hStream);
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync: {
      const auto& params = params_of<cuMemFreeAsync_params>(call);
      return in_stream(released(params.dptr), params.hStream);
    }
    default:
      return std::nullopt;
  }
}

CUpti_ActivityMemory4 to_record(const Operation& operation, const ToolsCall& call) {
  auto* context = static_cast<CUcontext>(call.context);
  CUpti_ActivityMemory4 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
  record.memoryOperationType = operation.release ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE
                                                 : CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
  record.memoryKind = operation.piece.kind;
  record.correlationId = call.correlation_id;
  record.address = operation.address;
  record.bytes = operation.piece.bytes;
  record.timestamp = call.end_ns;
  record.processId = static_cast<uint32_t>(getpid());
  record.deviceId = device_of(context);
  record.contextId = context_id(context);
  record.streamId = operation.async ? stream_id(operation.stream) : UINT32_MAX;
  record.isAsync = operation.async ? 1 : 0;
  return record;
}

}  // namespace

void record_memory(const ToolsCall& call) {
  if (!Activities::get().enabled(CUPTI_ACTIVITY_KIND_MEMORY2)) return;
  auto operation = device_operation(call);
  if (!operation) operation = host_operation(call);
  if (!operation || operation->address == 0) return;
  static Pieces& pieces = *new Pieces;
  if (operation->release) {
    operation->piece = pieces.remove(operation->address);
  } else {
    pieces.add(operation->address, operation->piece);
  }
  const CUpti_ActivityMemory4 record = to_record(*operation, call);
  Activities::get().buffers().append(&record, sizeof record);
}

}  // namespace gacer::simcupti
