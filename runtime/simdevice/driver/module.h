// SPDX-License-Identifier: Apache-2.0
// Modules and their functions; libraries and their kernels, which become functions of a context
// when first used there.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/simdevice/driver/cuda_api.h"
#include "runtime/simdevice/driver/handles.h"

namespace gacer::simdriver {

class Context;

struct ParamDescription {
  uint32_t offset = 0;
  uint32_t bytes = 0;
};

struct KernelDescription {
  std::string name;
  std::vector<ParamDescription> params;
  uint32_t param_bytes = 0;
  uint32_t regs = 0;
  uint32_t static_smem_bytes = 0;
  uint32_t local_bytes = 0;
  uint32_t max_threads = 0;
  uint32_t virtual_arch = 0;  // 80 for PTX of ".target sm_80"
  bool cooperative = false;
  bool prints = false;                       // may print
  std::array<uint32_t, 3> cluster{0, 0, 0};  // .reqnctapercluster; 0: none
};

struct GlobalDescription {
  std::string name;
  uint64_t address = 0;
  uint64_t bytes = 0;
  bool managed = false;
};

struct ModuleDescription {
  std::vector<KernelDescription> kernels;
  std::vector<GlobalDescription> globals;
};

// The JSON that the server sends for a loaded module (sim_messages.h).
Result<ModuleDescription> parse_module_json(std::string_view text);

// Settable properties, shared by a kernel and its functions.
struct FunctionSettings {
  std::atomic<uint32_t> max_dynamic_smem_bytes{48 * 1024};
  std::atomic<int> carveout{-1};
  std::atomic<bool> non_portable_cluster{false};
  std::atomic<int> cluster_policy{CU_CLUSTER_SCHEDULING_POLICY_DEFAULT};
};

struct Module;
struct Function {
  std::weak_ptr<Module> module;
  uint64_t server_module = 0;
  uint32_t context_id = 0;
  uint32_t index = 0;
  KernelDescription info;
  std::shared_ptr<FunctionSettings> settings;
};

struct Module {
  uint64_t server_id = 0;
  uint32_t context_id = 0;
  ModuleDescription description;
  std::vector<std::shared_ptr<Function>> functions;  // by index

  std::shared_ptr<Function> find_function(std::string_view name) const;
  const GlobalDescription* find_global(std::string_view name) const;
};

struct Library;
struct Kernel {
  std::weak_ptr<Library> library;
  std::string name;
  std::shared_ptr<FunctionSettings> settings;
};

struct Library {
  std::string image;  // PTX text or machine code
  uint32_t max_registers = 0;
  std::mutex mutex;
  std::map<uint32_t, std::shared_ptr<Module>> instances;  // by context id
  std::vector<std::shared_ptr<Kernel>> kernels;
};

// All handles of this file. Thread-safe.
class Modules {
 public:
  HandleTable<CUmodule, Module> modules;
  HandleTable<CUfunction, Function> functions;
  HandleTable<CUlibrary, Library> libraries;
  HandleTable<CUkernel, Kernel> kernels;

  void remove_context(uint32_t context_id);
};
Modules& modules();

// The JIT options that mean something here: the buffers for the compiler's messages, the register
// limit, the time it took.
class JitLog {
 public:
  JitLog() = default;
  JitLog(unsigned count, CUjit_option* options, void** values);
  static JitLog with_registers(uint32_t most) {
    JitLog log;
    log.max_registers_ = most;
    return log;
  }
  bool valid() const { return valid_; }
  uint32_t max_registers() const { return max_registers_; }  // 0: no limit
  bool verbose() const { return verbose_; }
  // Fills both buffers and sets the size options to what was written, and the wall time since the
  // options were read.
  void report(std::string_view error_text, std::string_view info_text = {});

 private:
  struct Buffer {
    char* text = nullptr;
    size_t capacity = 0;
    void** size_value = nullptr;
  };
  void read_option(CUjit_option option, void** value);
  static void fill(Buffer& buffer, std::string_view text);
  bool valid_ = true;
  bool verbose_ = false;
  uint32_t max_registers_ = 0;
  void** wall_time_ms_ = nullptr;
  uint64_t started_ns_ = 0;
  Buffer info_;
  Buffer error_;
};

// Loads an image (PTX text or machine code) into `context`, with handles for module and functions.
// `settings_of`: a library whose kernels' settings the functions share, or null.
CUresult load_on_device(const Context& context, const std::string& image, JitLog& log,
                        std::shared_ptr<Module>& out, Library* settings_of = nullptr);
// What the device takes of an image in memory, or in a file (fatbin.h).
CUresult read_image(const void* source, JitLog& log, std::string& image);
CUresult read_image(std::span<const uint8_t> source, JitLog& log, std::string& image);
CUresult read_image_file(const char* path, JitLog& log, std::string& image);
// Names of the kernels of an image that is loaded nowhere yet.
std::vector<std::string> kernel_names(const std::string& image);
// All bytes of a file; false: it cannot be read.
bool read_file(const char* path, std::string& out);
int device_sm();
void unload_module(const std::shared_ptr<Module>& module);

// A CUfunction, or a CUkernel cast to one (then its function in the current context).
CUresult resolve_function(CUfunction handle, std::shared_ptr<Function>& out);
// The module of a library in the current context, loaded if it was not.
CUresult library_module(const std::shared_ptr<Library>& library, std::shared_ptr<Module>& out);
CUresult kernel_function(const std::shared_ptr<Kernel>& kernel, std::shared_ptr<Function>& out);

// Attribute of a function; `settings` are the kernel's own where there is no function yet.
CUresult function_attribute(const KernelDescription& info, const FunctionSettings& settings,
                            CUfunction_attribute attribute, int& out);
CUresult set_function_attribute(const KernelDescription& info, FunctionSettings& settings,
                                CUfunction_attribute attribute, int value);

}  // namespace gacer::simdriver
