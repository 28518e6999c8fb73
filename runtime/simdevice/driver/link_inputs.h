// SPDX-License-Identifier: Apache-2.0
// What cuLinkAddData and cuLinkAddFile take, joined into one image. PTX of all inputs is linked as
// text; machine code cannot be linked: it is taken over whole when it is the only input, and else
// only says which names it defines. Needs no server; not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/simdevice/driver/cuda_api.h"
#include "runtime/simdevice/image/ptx_linker.h"

namespace gacer::simdriver {

class LinkInputs {
 public:
  explicit LinkInputs(int sm) : sm_(sm) {}

  // `bytes` need no terminator. Error::code: CUresult; the message is what the error log gets.
  Status add(CUjitInputType type, std::span<const uint8_t> bytes, std::string_view name);
  // The image that cuModuleLoadData takes.
  Result<std::string> complete() const;

 private:
  Status add_image(std::string image, std::string_view name);
  Status add_object(std::span<const uint8_t> bytes, std::string_view name);
  Status add_library(std::span<const uint8_t> bytes, std::string_view name);
  Status add_machine_code(std::string image, std::string_view name);

  int sm_;
  simdevice::PtxLinker linker_;
  std::vector<std::string> machine_code_;
};

}  // namespace gacer::simdriver
