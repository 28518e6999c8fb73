// SPDX-License-Identifier: Apache-2.0
// A module on the device: the compiled program (or a stand-in for machine code), its module-scope
// variables in the client's device memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/simdevice/exec/program.h"
#include "runtime/simdevice/server/client_memory.h"

namespace gacer::simdevice {

struct LoadedModule {
  uint64_t id = 0;
  uint32_t context = 0;
  uint64_t content_hash = 0;  // of the image: equal modules of different clients cost the same
  uint32_t virtual_arch = 0;  // 80 for ".target sm_80"; of machine code: the device's
  std::shared_ptr<Program> program;
  std::vector<uint64_t> global_addresses;  // allocations of the client
  std::shared_ptr<Backing> overhead;       // what SIMGPU_MODULE_MEM asks for
};

// Compiles PTX text, or describes machine code (an ELF image), and places the globals. Error::code:
// CUresult; the message is the compiler's line.
Result<LoadedModule> load_module(std::string_view image, int target_sm, uint32_t context,
                                 ClientMemory& memory);
// Moves a managed variable to host memory that the client shares, before the first launch. False:
// there is no such variable, or no such memory.
bool place_managed(LoadedModule& module, uint32_t global, uint64_t address, ClientMemory& memory);
void unload_module(const LoadedModule& module, ClientMemory& memory);

// The description that the driver facade reads, see sim_messages.h.
std::string module_json(const LoadedModule& module);

}  // namespace gacer::simdevice
