// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/server/module_store.h"

#include <cuda.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/simdevice/server/json_text.h"

namespace gacer::simdevice {
namespace {

void append_number(std::string& json, const char* key, uint64_t value) {
  json += ",\"";
  json += key;
  json += "\":" + std::to_string(value);
}

void append_kernel(std::string& json, const KernelInfo& kernel) {
  json += "{\"name\":";
  append_json_string(json, kernel.name);
  json += ",\"params\":[";
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    json += i == 0 ? "[" : ",[";
    json += std::to_string(kernel.params[i].offset) + "," + std::to_string(kernel.params[i].bytes) +
            "]";
  }
  json += "]";
  append_number(json, "param_bytes", kernel.param_bytes);
  append_number(json, "regs", kernel.regs_per_thread);
  append_number(json, "smem", kernel.static_smem_bytes);
  append_number(json, "local", kernel.local_bytes);
  append_number(json, "max_threads", kernel.max_threads_per_block);
  json += std::string(",\"cooperative\":") + (kernel.uses_grid_barrier ? "true}" : "false}");
}

void append_global(std::string& json, const GlobalInfo& global, uint64_t address) {
  json += "{\"name\":";
  append_json_string(json, global.name);
  append_number(json, "address", address);
  append_number(json, "bytes", global.bytes);
  json += "}";
}

Status place_globals(LoadedModule& module, ClientMemory& memory) {
  for (const GlobalInfo& global : module.program->globals()) {
    const auto address = memory.allocate(module.context, std::max<uint64_t>(global.bytes, 1));
    if (!address) {
      unload_module(module, memory);
      return Error{CUDA_ERROR_OUT_OF_MEMORY, "no device memory for variable " + global.name};
    }
    module.global_addresses.push_back(*address);
  }
  return {};
}

void fill_globals(const LoadedModule& module, ClientMemory& memory) {
  const auto& globals = module.program->globals();
  for (size_t i = 0; i < globals.size(); ++i) {
    const GlobalInfo& global = globals[i];
    uint8_t* to = memory.resolve(module.global_addresses[i], std::max<uint64_t>(global.bytes, 1));
    std::copy_n(global.initial.begin(), std::min<uint64_t>(global.initial.size(), global.bytes),
                to);
    for (const auto& [offset, index] : global.relocations) {
      if (offset + 8 > global.bytes || index >= globals.size()) continue;
      uint64_t addend = 0;
      std::memcpy(&addend, to + offset, 8);
      const uint64_t address = module.global_addresses[index] + addend;
      std::memcpy(to + offset, &address, 8);
    }
  }
}

}  // namespace

Result<LoadedModule> load_module(std::string_view ptx, int target_sm, uint32_t context,
                                 ClientMemory& memory) {
  auto program = Program::compile(ptx, target_sm);
  if (!program) return Error{CUDA_ERROR_INVALID_PTX, program.error().message};
  LoadedModule module;
  module.context = context;
  module.content_hash = std::hash<std::string_view>{}(ptx);
  module.program = std::move(*program);
  if (Status placed = place_globals(module, memory); !placed) return placed.error();
  module.program->bind_globals(module.global_addresses);
  fill_globals(module, memory);
  return module;
}

void unload_module(const LoadedModule& module, ClientMemory& memory) {
  for (const uint64_t address : module.global_addresses) memory.free(address);
}

std::string module_json(const LoadedModule& module) {
  std::string json = "{\"kernels\":[";
  bool first = true;
  for (const KernelInfo& kernel : module.program->kernels()) {
    if (!std::exchange(first, false)) json += ",";
    append_kernel(json, kernel);
  }
  json += "],\"globals\":[";
  const auto& globals = module.program->globals();
  for (size_t i = 0; i < globals.size(); ++i) {
    if (i > 0) json += ",";
    append_global(json, globals[i], module.global_addresses[i]);
  }
  return json + "]}";
}

}  // namespace gacer::simdevice
