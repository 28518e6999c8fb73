// SPDX-License-Identifier: Apache-2.0
// cuLink*: PTX of all kinds of containers in, one PTX text out as the "cubin" that cuModuleLoadData
// takes.
#include <memory>

#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/link_inputs.h"
#include "runtime/simdevice/driver/module.h"

using namespace gacer::simdriver;

namespace {

struct LinkState {
  explicit LinkState(int sm) : inputs(sm) {}
  JitLog log;
  LinkInputs inputs;
  std::string image;
  std::string errors;
};

HandleTable<CUlinkState, LinkState>& links() {
  static auto& table = *new HandleTable<CUlinkState, LinkState>;
  return table;
}

CUresult find_link(CUlinkState handle, std::shared_ptr<LinkState>& out) {
  SIM_TRY(Driver::get().ready());
  out = links().find(handle);
  return out == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

CUresult fail(LinkState& link, const gacer::Error& error) {
  if (!link.errors.empty()) link.errors += "\n";
  link.errors += error.message;
  link.log.report(link.errors);
  return static_cast<CUresult>(error.code);
}

CUresult add(LinkState& link, CUjitInputType type, std::span<const uint8_t> bytes,
             const char* name) {
  const gacer::Status added = link.inputs.add(type, bytes, name == nullptr ? "<unnamed>" : name);
  return added.ok() ? CUDA_SUCCESS : fail(link, added.error());
}

}  // namespace

CUresult cuLinkCreate_v2(unsigned count, CUjit_option* options, void** values, CUlinkState* out) {
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  auto link = std::make_shared<LinkState>(device_sm());
  link->log = JitLog(count, options, values);
  if (out == nullptr || !link->log.valid()) return CUDA_ERROR_INVALID_VALUE;
  *out = links().add(std::move(link));
  return CUDA_SUCCESS;
}

CUresult cuLinkAddData_v2(CUlinkState handle, CUjitInputType type, void* data, size_t bytes,
                          const char* name, unsigned, CUjit_option*, void**) {
  std::shared_ptr<LinkState> link;
  SIM_TRY(find_link(handle, link));
  if (data == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  return add(*link, type, {static_cast<const uint8_t*>(data), bytes}, name);
}

CUresult cuLinkAddFile_v2(CUlinkState handle, CUjitInputType type, const char* path, unsigned,
                          CUjit_option*, void**) {
  std::shared_ptr<LinkState> link;
  SIM_TRY(find_link(handle, link));
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::string content;
  if (!read_file(path, content)) return CUDA_ERROR_FILE_NOT_FOUND;
  return add(*link, type, {reinterpret_cast<const uint8_t*>(content.data()), content.size()}, path);
}

// The image is freed by cuLinkDestroy, not by the caller.
CUresult cuLinkComplete(CUlinkState handle, void** cubin, size_t* bytes) {
  std::shared_ptr<LinkState> link;
  SIM_TRY(find_link(handle, link));
  if (cubin == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto image = link->inputs.complete();
  if (!image.ok()) return fail(*link, image.error());
  link->image = std::move(image).value();
  link->log.report("");
  *cubin = link->image.data();
  // With the terminator, so that the size tells where the text ends.
  if (bytes != nullptr) *bytes = link->image.size() + 1;
  return CUDA_SUCCESS;
}

CUresult cuLinkDestroy(CUlinkState handle) {
  SIM_TRY(Driver::get().initialized());
  return links().remove(handle) == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}
