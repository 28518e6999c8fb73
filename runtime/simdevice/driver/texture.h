// SPDX-License-Identifier: Apache-2.0
// Texture and surface objects: from the descriptors of the driver API to what the server keeps. No
// server here: texture_entry.cpp asks it.
#pragma once

#include <map>
#include <mutex>
#include <optional>

#include "runtime/simdevice/driver/array.h"
#include "runtime/simdevice/driver/cuda_api.h"
#include "runtime/simdevice/sim_messages.h"

namespace gacer::simdriver {

// What an object was made of, for the Get functions.
struct TextureObject {
  uint32_t context_id = 0;
  CUDA_RESOURCE_DESC resource{};
  CUDA_TEXTURE_DESC texture{};
  std::optional<CUDA_RESOURCE_VIEW_DESC> view;
};

// Thread-safe. Handles are the server's.
class TextureObjects {
 public:
  void add(uint64_t handle, const TextureObject& object);
  std::optional<TextureObject> find(uint64_t handle) const;
  bool remove(uint64_t handle);
  void remove_context(uint32_t context_id);

 private:
  mutable std::mutex mutex_;
  std::map<uint64_t, TextureObject> objects_;
};
TextureObjects& texture_objects();
TextureObjects& surface_objects();

// Fill in format, kind and levels. CUDA_ERROR_INVALID_VALUE, _INVALID_HANDLE, or _NOT_SUPPORTED for
// block-compressed views. Memory is not looked up.
CUresult describe_resource(const CUDA_RESOURCE_DESC& resource, const CUDA_RESOURCE_VIEW_DESC* view,
                           simdevice::TextureMsg& out);
// Of an array that allows surfaces; level 0 only.
CUresult describe_surface(const CUDA_RESOURCE_DESC& resource, simdevice::TextureMsg& out);
// Fills in the rest, after the resource. CUDA_ERROR_INVALID_VALUE, or _NOT_SUPPORTED for linear
// filtering across the edges of cubes.
CUresult describe_sampler(const CUDA_TEXTURE_DESC& texture, simdevice::TextureMsg& out);

}  // namespace gacer::simdriver
