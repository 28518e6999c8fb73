// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/server/module_store.h"

#include <cuda.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "runtime/simdevice/image/elf_view.h"
#include "runtime/simdevice/server/json_text.h"
#include "runtime/simdevice/server/machine_code.h"

namespace gacer::simdevice {
namespace {

// Of toolkit 13.0.
constexpr unsigned kIsaMajor = 9;
constexpr unsigned kIsaMinor = 0;

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
  json += std::string(",\"cooperative\":") + (kernel.uses_grid_barrier ? "true" : "false");
  json += std::string(",\"prints\":") + (kernel.prints ? "true" : "false");
  const auto& cluster = kernel.cluster;
  json += ",\"cluster\":[" + std::to_string(cluster[0]) + "," + std::to_string(cluster[1]) + "," +
          std::to_string(cluster[2]) + "]}";
}

void append_global(std::string& json, const GlobalInfo& global, uint64_t address) {
  json += "{\"name\":";
  append_json_string(json, global.name);
  append_number(json, "address", address);
  append_number(json, "bytes", global.bytes);
  json += global.is_managed ? ",\"managed\":true}" : "}";
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
    if (to == nullptr) continue;  // a managed one whose memory the client took away
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

bool later_isa(std::string_view ptx) {
  const size_t at = ptx.find(".version");
  if (at == std::string_view::npos) return false;
  const size_t number = ptx.find_first_of("0123456789", at);
  unsigned major = 0, minor = 0;
  if (number == std::string_view::npos) return false;
  const char* end = ptx.data() + ptx.size();
  const auto parsed = std::from_chars(ptx.data() + number, end, major);
  if (parsed.ptr != end && *parsed.ptr == '.') std::from_chars(parsed.ptr + 1, end, minor);
  return major > kIsaMajor || (major == kIsaMajor && minor > kIsaMinor);
}

// Of PTX that compiled: ".target sm_80, ..." gives 80.
uint32_t virtual_arch(std::string_view ptx, int otherwise) {
  constexpr std::string_view kPrefix = "sm_";
  const size_t directive = ptx.find(".target");
  const size_t at = directive == std::string_view::npos ? directive : ptx.find(kPrefix, directive);
  auto number = static_cast<uint32_t>(otherwise);
  if (at != std::string_view::npos)
    std::from_chars(ptx.data() + at + kPrefix.size(), ptx.data() + ptx.size(), number);
  return number;
}

bool is_machine_code(std::string_view image) {
  return is_elf({reinterpret_cast<const uint8_t*>(image.data()), image.size()});
}

Result<std::shared_ptr<Program>> make_program(std::string_view image, int target_sm) {
  if (is_machine_code(image))
    return machine_code_program({reinterpret_cast<const uint8_t*>(image.data()), image.size()},
                                target_sm);
  auto program = Program::compile(image, target_sm);
  if (program) return program;
  return Error{later_isa(image) ? CUDA_ERROR_UNSUPPORTED_PTX_VERSION : CUDA_ERROR_INVALID_PTX,
               program.error().message};
}

}  // namespace

Result<LoadedModule> load_module(std::string_view image, int target_sm, uint32_t context,
                                 ClientMemory& memory) {
  auto program = make_program(image, target_sm);
  if (!program) return program.error();
  LoadedModule module;
  module.context = context;
  module.content_hash = std::hash<std::string_view>{}(image);
  module.program = std::move(*program);
  module.virtual_arch =
      is_machine_code(image) ? static_cast<uint32_t>(target_sm) : virtual_arch(image, target_sm);
  if (Status placed = place_globals(module, memory); !placed) return placed.error();
  module.program->bind_globals(module.global_addresses);
  fill_globals(module, memory);
  return module;
}

bool place_managed(LoadedModule& module, uint32_t global, uint64_t address, ClientMemory& memory) {
  const auto& globals = module.program->globals();
  if (global >= globals.size() || !globals[global].is_managed ||
      ClientMemory::is_device_address(address) ||
      memory.resolve(address, std::max<uint64_t>(globals[global].bytes, 1)) == nullptr)
    return false;
  memory.free(std::exchange(module.global_addresses[global], address));
  module.program->bind_globals(module.global_addresses);
  fill_globals(module, memory);
  return true;
}

void unload_module(const LoadedModule& module, ClientMemory& memory) {
  for (const uint64_t address : module.global_addresses) memory.free(address);
}

std::string module_json(const LoadedModule& module) {
  std::string json = "{\"virtual_arch\":" + std::to_string(module.virtual_arch) + ",\"kernels\":[";
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
