// SPDX-License-Identifier: Apache-2.0
// cuTexObject*, cuSurfObject*. The deprecated cuTexRef* functions are not supported.
#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/texture.h"

using namespace gacer::simdriver;

namespace {

using gacer::simdevice::SimType;
using gacer::simdevice::TextureMsg;

TextureMsg new_message(SimType type) {
  return make_message<TextureMsg>(type);
}

// Linear and pitched memory must be the program's.
CUresult check_memory(const TextureMsg& message, CUresourcetype type) {
  if (type != CU_RESOURCE_TYPE_LINEAR && type != CU_RESOURCE_TYPE_PITCH2D) return CUDA_SUCCESS;
  const auto& level = message.level[0];
  const uint64_t row = uint64_t{level.width} * message.component_bytes * message.channels;
  const uint64_t bytes = (level.height - 1) * level.pitch + row;
  return Driver::get().memory.find(level.address, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult create_object(Context& context, TextureMsg& message, TextureObject& object,
                       TextureObjects& objects, unsigned long long* out) {
  message.context = context.root().id();
  object.context_id = message.context;
  const Reply reply = Driver::get().link().request(message);
  SIM_TRY(reply.error);
  objects.add(reply.value, object);
  *out = reply.value;
  return CUDA_SUCCESS;
}

CUresult destroy_object(TextureObjects& objects, unsigned long long handle) {
  SIM_TRY(Driver::get().ready());
  const auto object = objects.find(handle);
  if (!object || !objects.remove(handle)) return CUDA_ERROR_INVALID_VALUE;
  TextureMsg message = new_message(SimType::kTextureDestroy);
  message.context = object->context_id;
  message.handle = handle;
  return Driver::get().link().request(message).error;
}

CUresult find_object(const TextureObjects& objects, unsigned long long handle, const void* out,
                     TextureObject& object) {
  SIM_TRY(Driver::get().ready());
  const auto found = objects.find(handle);
  if (out == nullptr || !found) return CUDA_ERROR_INVALID_VALUE;
  object = *found;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuTexObjectCreate(CUtexObject* out, const CUDA_RESOURCE_DESC* resource,
                           const CUDA_TEXTURE_DESC* texture, const CUDA_RESOURCE_VIEW_DESC* view) {
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  if (out == nullptr || resource == nullptr || texture == nullptr) return CUDA_ERROR_INVALID_VALUE;
  TextureMsg message = new_message(SimType::kTextureCreate);
  SIM_TRY(describe_resource(*resource, view, message));
  SIM_TRY(describe_sampler(*texture, message));
  SIM_TRY(check_memory(message, resource->resType));
  TextureObject object;
  object.resource = *resource;
  object.texture = *texture;
  if (view != nullptr) object.view = *view;
  return create_object(*context, message, object, texture_objects(), out);
}

CUresult cuTexObjectDestroy(CUtexObject handle) {
  return destroy_object(texture_objects(), handle);
}

CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC* out, CUtexObject handle) {
  TextureObject object;
  SIM_TRY(find_object(texture_objects(), handle, out, object));
  *out = object.resource;
  return CUDA_SUCCESS;
}

CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC* out, CUtexObject handle) {
  TextureObject object;
  SIM_TRY(find_object(texture_objects(), handle, out, object));
  *out = object.texture;
  return CUDA_SUCCESS;
}

CUresult cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC* out, CUtexObject handle) {
  TextureObject object;
  SIM_TRY(find_object(texture_objects(), handle, out, object));
  if (!object.view) return CUDA_ERROR_INVALID_VALUE;
  *out = *object.view;
  return CUDA_SUCCESS;
}

CUresult cuSurfObjectCreate(CUsurfObject* out, const CUDA_RESOURCE_DESC* resource) {
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  if (out == nullptr || resource == nullptr) return CUDA_ERROR_INVALID_VALUE;
  TextureMsg message = new_message(SimType::kTextureCreate);
  SIM_TRY(describe_surface(*resource, message));
  TextureObject object;
  object.resource = *resource;
  return create_object(*context, message, object, surface_objects(), out);
}

CUresult cuSurfObjectDestroy(CUsurfObject handle) {
  return destroy_object(surface_objects(), handle);
}

CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC* out, CUsurfObject handle) {
  TextureObject object;
  SIM_TRY(find_object(surface_objects(), handle, out, object));
  *out = object.resource;
  return CUDA_SUCCESS;
}
