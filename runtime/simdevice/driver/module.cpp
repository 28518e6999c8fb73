// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/module.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/fatbin.h"
#include "runtime/simdevice/driver/host_memory.h"
#include "runtime/simdevice/driver/sim_log.h"

namespace gacer::simdriver {
namespace {

UniqueFd memfd_of(const std::string& text) {
  UniqueFd fd(memfd_create("simgpu-ptx", MFD_CLOEXEC));
  size_t done = 0;
  while (fd.valid() && done < text.size()) {
    const ssize_t wrote = write(fd.get(), text.data() + done, text.size() - done);
    if (wrote <= 0) return UniqueFd();
    done += static_cast<size_t>(wrote);
  }
  return fd;
}

std::string read_all(const UniqueFd& fd) {
  std::string text;
  char part[65536];
  ssize_t got = 0;
  for (off_t at = 0; (got = pread(fd.get(), part, sizeof part, at)) > 0; at += got)
    text.append(part, static_cast<size_t>(got));
  return text;
}

CUresult send_image(const Context& context, const std::string& image, JitLog& log, Reply& reply) {
  const UniqueFd fd = memfd_of(image);
  if (!fd.valid()) return CUDA_ERROR_OUT_OF_MEMORY;
  auto message = make_message<simdevice::ModuleMsg>(simdevice::SimType::kModuleLoad);
  message.context = context.id();
  message.max_registers = log.max_registers();
  message.ptx_bytes = image.size();
  reply = Driver::get().link().request(message, fd.get());
  if (reply.error != CUDA_SUCCESS) log.report(reply.text);
  if (reply.error != CUDA_SUCCESS)
    sim_log(LogLevel::kInfo, "module refused: %s", reply.text.c_str());
  return reply.error;
}

std::shared_ptr<FunctionSettings> settings_for(const std::string& name, Library* library) {
  if (library != nullptr)
    for (const auto& kernel : library->kernels)
      if (kernel->name == name) return kernel->settings;
  return std::make_shared<FunctionSettings>();
}

void add_functions(const std::shared_ptr<Module>& module, Library* settings_of) {
  for (const KernelDescription& kernel : module->description.kernels) {
    auto function = std::make_shared<Function>();
    function->module = module;
    function->server_module = module->server_id;
    function->context_id = module->context_id;
    function->index = static_cast<uint32_t>(module->functions.size());
    function->info = kernel;
    function->settings = settings_for(kernel.name, settings_of);
    modules().functions.add(function);
    module->functions.push_back(std::move(function));
  }
}

// As ptxas tells it with --verbose.
std::string resource_usage(const ModuleDescription& description) {
  std::string text;
  for (const KernelDescription& kernel : description.kernels)
    text += "ptxas info    : Function properties for " + kernel.name + "\n" +
            "ptxas info    : Used " + std::to_string(kernel.regs) + " registers, " +
            std::to_string(kernel.static_smem_bytes) + " bytes smem, " +
            std::to_string(kernel.local_bytes) + " bytes stack frame\n";
  return text;
}

// Once for the process: whoever reads results of such kernels must know.
void tell_of_machine_code(const ModuleDescription& description) {
  static std::atomic_flag told;
  if (description.kernels.empty() || told.test_and_set(std::memory_order_relaxed)) return;
  sim_log(LogLevel::kWarn,
          "a module has machine code only (kernel %s and %zu more): the simulated device runs PTX; "
          "such kernels take time but compute nothing. Embed PTX: nvcc -gencode "
          "arch=compute_80,code=compute_80",
          description.kernels[0].name.c_str(), description.kernels.size() - 1);
}

// Managed variables belong to the host as well: the server uses memory of this process for them.
CUresult place_managed(const Context& context, Module& module) {
  for (size_t i = 0; i < module.description.globals.size(); ++i) {
    GlobalDescription& global = module.description.globals[i];
    if (!global.managed || global.bytes == 0) continue;
    uint64_t address = 0;
    SIM_TRY(allocate_shared(context, global.bytes, MemoryKind::kManaged, CU_MEM_ATTACH_GLOBAL,
                            address));
    auto message = make_message<simdevice::ModuleGlobalMsg>(simdevice::SimType::kModuleGlobal);
    message.context = context.id();
    message.global = static_cast<uint32_t>(i);
    message.module = module.server_id;
    message.address = address;
    SIM_TRY(Driver::get().link().request(message).error);
    global.address = address;
  }
  return CUDA_SUCCESS;
}

void add_globals(const Module& module, CUdevice device) {
  for (const GlobalDescription& global : module.description.globals) {
    if (global.bytes == 0 || global.managed) continue;
    Allocation allocation;
    allocation.base = global.address;
    allocation.bytes = global.bytes;
    allocation.kind = MemoryKind::kModuleGlobal;
    allocation.device = device;
    allocation.context_id = module.context_id;
    allocation.buffer_id = Driver::get().next_unique_id();
    Driver::get().memory.add(allocation);
  }
}

}  // namespace

Modules& modules() {
  static Modules& all = *new Modules;
  return all;
}

void Modules::remove_context(uint32_t context_id) {
  modules.remove_if([&](const Module& module) { return module.context_id == context_id; });
  functions.remove_if([&](const Function& function) { return function.context_id == context_id; });
  libraries.for_each([&](Library& library) {
    const std::lock_guard lock(library.mutex);
    library.instances.erase(context_id);
  });
}

std::shared_ptr<Function> Module::find_function(std::string_view name) const {
  const auto found = std::find_if(functions.begin(), functions.end(),
                                  [&](const auto& f) { return f->info.name == name; });
  return found == functions.end() ? nullptr : *found;
}

const GlobalDescription* Module::find_global(std::string_view name) const {
  for (const GlobalDescription& global : description.globals)
    if (global.name == name) return &global;
  return nullptr;
}

int device_sm() {
  return Driver::get().spec().compute_major * 10 + Driver::get().spec().compute_minor;
}

namespace {

CUresult accept(Result<std::string> found, JitLog& log, std::string& image) {
  if (found.ok()) {
    image = std::move(found).value();
    return CUDA_SUCCESS;
  }
  log.report(found.error().message);
  sim_log(LogLevel::kWarn, "module refused: %s", found.error().message.c_str());
  return static_cast<CUresult>(found.error().code);
}

}  // namespace

CUresult read_image(const void* source, JitLog& log, std::string& image) {
  if (source == nullptr || !log.valid()) return CUDA_ERROR_INVALID_VALUE;
  return accept(image_in_memory(source, device_sm()), log, image);
}

CUresult read_image(std::span<const uint8_t> source, JitLog& log, std::string& image) {
  if (source.data() == nullptr || !log.valid()) return CUDA_ERROR_INVALID_VALUE;
  return accept(image_in_bytes(source, device_sm()), log, image);
}

bool read_file(const char* path, std::string& out) {
  const UniqueFd fd(open(path, O_RDONLY | O_CLOEXEC));
  if (fd.valid()) out = read_all(fd);
  return fd.valid();
}

CUresult read_image_file(const char* path, JitLog& log, std::string& image) {
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::string content;
  if (!read_file(path, content)) return CUDA_ERROR_FILE_NOT_FOUND;
  return read_image(std::span(reinterpret_cast<const uint8_t*>(content.data()), content.size()),
                    log, image);
}

CUresult load_on_device(const Context& context, const std::string& image, JitLog& log,
                        std::shared_ptr<Module>& out, Library* settings_of) {
  Reply reply;
  SIM_TRY(send_image(context, image, log, reply));
  auto description = parse_module_json(read_all(reply.fd));
  if (!description.ok()) {
    sim_log(LogLevel::kError, "%s", description.error().message.c_str());
    return static_cast<CUresult>(description.error().code);
  }
  auto module = std::make_shared<Module>();
  module->server_id = reply.value;
  module->context_id = context.id();
  module->description = std::move(description).value();
  if (const CUresult placed = place_managed(context, *module); placed != CUDA_SUCCESS) {
    unload_module(module);
    return placed;
  }
  log.report("", log.verbose() ? resource_usage(module->description) : "");
  if (is_machine_code(image)) tell_of_machine_code(module->description);
  add_functions(module, settings_of);
  add_globals(*module, context.device());
  modules().modules.add(module);
  out = std::move(module);
  return CUDA_SUCCESS;
}

namespace {

void remove_global(const GlobalDescription& global) {
  const auto allocation = Driver::get().memory.remove(global.address);
  if (allocation && allocation->kind == MemoryKind::kManaged) release_host(*allocation);
}

}  // namespace

void unload_module(const std::shared_ptr<Module>& module) {
  for (const auto& function : module->functions)
    modules().functions.remove(HandleTable<CUfunction, Function>::to_handle(function.get()));
  for (const GlobalDescription& global : module->description.globals) remove_global(global);
  auto message = make_message<simdevice::ModuleMsg>(simdevice::SimType::kModuleUnload);
  message.context = module->context_id;
  message.module = module->server_id;
  Driver::get().link().request(message);
}

CUresult resolve_function(CUfunction handle, std::shared_ptr<Function>& out) {
  out = modules().functions.find(handle);
  if (out != nullptr) return CUDA_SUCCESS;
  const auto kernel = modules().kernels.find(reinterpret_cast<CUkernel>(handle));
  return kernel == nullptr ? CUDA_ERROR_INVALID_HANDLE : kernel_function(kernel, out);
}

CUresult library_module(const std::shared_ptr<Library>& library, std::shared_ptr<Module>& out) {
  std::shared_ptr<Context> context;
  SIM_TRY(current_context(context));
  const std::lock_guard lock(library->mutex);
  std::shared_ptr<Module>& instance = library->instances[context->id()];
  JitLog log = JitLog::with_registers(library->max_registers);
  if (instance == nullptr)
    SIM_TRY(load_on_device(*context, library->image, log, instance, library.get()));
  out = instance;
  return CUDA_SUCCESS;
}

CUresult kernel_function(const std::shared_ptr<Kernel>& kernel, std::shared_ptr<Function>& out) {
  const std::shared_ptr<Library> library = kernel->library.lock();
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  std::shared_ptr<Module> module;
  SIM_TRY(library_module(library, module));
  out = module->find_function(kernel->name);
  return out == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

}  // namespace gacer::simdriver
