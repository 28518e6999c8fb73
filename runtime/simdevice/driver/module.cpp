// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/module.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/fatbin.h"
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

CUresult send_ptx(const Context& context, const std::string& ptx, JitLog& log, Reply& reply) {
  const UniqueFd fd = memfd_of(ptx);
  if (!fd.valid()) return CUDA_ERROR_OUT_OF_MEMORY;
  auto message = make_message<simdevice::ModuleMsg>(simdevice::SimType::kModuleLoad);
  message.context = context.id();
  message.ptx_bytes = ptx.size();
  reply = Driver::get().link().request(message, fd.get());
  log.report(reply.error == CUDA_SUCCESS ? "" : reply.text);
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

void add_globals(const Module& module, CUdevice device) {
  for (const GlobalDescription& global : module.description.globals) {
    if (global.bytes == 0) continue;
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

namespace {

int device_sm() {
  return Driver::get().spec().compute_major * 10 + Driver::get().spec().compute_minor;
}

CUresult accept(Result<std::string> text, JitLog& log, std::string& ptx) {
  if (text.ok()) {
    ptx = std::move(text).value();
    return CUDA_SUCCESS;
  }
  log.report(text.error().message);
  sim_log(LogLevel::kWarn, "module refused: %s", text.error().message.c_str());
  return static_cast<CUresult>(text.error().code);
}

}  // namespace

CUresult load_image(const void* image, JitLog& log, std::string& ptx) {
  if (image == nullptr || !log.valid()) return CUDA_ERROR_INVALID_VALUE;
  return accept(ptx_of_image(image, device_sm()), log, ptx);
}

CUresult load_image(std::span<const uint8_t> image, JitLog& log, std::string& ptx) {
  if (image.data() == nullptr || !log.valid()) return CUDA_ERROR_INVALID_VALUE;
  return accept(ptx_of_bytes(image, device_sm()), log, ptx);
}

CUresult load_image_file(const char* path, JitLog& log, std::string& ptx) {
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const UniqueFd fd(open(path, O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return CUDA_ERROR_FILE_NOT_FOUND;
  const std::string content = read_all(fd);
  return load_image(std::span(reinterpret_cast<const uint8_t*>(content.data()), content.size()),
                    log, ptx);
}

CUresult load_ptx(const Context& context, const std::string& ptx, JitLog& log,
                  std::shared_ptr<Module>& out, Library* settings_of) {
  Reply reply;
  SIM_TRY(send_ptx(context, ptx, log, reply));
  auto description = parse_module_json(read_all(reply.fd));
  if (!description.ok()) {
    sim_log(LogLevel::kError, "%s", description.error().message.c_str());
    return static_cast<CUresult>(description.error().code);
  }
  auto module = std::make_shared<Module>();
  module->server_id = reply.value;
  module->context_id = context.id();
  module->description = std::move(description).value();
  add_functions(module, settings_of);
  add_globals(*module, context.device());
  modules().modules.add(module);
  out = std::move(module);
  return CUDA_SUCCESS;
}

void unload_module(const std::shared_ptr<Module>& module) {
  for (const auto& function : module->functions)
    modules().functions.remove(HandleTable<CUfunction, Function>::to_handle(function.get()));
  for (const GlobalDescription& global : module->description.globals)
    Driver::get().memory.remove(global.address);
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
  JitLog no_log;
  if (instance == nullptr)
    SIM_TRY(load_ptx(*context, library->ptx, no_log, instance, library.get()));
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
