// SPDX-License-Identifier: Apache-2.0
// gacer-probe FD LINK_PLUGIN [--gpu]: who answers for the driver in this environment. See
// README.md.
#include <dlfcn.h>
#include <gnu/libc-version.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tools/probe/link_table.h"
#include "tools/probe/lookup.h"

namespace gacer::probe {
namespace {

void report_links(Reporter& out, const char* plugin) {
  void* handle = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
  const auto* rows =
      handle == nullptr ? nullptr : static_cast<const LinkRow*>(dlsym(handle, "gacer_probe_links"));
  if (rows == nullptr) return out.line("error\tlink\t%s", dlerror());
  for (; rows->symbol != nullptr; ++rows) out.answer("link", rows->symbol, rows->address);
}

void report_lookups(Reporter& out, void* handle) {
  for (const Row& row : kRows) {
    if (handle != nullptr) out.answer("handle", row.symbol, dlsym(handle, row.symbol));
    if (handle != nullptr)
      out.answer("versioned", row.symbol, dlvsym(handle, row.symbol, "libcuda.so.1"));
    out.answer("default", row.symbol, dlsym(RTLD_DEFAULT, row.symbol));
    out.answer("next", row.symbol, dlsym(RTLD_NEXT, row.symbol));
  }
}

int run(int fd, const char* plugin, bool gpu) {
  Reporter out(fd);
  out.line("libc\t%s", gnu_get_libc_version());
  report_links(out, plugin);
  void* handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) out.line("error\thandle\t%s", dlerror());
  if (handle != nullptr) find_driver(out, handle);
  report_lookups(out, handle);
  if (handle != nullptr) report_proc_addresses(out, handle);
  if (handle != nullptr && gpu) report_devices(out, handle);
  out.line("end");
  return 0;
}

}  // namespace
}  // namespace gacer::probe

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "gacer-probe is a part of 'gacer doctor' and of no use alone\n");
    return 2;
  }
  const bool gpu = argc > 3 && strcmp(argv[3], "--gpu") == 0;
  return gacer::probe::run(atoi(argv[1]), argv[2], gpu);
}
