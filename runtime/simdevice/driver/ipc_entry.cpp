// SPDX-License-Identifier: Apache-2.0
// cuIpc*: allocations and events of other processes. A handle holds a token that the server knows;
// memory keeps the address it has in the process that made it.
#include <cstring>
#include <map>
#include <memory>
#include <mutex>

#include "runtime/simdevice/driver/device_memory.h"
#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/ipc.h"

using namespace gacer::simdriver;
using gacer::simdevice::SimType;
using gacer::simdevice::TokenMsg;

namespace {

struct HandleData {
  uint64_t magic;
  gacer::simdevice::ShareToken token;
};
constexpr uint64_t kMemoryMagic = 0x4d45'4d43'5049ULL;       // "IPCMEM"
constexpr uint64_t kEventMagic = 0x54'4e45'5645'4350'49ULL;  // "IPCEVENT"
static_assert(sizeof(HandleData) <= CU_IPC_HANDLE_SIZE);

using TokenKey = std::pair<uint64_t, uint64_t>;

struct Opened {
  uint64_t address = 0;
  uint32_t context_id = 0;
  unsigned references = 0;
};

struct IpcState {
  std::mutex mutex;
  std::map<uint64_t, HandleData> exported;  // by buffer id: a handle stays the same
  std::map<TokenKey, Opened> opened;
};

IpcState& state() {
  static IpcState& all = *new IpcState;
  return all;
}

CUresult ask_for_token(const TokenMsg& message, uint64_t magic, HandleData& out) {
  const Reply reply = Driver::get().link().request(message);
  SIM_TRY(reply.error);
  out = {magic, {{reply.value, reply.value2}}};
  return CUDA_SUCCESS;
}

template <typename Handle>
HandleData read_handle(const Handle& handle) {
  HandleData data{};
  memcpy(&data, handle.reserved, sizeof data);
  return data;
}

template <typename Handle>
void write_handle(const HandleData& data, Handle& out) {
  memset(&out, 0, sizeof out);
  memcpy(out.reserved, &data, sizeof data);
}

CUresult import(const Context& context, const HandleData& data, Opened& out) {
  auto message = make_message<TokenMsg>(SimType::kImportMemory);
  message.token = data.token;
  message.context = context.id();
  const Reply reply = Driver::get().link().request(message);
  SIM_TRY(reply.error);
  Allocation allocation;
  allocation.base = reply.value;
  allocation.bytes = reply.value2;
  allocation.kind = MemoryKind::kImported;
  allocation.context_id = context.id();
  allocation.buffer_id = Driver::get().next_unique_id();
  const auto device = Driver::get().ordinal_of(reply.detail);
  if (!device) {
    give_device_memory(allocation);
    return CUDA_ERROR_MAP_FAILED;  // on a device that this process does not see
  }
  allocation.device = *device;
  Driver::get().memory.add(allocation);
  out = {allocation.base, context.id(), 0};
  return CUDA_SUCCESS;
}

}  // namespace

void gacer::simdriver::forget_ipc_of(uint32_t context_id) {
  const std::lock_guard lock(state().mutex);
  std::erase_if(state().opened,
                [&](const auto& entry) { return entry.second.context_id == context_id; });
}

CUresult cuIpcGetMemHandle(CUipcMemHandle* out, CUdeviceptr address) {
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  const auto allocation = Driver::get().memory.find(address);
  // Of cuMemAlloc only.
  if (out == nullptr || !allocation || allocation->kind != MemoryKind::kDevice ||
      allocation->pool != 0)
    return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(state().mutex);
  HandleData& data = state().exported[allocation->buffer_id];
  if (data.magic == 0) {
    auto message = make_message<TokenMsg>(SimType::kExportToken);
    message.address = allocation->base;
    SIM_TRY(ask_for_token(message, kMemoryMagic, data));
  }
  write_handle(data, *out);
  return CUDA_SUCCESS;
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* out, CUipcMemHandle handle, unsigned flags) {
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  if (out == nullptr || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
    return CUDA_ERROR_INVALID_VALUE;
  const HandleData data = read_handle(handle);
  if (data.magic != kMemoryMagic) return CUDA_ERROR_INVALID_HANDLE;
  const std::lock_guard lock(state().mutex);
  const TokenKey key{data.token.half[0], data.token.half[1]};
  auto opened = state().opened.find(key);
  if (opened == state().opened.end()) {
    Opened fresh;
    SIM_TRY(import(*context, data, fresh));
    opened = state().opened.emplace(key, fresh).first;
  }
  // One context of the process may have it open.
  if (opened->second.context_id != context->id()) return CUDA_ERROR_INVALID_CONTEXT;
  ++opened->second.references;
  *out = opened->second.address;
  return CUDA_SUCCESS;
}
CUresult cuIpcOpenMemHandle(CUdeviceptr* out, CUipcMemHandle handle, unsigned flags) {
  return cuIpcOpenMemHandle_v2(out, handle, flags);
}

CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  const std::lock_guard lock(state().mutex);
  auto& opened = state().opened;
  const auto found = std::find_if(opened.begin(), opened.end(), [&](const auto& entry) {
    return entry.second.address == address;
  });
  if (found == opened.end()) return CUDA_ERROR_INVALID_VALUE;
  if (--found->second.references > 0) return CUDA_SUCCESS;
  opened.erase(found);
  SIM_TRY(synchronize_all_contexts());
  const auto allocation = Driver::get().memory.remove(address);
  return allocation ? give_device_memory(*allocation) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuIpcGetEventHandle(CUipcEventHandle* out, CUevent handle) {
  std::shared_ptr<Event> event;
  SIM_TRY(find_event(handle, event));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (event->shared_id == 0) return CUDA_ERROR_INVALID_HANDLE;  // not made for it
  auto message = make_message<TokenMsg>(SimType::kExportToken);
  message.shared_event = event->shared_id;
  HandleData data{};
  SIM_TRY(ask_for_token(message, kEventMagic, data));
  write_handle(data, *out);
  return CUDA_SUCCESS;
}

CUresult cuIpcOpenEventHandle(CUevent* out, CUipcEventHandle handle) {
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const HandleData data = read_handle(handle);
  if (data.magic != kEventMagic) return CUDA_ERROR_INVALID_HANDLE;
  auto message = make_message<TokenMsg>(SimType::kSharedEventImport);
  message.token = data.token;
  const Reply reply = Driver::get().link().request(message);
  SIM_TRY(reply.error);
  auto event = std::make_shared<Event>();
  event->context_id = context->id();
  event->flags = CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
  event->shared_id = static_cast<uint32_t>(reply.value);
  *out = Driver::get().events.add(std::move(event));
  return CUDA_SUCCESS;
}
