// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/cudart/fat_binary.h"

#include <fatbinary_section.h>

#include <cstdint>
#include <cstring>

#include "runtime/simdevice/cudart/context.h"
#include "runtime/simdevice/cudart/driver_api.h"

namespace gacer::cudart {
namespace {

// The header of a fat binary: magic, version, header bytes, then the bytes that follow it.
size_t fat_binary_bytes(const void* image) {
  uint16_t header_bytes = 0;
  uint64_t body_bytes = 0;
  std::memcpy(&header_bytes, static_cast<const char*>(image) + 6, sizeof(header_bytes));
  std::memcpy(&body_bytes, static_cast<const char*>(image) + 8, sizeof(body_bytes));
  return header_bytes + body_bytes;
}

Outcome load_image(const void* image, CUlibrary& out) {
  return legacy_driver().cuLibraryLoadData(&out, image, nullptr, nullptr, 0, nullptr, nullptr, 0);
}

}  // namespace

Outcome FatBinary::load() {
  const auto* wrapper = static_cast<const __fatBinC_Wrapper_t*>(wrapper_);
  if (wrapper == nullptr || wrapper->magic != FATBINC_MAGIC) return cudaErrorInvalidKernelImage;
  if (wrapper->version == FATBINC_VERSION) return load_image(wrapper->data, library_);
  // Separate compilation: `data` was linked ahead for its own targets, the parts hold the PTX.
  const auto* parts = static_cast<const void* const*>(wrapper->filename_or_fatbins);
  if (parts == nullptr || parts[0] == nullptr) return load_image(wrapper->data, library_);
  return load_linked(parts);
}

Outcome FatBinary::load_linked(const void* const* parts) {
  RT_TRY(ensure_context());
  const Driver& driver = legacy_driver();
  CUlinkState link = nullptr;
  RT_TRY(driver.cuLinkCreate(0, nullptr, nullptr, &link));
  CUresult result = CUDA_SUCCESS;
  for (; *parts != nullptr && result == CUDA_SUCCESS; ++parts)
    result = driver.cuLinkAddData(link, CU_JIT_INPUT_FATBINARY, const_cast<void*>(*parts),
                                  fat_binary_bytes(*parts), "fatbin", 0, nullptr, nullptr);
  void* image = nullptr;
  size_t bytes = 0;
  if (result == CUDA_SUCCESS) result = driver.cuLinkComplete(link, &image, &bytes);
  const Outcome loaded = result == CUDA_SUCCESS ? load_image(image, library_) : Outcome(result);
  (void)driver.cuLinkDestroy(link);
  return loaded;
}

Outcome FatBinary::library(CUlibrary& out) {
  const std::lock_guard lock(mutex_);
  if (library_ == nullptr) {
    RT_TRY(ensure_driver());
    RT_TRY(load());
  }
  out = library_;
  return cudaSuccess;
}

void FatBinary::unload() {
  const std::lock_guard lock(mutex_);
  if (library_ != nullptr) (void)legacy_driver().cuLibraryUnload(library_);
  library_ = nullptr;
}

void FatBinary::add(ManagedVariable variable) {
  const std::lock_guard lock(mutex_);
  managed_.push_back(std::move(variable));
}

Outcome FatBinary::load_managed() {
  CUlibrary loaded = nullptr;
  RT_TRY(library(loaded));
  const std::lock_guard lock(mutex_);
  for (ManagedVariable& variable : managed_) {
    if (variable.address != 0) continue;
    RT_TRY(legacy_driver().cuLibraryGetManaged(&variable.address, &variable.bytes, loaded,
                                               variable.device_name.c_str()));
    *variable.host_pointer = reinterpret_cast<void*>(variable.address);
  }
  return cudaSuccess;
}

const ManagedVariable* FatBinary::managed_at(const void* address) {
  const std::lock_guard lock(mutex_);
  for (const ManagedVariable& variable : managed_)
    if (variable.address != 0 && reinterpret_cast<const void*>(variable.address) == address)
      return &variable;
  return nullptr;
}

}  // namespace gacer::cudart
