// SPDX-License-Identifier: Apache-2.0
// cuLink*: one PTX image in, the same text out as the "cubin" that cuModuleLoadData takes. Linking
// several images needs a linker of device code; it is refused.
#include <memory>

#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/module.h"

using namespace gacer::simdriver;

namespace {

struct LinkState {
  JitLog log;
  std::string ptx;
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

CUresult add_text(LinkState& link, CUjitInputType type, std::string text) {
  if (type != CU_JIT_INPUT_PTX && type != CU_JIT_INPUT_FATBINARY)
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  if (!link.ptx.empty()) {
    link.log.report("linking of several images is not supported by the simulated device");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  link.ptx = std::move(text);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuLinkCreate_v2(unsigned count, CUjit_option* options, void** values, CUlinkState* out) {
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  auto link = std::make_shared<LinkState>();
  link->log = JitLog(count, options, values);
  if (out == nullptr || !link->log.valid()) return CUDA_ERROR_INVALID_VALUE;
  *out = links().add(std::move(link));
  return CUDA_SUCCESS;
}

CUresult cuLinkAddData_v2(CUlinkState handle, CUjitInputType type, void* data, size_t bytes,
                          const char*, unsigned, CUjit_option*, void**) {
  std::shared_ptr<LinkState> link;
  SIM_TRY(find_link(handle, link));
  std::string text;
  SIM_TRY(load_image(std::span(static_cast<const uint8_t*>(data), bytes), link->log, text));
  return add_text(*link, type, std::move(text));
}

CUresult cuLinkAddFile_v2(CUlinkState handle, CUjitInputType type, const char* path, unsigned,
                          CUjit_option*, void**) {
  std::shared_ptr<LinkState> link;
  SIM_TRY(find_link(handle, link));
  std::string text;
  SIM_TRY(load_image_file(path, link->log, text));
  return add_text(*link, type, std::move(text));
}

CUresult cuLinkComplete(CUlinkState handle, void** cubin, size_t* bytes) {
  std::shared_ptr<LinkState> link;
  SIM_TRY(find_link(handle, link));
  if (cubin == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (link->ptx.empty()) return CUDA_ERROR_INVALID_IMAGE;
  *cubin = link->ptx.data();
  if (bytes != nullptr) *bytes = link->ptx.size() + 1;
  return CUDA_SUCCESS;
}

CUresult cuLinkDestroy(CUlinkState handle) {
  SIM_TRY(Driver::get().initialized());
  return links().remove(handle) == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}
