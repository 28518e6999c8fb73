// SPDX-License-Identifier: Apache-2.0
// The functions of the null driver that must do a little; all others come from make_symbols.py.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "interpose/cuda_api.h"
#include "tests/support/nulldriver/null_memory.h"

#define NULLCUDA_EXPORT extern "C" __attribute__((visibility("default")))

// From make_symbols.py; ends with a NULL name.
struct NullSymbol {
  const char* name;
  void* address;
};
extern "C" const NullSymbol null_symbols[];

namespace {

// One line per event, so that a test can tell that nothing happened.
void trace(const char* what) {
  const char* path = getenv("NULLCUDA_TRACE");
  if (path == nullptr) return;
  const int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  char line[128];
  const int length = snprintf(line, sizeof line, "%d %s\n", getpid(), what);
  [[maybe_unused]] const ssize_t written = write(fd, line, static_cast<size_t>(length));
  close(fd);
}

bool refuses(const char* what) {
  const char* list = getenv("NULLCUDA_REFUSE");
  return list != nullptr && strstr(list, what) != nullptr;
}

[[gnu::constructor]] void loaded() {
  trace("loaded");
}

uint64_t launch_count = 0;  // plain: the cheapest thing a driver could do

[[gnu::destructor]] void unloaded() {
  char line[64];
  snprintf(line, sizeof line, "launches %lu", launch_count);
  trace(line);
}

constexpr size_t kDeviceBytes = size_t{16} << 30;
std::atomic<uint64_t> next_handle{0x10000000};
std::atomic<int> last_priority{-1000};

template <typename Handle>
CUresult give(Handle* handle) {
  const uint64_t number = next_handle.fetch_add(0x10000);
  memcpy(handle, &number, sizeof *handle);
  return CUDA_SUCCESS;
}

CUresult give_memory(CUdeviceptr* pointer, size_t bytes) {
  if (bytes > kDeviceBytes) return CUDA_ERROR_OUT_OF_MEMORY;
  *pointer = next_handle.fetch_add((bytes + 0xffff) / 0x10000 * 0x10000);
  gacer::test::null_memory_allocated(*pointer, bytes);
  return CUDA_SUCCESS;
}

// By its own table: opening itself by path would be asking whoever stands in front of it.
void* own_symbol(const char* name) {
  for (const NullSymbol* symbol = null_symbols; symbol->name != nullptr; ++symbol)
    if (strcmp(symbol->name, name) == 0) return symbol->address;
  return nullptr;
}

// What the toolkit's headers declare for a name, a version and a stream flag.
enum class Stream { any, legacy, ptsz, ptds };
struct Row {
  const char* symbol;
  const char* base;
  int version;
  Stream stream;
};
constexpr Row kRows[] = {
#define TYPEDEF(symbol, base, version, stream, type) {#symbol, #base, version, Stream::stream},
#include "typedef_rows.inc"
#undef TYPEDEF
};

const Row* newest(const char* base, int version, bool per_thread) {
  const Row* best = nullptr;
  for (const Row& row : kRows) {
    const bool row_per_thread = row.stream == Stream::ptsz || row.stream == Stream::ptds;
    if (row_per_thread == per_thread && row.version <= version && strcmp(row.base, base) == 0 &&
        (best == nullptr || row.version > best->version))
      best = &row;
  }
  return best;
}

[[maybe_unused]] void* lookup(const char* base, int version, cuuint64_t flags) {
  const Row* row = nullptr;
  if ((flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0)
    row = newest(base, version, true);
  if (row == nullptr) row = newest(base, version, false);
  if (row != nullptr) return own_symbol(row->symbol);
  for (const Row& known : kRows)
    if (strcmp(known.base, base) == 0) return nullptr;  // newer than the version
  return own_symbol(base);
}

[[maybe_unused]] bool unusable(const char* name, void* const* function, int version,
                               cuuint64_t flags) {
  return name == nullptr || function == nullptr || version > CUDA_VERSION || flags > 2;
}

}  // namespace

NULLCUDA_EXPORT uint64_t nullcuda_launches() {
  return launch_count;
}
NULLCUDA_EXPORT int nullcuda_last_priority() {
  return last_priority;
}

NULLCUDA_EXPORT CUresult cuInit(unsigned) {
  trace("cuInit");
  return CUDA_SUCCESS;
}
NULLCUDA_EXPORT CUresult cuDriverGetVersion(int* version) {
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}
NULLCUDA_EXPORT CUresult cuDeviceGetCount(int* count) {
  *count = 1;
  return CUDA_SUCCESS;
}
NULLCUDA_EXPORT CUresult cuDeviceGet(CUdevice* device, int) {
  *device = 0;
  return CUDA_SUCCESS;
}
NULLCUDA_EXPORT CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute, CUdevice) {
  *value = 64;
  return CUDA_SUCCESS;
}
NULLCUDA_EXPORT CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice) {
  *bytes = kDeviceBytes;
  return CUDA_SUCCESS;
}
NULLCUDA_EXPORT CUresult cuMemGetInfo_v2(size_t* free_bytes, size_t* total) {
  if (free_bytes != nullptr) *free_bytes = kDeviceBytes;
  if (total != nullptr) *total = kDeviceBytes;
  return CUDA_SUCCESS;
}

// The tables behind this call are undocumented.
NULLCUDA_EXPORT CUresult cuGetExportTable(const void** table, const CUuuid*) {
  *table = nullptr;
  return CUDA_ERROR_NOT_FOUND;
}

NULLCUDA_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  trace("cuDevicePrimaryCtxRetain");
  *context = reinterpret_cast<CUcontext>(uintptr_t{0xc000});
  return CUDA_SUCCESS;
}
NULLCUDA_EXPORT CUresult cuCtxCreate_v2(CUcontext* context, unsigned, CUdevice) {
  trace("cuCtxCreate");
  return give(context);
}
NULLCUDA_EXPORT CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = reinterpret_cast<CUcontext>(uintptr_t{0xc000});
  return CUDA_SUCCESS;
}
NULLCUDA_EXPORT CUresult cuCtxGetDevice(CUdevice* device) {
  *device = 0;
  return CUDA_SUCCESS;
}
NULLCUDA_EXPORT CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return CUDA_SUCCESS;
}

NULLCUDA_EXPORT CUresult cuStreamCreate(CUstream* stream, unsigned) {
  return give(stream);
}
NULLCUDA_EXPORT CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned, int priority) {
  last_priority = priority;
  return give(stream);
}
NULLCUDA_EXPORT CUresult cuEventCreate(CUevent* event, unsigned) {
  return give(event);
}
NULLCUDA_EXPORT CUresult cuModuleLoadData(CUmodule* module, const void*) {
  return give(module);
}
NULLCUDA_EXPORT CUresult cuModuleGetFunction(CUfunction* function, CUmodule, const char*) {
  return give(function);
}
NULLCUDA_EXPORT CUresult cuFuncGetAttribute(int* value, CUfunction_attribute, CUfunction) {
  *value = 32;
  return CUDA_SUCCESS;
}

NULLCUDA_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr* pointer, size_t bytes) {
  return give_memory(pointer, bytes);
}
NULLCUDA_EXPORT CUresult cuMemAllocAsync(CUdeviceptr* pointer, size_t bytes, CUstream) {
  return give_memory(pointer, bytes);
}

NULLCUDA_EXPORT CUresult cuMemFree_v2(CUdeviceptr pointer) {
  return gacer::test::null_memory_freed(pointer) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
NULLCUDA_EXPORT CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream) {
  return cuMemFree_v2(pointer);
}

NULLCUDA_EXPORT CUresult cuMemHostRegister_v2(void*, size_t, unsigned) {
  return refuses("register") ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}
NULLCUDA_EXPORT CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* device, void* host, unsigned) {
  *device = reinterpret_cast<CUdeviceptr>(host);
  return CUDA_SUCCESS;
}
NULLCUDA_EXPORT CUresult cuStreamWriteValue64_v2(CUstream, CUdeviceptr address, cuuint64_t value,
                                                 unsigned) {
  if (address == 0) return CUDA_ERROR_INVALID_VALUE;
  __atomic_store_n(reinterpret_cast<uint64_t*>(address), value, __ATOMIC_RELAXED);
  return CUDA_SUCCESS;
}

NULLCUDA_EXPORT CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned,
                                        unsigned, unsigned, unsigned, CUstream, void**, void**) {
  ++launch_count;
  return CUDA_SUCCESS;
}
#ifndef NULLCUDA_OLD
NULLCUDA_EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig*, CUfunction, void**, void**) {
  ++launch_count;
  return CUDA_SUCCESS;
}

#endif

// Succeed only with these arguments: to see that a forwarder passes registers, stack and vector
// registers on.
NULLCUDA_EXPORT CUresult cuLinkAddData_v2(CUlinkState, CUjitInputType type, void*, size_t size,
                                          const char*, unsigned count, CUjit_option* options,
                                          void** values) {
  const bool as_expected = type == CU_JIT_INPUT_PTX && size == 4 && count == 6 &&
                           options == reinterpret_cast<CUjit_option*>(uintptr_t{7}) &&
                           values == reinterpret_cast<void**>(uintptr_t{8});
  return as_expected ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
NULLCUDA_EXPORT CUresult cuTexRefSetMipmapLevelBias(CUtexref, float bias) {
  return bias == 1.5f ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

#ifndef NULLCUDA_LOOKUPS
#define NULLCUDA_LOOKUPS 2
#endif
#if NULLCUDA_LOOKUPS >= 1
NULLCUDA_EXPORT CUresult cuGetProcAddress(const char* name, void** function, int version,
                                          cuuint64_t flags) {
  if (unusable(name, function, version, flags)) return CUDA_ERROR_INVALID_VALUE;
  *function = lookup(name, version, flags);
  return *function == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}
#endif
#if NULLCUDA_LOOKUPS >= 2
// As documented: success, whatever was found.
NULLCUDA_EXPORT CUresult cuGetProcAddress_v2(const char* name, void** function, int version,
                                             cuuint64_t flags,
                                             CUdriverProcAddressQueryResult* status) {
  if (unusable(name, function, version, flags)) return CUDA_ERROR_INVALID_VALUE;
  *function = lookup(name, version, flags);
  if (status != nullptr)
    *status =
        *function != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return CUDA_SUCCESS;
}
#endif
