// SPDX-License-Identifier: Apache-2.0
#include "tools/probe/lookup.h"

#include <cuda.h>
#include <dlfcn.h>
#include <link.h>

#include <cstdarg>
#include <cstring>
#include <initializer_list>

namespace gacer::probe {
namespace {

// Each release that added functions or changed their meaning, and one beyond.
constexpr int kVersions[] = {11030, 11040, 11050, 11060, 11070, 11080, 12000, 12010, 12020,
                             12030, 12040, 12050, 12060, 12080, 12090, 13000, 13010, 13020};
constexpr cuuint64_t kFlags[] = {CU_GET_PROC_ADDRESS_LEGACY_STREAM,
                                 CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM};

using ProcAddress = CUresult (*)(const char*, void**, int, cuuint64_t);
using ProcAddress2 = CUresult (*)(const char*, void**, int, cuuint64_t,
                                  CUdriverProcAddressQueryResult*);

template <typename Function>
Function function_of(void* handle, const char* name) {
  void* address = dlsym(handle, name);
  Function function = nullptr;
  memcpy(&function, &address, sizeof function);
  return function;
}

const char* object_of(void* address) {
  Dl_info info{};
  if (address == nullptr || dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "-";
  return info.dli_fname;
}

const char* base_name(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

// The driver itself, whatever the shim puts in front of it; NULL: not loaded.
void* driver_handle = nullptr;

struct Search {
  const char* shim;
  const char* driver;
};

int visit_object(dl_phdr_info* info, size_t, void* context) {
  auto& search = *static_cast<Search*>(context);
  const bool is_driver = strncmp(base_name(info->dlpi_name), "libcuda.so", 10) == 0;
  if (is_driver && strcmp(info->dlpi_name, search.shim) != 0) search.driver = info->dlpi_name;
  return search.driver != nullptr ? 1 : 0;
}

struct Answer {
  CUresult result = CUDA_ERROR_NOT_FOUND;
  void* address = nullptr;
};

Answer ask(void* handle, int api, const char* base, int version, cuuint64_t flags) {
  Answer answer;
  if (handle == nullptr) return answer;
  if (api == 1) {
    const auto function = function_of<ProcAddress>(handle, "cuGetProcAddress");
    if (function != nullptr) answer.result = function(base, &answer.address, version, flags);
    return answer;
  }
  const auto function = function_of<ProcAddress2>(handle, "cuGetProcAddress_v2");
  CUdriverProcAddressQueryResult status{};
  if (function != nullptr) answer.result = function(base, &answer.address, version, flags, &status);
  return answer;
}

void report_one(Reporter& out, void* handle, int api, const char* base, int version,
                cuuint64_t flags) {
  const Answer ours = ask(handle, api, base, version, flags);
  const Answer drivers = ask(driver_handle, api, base, version, flags);
  char owner[1024];
  char drivers_owner[1024];
  out.owner(ours.address, owner, sizeof owner);
  out.owner(drivers.result == CUDA_SUCCESS ? drivers.address : nullptr, drivers_owner,
            sizeof drivers_owner);
  out.line("proc\t%d\t%d\t%s\t%s\t%d\t%s\t%s", api, version,
           flags == CU_GET_PROC_ADDRESS_LEGACY_STREAM ? "legacy" : "per-thread", base, ours.result,
           owner, drivers_owner);
}

bool seen_before(const Row* row) {
  for (const Row* other = kRows; other != row; ++other)
    if (strcmp(other->base, row->base) == 0) return true;
  return false;
}

}  // namespace

Reporter::Reporter(int fd)
    : file_(fdopen(fd, "w")),
      shim_symbol_of_(
          function_of<const char* (*)(const void*)>(RTLD_DEFAULT, "gacer_shim_symbol_of")) {
  const auto version = function_of<uint32_t (*)()>(RTLD_DEFAULT, "gacer_shim_version");
  if (version != nullptr)
    line("shim\t%u\t%s", version(), object_of(dlsym(RTLD_DEFAULT, "gacer_shim_version")));
}

Reporter::~Reporter() {
  if (file_ != nullptr) fclose(file_);
}

void Reporter::line(const char* format, ...) {
  if (file_ == nullptr) return;
  va_list arguments;
  va_start(arguments, format);
  vfprintf(file_, format, arguments);
  va_end(arguments);
  fputc('\n', file_);
}

void Reporter::owner(void* address, char* text, size_t bytes) const {
  Dl_info info{};
  const char* name =
      shim_symbol_of_ != nullptr && address != nullptr ? shim_symbol_of_(address) : nullptr;
  if (name == nullptr && address != nullptr && dladdr(address, &info) != 0) name = info.dli_sname;
  snprintf(text, bytes, "%s\t%s", object_of(address), name == nullptr ? "-" : name);
}

void Reporter::answer(const char* way, const char* symbol, void* address) {
  char text[1024];
  owner(address, text, sizeof text);
  line("answer\t%s\t%s\t%s", way, symbol, text);
}

void find_driver(Reporter& out, void* handle) {
  int version = 0;
  const auto get_version = function_of<CUresult (*)(int*)>(handle, "cuDriverGetVersion");
  if (get_version != nullptr) get_version(&version);  // makes the shim open it
  Search search{object_of(dlsym(RTLD_DEFAULT, "gacer_shim_version")), nullptr};
  dl_iterate_phdr(&visit_object, &search);
  if (search.driver == nullptr) return out.line("error\tdriver\tno libcuda.so.1 behind the shim");
  driver_handle = dlopen(search.driver, RTLD_NOW | RTLD_NOLOAD);
  out.line("driver\t%d\t%s", version, search.driver);
}

void report_proc_addresses(Reporter& out, void* handle) {
  for (const Row& row : kRows) {
    if (seen_before(&row)) continue;
    for (const int version : kVersions)
      for (const cuuint64_t flags : kFlags)
        for (const int api : {1, 2}) report_one(out, handle, api, row.base, version, flags);
  }
}

void report_devices(Reporter& out, void* handle) {
  const auto init = function_of<decltype(&cuInit)>(handle, "cuInit");
  const auto get_count = function_of<decltype(&cuDeviceGetCount)>(handle, "cuDeviceGetCount");
  const auto get_name = function_of<decltype(&cuDeviceGetName)>(handle, "cuDeviceGetName");
  const auto attribute =
      function_of<decltype(&cuDeviceGetAttribute)>(handle, "cuDeviceGetAttribute");
  if (init == nullptr || get_count == nullptr || get_name == nullptr || attribute == nullptr)
    return out.line("error\tgpu\tthe driver lacks basic functions");
  int count = 0;
  CUresult result = init(0);
  if (result == CUDA_SUCCESS) result = get_count(&count);
  out.line("gpu\t%d\t%d", result, count);
  for (int device = 0; device < count; ++device) {
    char name[128] = "?";
    int mode = 0;
    get_name(name, sizeof name, device);
    attribute(&mode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, device);
    out.line("device\t%d\t%d\t%s", device, mode, name);
  }
}

}  // namespace gacer::probe
