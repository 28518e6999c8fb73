// SPDX-License-Identifier: Apache-2.0
// A driver that writes down each call that reaches it with all its arguments, and answers what only
// it would answer. What the null driver does otherwise is linked beside it.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "interpose/cuda_api.h"

#define ECHO_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

struct NullSymbol {
  const char* name;
  void* address;
};
extern "C" const NullSymbol null_symbols[];

template <typename... Arguments>
void echo(const char* name, Arguments... arguments) {
  const char* path = getenv("ECHO_TRACE");
  if (path == nullptr) return;
  char line[512];
  int used = snprintf(line, sizeof line, "%s", name);
  const auto add = [&](auto argument) {
    unsigned long long bits = 0;
    memcpy(&bits, &argument, sizeof argument);
    used += snprintf(line + used, sizeof line - static_cast<size_t>(used), " %llx", bits);
  };
  (add(arguments), ...);
  line[used++] = '\n';
  const int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  [[maybe_unused]] const ssize_t written = write(fd, line, static_cast<size_t>(used));
  close(fd);
}

template <typename Handle>
CUresult give(Handle* handle, uintptr_t number) {
  memcpy(handle, &number, sizeof *handle);
  return CUDA_SUCCESS;
}

const char export_table[] = "a table nobody documents";

}  // namespace

ECHO_EXPORT CUresult cuGetExportTable(const void** table, const CUuuid* id) {
  echo("cuGetExportTable", id->bytes[0], id->bytes[15]);
  *table = export_table;
  return CUDA_SUCCESS;
}
ECHO_EXPORT CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option* options,
                                       void** values, unsigned count, CUlibraryOption* more,
                                       void** more_values, unsigned more_count) {
  echo("cuLibraryLoadData", code, options, values, count, more, more_values, more_count);
  return give(library, 0xab0);
}
ECHO_EXPORT CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  echo("cuLibraryGetKernel", library, name[0]);
  return give(kernel, 0xab1);
}
ECHO_EXPORT CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* bytes, CUmodule module,
                                          const char* name) {
  echo("cuModuleGetGlobal_v2", module, name[0]);
  *bytes = 77;
  return give(address, 0xab2);
}
ECHO_EXPORT CUresult cuCtxGetApiVersion(CUcontext context, unsigned* version) {
  echo("cuCtxGetApiVersion", context);
  *version = 3020;
  return CUDA_SUCCESS;
}
ECHO_EXPORT CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute,
                                        int value) {
  echo("cuFuncSetAttribute", function, attribute, value);
  return value > 200000 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
ECHO_EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function,
                                                                 int threads, size_t smem) {
  echo("cuOccupancyMaxActiveBlocksPerMultiprocessor", function, threads, smem);
  *blocks = 13;
  return CUDA_SUCCESS;
}
ECHO_EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks,
                                                                          CUfunction function,
                                                                          int threads, size_t smem,
                                                                          unsigned flags) {
  echo("cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", function, threads, smem, flags);
  *blocks = 14;
  return CUDA_SUCCESS;
}
ECHO_EXPORT CUresult cuStreamQuery_ptsz(CUstream stream) {
  echo("cuStreamQuery_ptsz", stream);
  return CUDA_ERROR_NOT_READY;
}
ECHO_EXPORT CUresult cuStreamQuery(CUstream stream) {
  echo("cuStreamQuery", stream);
  return CUDA_SUCCESS;
}

ECHO_EXPORT CUresult cuGetProcAddress_v2(const char* name, void** function, int version,
                                         cuuint64_t flags, CUdriverProcAddressQueryResult* status) {
  echo("cuGetProcAddress_v2", name[2], version, flags, status != nullptr);
  const bool per_thread = flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  *function = nullptr;
  for (const char* suffix : {per_thread ? "_ptsz" : "_v2", "_v2", ""}) {
    char symbol[128];
    snprintf(symbol, sizeof symbol, "%s%s", name, suffix);
    for (const NullSymbol* known = null_symbols; known->name != nullptr; ++known)
      if (*function == nullptr && strcmp(known->name, symbol) == 0) *function = known->address;
  }
  if (status != nullptr)
    *status =
        *function != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return CUDA_SUCCESS;
}
