// SPDX-License-Identifier: Apache-2.0
// cuGreenCtx*, cuDev*Resource*, cuCtxFromGreenCtx, cuCtx{Record,Wait}Event
#include <algorithm>
#include <memory>

#include "runtime/simdevice/driver/capture.h"
#include "runtime/simdevice/driver/context_order.h"
#include "runtime/simdevice/driver/device.h"
#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/primary_context.h"
#include "runtime/simdevice/driver/sm_resource.h"

using namespace gacer::simdriver;

namespace {

constexpr int kGreatestPriority = -5;

HandleTable<CUgreenCtx, Context>& green_contexts() {
  static auto& table = *new HandleTable<CUgreenCtx, Context>;
  return table;
}

// Descriptors are never given back: the interface has no call for it.
HandleTable<CUdevResourceDesc, SmResource>& descriptors() {
  static auto& table = *new HandleTable<CUdevResourceDesc, SmResource>;
  return table;
}

CUresult find_green(CUgreenCtx handle, std::shared_ptr<Context>& out) {
  SIM_TRY(Driver::get().ready());
  out = green_contexts().find(handle);
  if (out == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return out->closed() ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_SUCCESS;
}

CUresult give_resource(const SmResource& resource, CUdevResourceType type, CUdevResource* out) {
  if (type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = to_dev_resource(Driver::get().spec(), resource);
  return CUDA_SUCCESS;
}

SmResource resource_of(const Context& context) {
  SmResource resource = whole_device(Driver::get().spec(), context.device());
  if (!context.sms().unrestricted()) resource.sms = context.sms();
  return resource;
}

CUresult join_resources(const CUdevResource* resources, unsigned count, SmResource& out) {
  SIM_TRY(from_dev_resource(resources[0], out));
  for (unsigned i = 1; i < count; ++i) {
    SmResource next;
    SIM_TRY(from_dev_resource(resources[i], next));
    if (next.device != out.device || next.split == 0 || next.split != out.split)
      return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    for (size_t word = 0; word < out.sms.words.size(); ++word)
      out.sms.words[word] |= next.sms.words[word];
  }
  return CUDA_SUCCESS;
}

CUresult make_green(const SmResource& resource, std::shared_ptr<Context>& out) {
  std::shared_ptr<Context> base;
  SIM_TRY(retain_primary(resource.device, base));
  out = std::make_shared<Context>(std::move(base), resource.sms);
  const CUresult opened = out->open();
  if (opened != CUDA_SUCCESS) release_primary(resource.device);
  return opened;
}

CUresult record(const std::shared_ptr<Context>& context, CUevent handle) {
  std::shared_ptr<Event> event;
  SIM_TRY(find_event(handle, event));
  if (event->context_id != context->id()) return CUDA_ERROR_INVALID_HANDLE;
  SIM_TRY(refuse_context_capture(*context));
  clear_captured(*event);
  return record_in_context(*context, event);
}

CUresult wait(const std::shared_ptr<Context>& context, CUevent handle) {
  std::shared_ptr<Event> event;
  SIM_TRY(find_event(handle, event));
  if (refuse_captured_event(*event) != CUDA_SUCCESS) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  SIM_TRY(refuse_context_capture(*context));
  return wait_in_context(*context, event);
}

}  // namespace

CUresult cuDeviceGetDevResource(CUdevice device, CUdevResource* out, CUdevResourceType type) {
  SIM_TRY(check_device(device));
  return give_resource(whole_device(Driver::get().spec(), device), type, out);
}

CUresult cuCtxGetDevResource(CUcontext handle, CUdevResource* out, CUdevResourceType type) {
  std::shared_ptr<Context> context;
  SIM_TRY(find_context(handle, context));
  return give_resource(resource_of(*context), type, out);
}

CUresult cuGreenCtxGetDevResource(CUgreenCtx handle, CUdevResource* out, CUdevResourceType type) {
  std::shared_ptr<Context> context;
  SIM_TRY(find_green(handle, context));
  return give_resource(resource_of(*context), type, out);
}

CUresult cuDevSmResourceSplitByCount(CUdevResource* result, unsigned* count,
                                     const CUdevResource* input, CUdevResource* remaining,
                                     unsigned flags, unsigned min_count) {
  SIM_TRY(Driver::get().initialized());
  if (count == nullptr || input == nullptr || (result != nullptr && *count == 0))
    return CUDA_ERROR_INVALID_VALUE;
  SmResource from;
  SIM_TRY(from_dev_resource(*input, from));
  const gacer::DeviceSpec& spec = Driver::get().spec();
  SmSplit split;
  SIM_TRY(split_sms(spec, from, min_count, flags, result == nullptr ? UINT32_MAX : *count, split));
  *count = static_cast<unsigned>(split.groups.size());
  for (size_t i = 0; result != nullptr && i < split.groups.size(); ++i)
    result[i] = to_dev_resource(spec, split.groups[i]);
  if (result != nullptr && remaining != nullptr)
    *remaining = to_dev_resource(spec, split.remaining);
  return CUDA_SUCCESS;
}

CUresult cuDevResourceGenerateDesc(CUdevResourceDesc* out, CUdevResource* resources,
                                   unsigned count) {
  SIM_TRY(Driver::get().initialized());
  if (out == nullptr || resources == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  auto joined = std::make_shared<SmResource>();
  SIM_TRY(join_resources(resources, count, *joined));
  *out = descriptors().add(std::move(joined));
  return CUDA_SUCCESS;
}

CUresult cuGreenCtxCreate(CUgreenCtx* out, CUdevResourceDesc descriptor, CUdevice device,
                          unsigned flags) {
  SIM_TRY(check_device(device));
  SIM_TRY(Driver::get().ready());
  const std::shared_ptr<SmResource> resource = descriptors().find(descriptor);
  if (out == nullptr || flags != CU_GREEN_CTX_DEFAULT_STREAM || resource == nullptr ||
      resource->device != device)
    return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  SIM_TRY(make_green(*resource, context));
  *out = green_contexts().add(std::move(context));
  return CUDA_SUCCESS;
}

CUresult cuGreenCtxDestroy(CUgreenCtx handle) {
  std::shared_ptr<Context> context;
  SIM_TRY(find_green(handle, context));
  if (green_contexts().remove(handle) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  Driver::get().contexts.remove(HandleTable<CUcontext, Context>::to_handle(context.get()));
  const CUresult closed = context->close();
  const CUresult released = release_primary(context->device());
  return closed != CUDA_SUCCESS ? closed : released;
}

CUresult cuCtxFromGreenCtx(CUcontext* out, CUgreenCtx handle) {
  std::shared_ptr<Context> context;
  SIM_TRY(find_green(handle, context));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = Driver::get().contexts.add(std::move(context));
  return CUDA_SUCCESS;
}

CUresult cuGreenCtxStreamCreate(CUstream* out, CUgreenCtx handle, unsigned flags, int priority) {
  std::shared_ptr<Context> context;
  SIM_TRY(find_green(handle, context));
  if (out == nullptr || flags != CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Stream> stream;
  SIM_TRY(make_stream(context, flags, std::clamp(priority, kGreatestPriority, 0), stream));
  *out = Driver::get().streams.add(std::move(stream));
  return CUDA_SUCCESS;
}

CUresult cuGreenCtxGetId(CUgreenCtx handle, unsigned long long* out) {
  std::shared_ptr<Context> context;
  if (handle == nullptr) {
    SIM_TRY(current_context(context));
    if (!context->green()) return CUDA_ERROR_INVALID_CONTEXT;
  } else {
    SIM_TRY(find_green(handle, context));
  }
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = context->unique_id();
  return CUDA_SUCCESS;
}

CUresult cuGreenCtxRecordEvent(CUgreenCtx handle, CUevent event) {
  std::shared_ptr<Context> context;
  SIM_TRY(find_green(handle, context));
  return record(context, event);
}
CUresult cuGreenCtxWaitEvent(CUgreenCtx handle, CUevent event) {
  std::shared_ptr<Context> context;
  SIM_TRY(find_green(handle, context));
  return wait(context, event);
}
CUresult cuCtxRecordEvent(CUcontext handle, CUevent event) {
  std::shared_ptr<Context> context;
  SIM_TRY(find_context(handle, context));
  return record(context, event);
}
CUresult cuCtxWaitEvent(CUcontext handle, CUevent event) {
  std::shared_ptr<Context> context;
  SIM_TRY(find_context(handle, context));
  return wait(context, event);
}
