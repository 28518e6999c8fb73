// SPDX-License-Identifier: Apache-2.0
// What the environment says: the tenant's settings, lists of folders, the loader's cache. Input:
// one byte of kind; then texts, each ended by a zero byte, or the bytes of a cache file.
#include <sys/mman.h>
#include <unistd.h>

#include <iterator>
#include <string>
#include <vector>

#include "interpose/driver_search.h"
#include "interpose/tenant_config.h"
#include "tests/fuzz/support/fuzz_target.h"

namespace gacer::fuzz {
namespace {

constexpr const char* kNames[] = {"GACER_SOCKET", "GACER_TENANT",    "GACER_CLASS",   "GACER_MEM",
                                  "GACER_WEIGHT", "XDG_RUNTIME_DIR", "GACER_PRIORITY"};
std::vector<std::string> values;

const char* environment(const char* name) {
  for (size_t i = 0; i < std::size(kNames) && i < values.size(); ++i)
    if (strcmp(kNames[i], name) == 0) return values[i].c_str();
  return nullptr;
}

bool is_text(const char* array, size_t bytes) {
  return memchr(array, '\0', bytes) != nullptr;
}

void read_texts(const uint8_t* data, size_t size) {
  values.assign(1, "");
  for (size_t i = 0; i < size; ++i)
    if (data[i] == 0)
      values.emplace_back();
    else
      values.back() += static_cast<char>(data[i]);
}

void read_config() {
  char warning[200];
  memset(warning, 'x', sizeof warning);
  const std::string executable = values.back();
  const interpose::ProcessFacts process{executable.c_str(), 1234,
                                        values.size() % 2 == 0 ? 0u : 1000u};
  const interpose::TenantConfig config =
      interpose::read_tenant_config(&environment, process, warning, sizeof warning);
  require(is_text(warning, sizeof warning), "the warning ends");
  require(is_text(config.socket_path, sizeof config.socket_path), "the socket's path ends");
  require(is_text(config.tenant, sizeof config.tenant), "the name ends");
  require(config.weight >= 1 && config.weight <= 1000, "weight in its range");
  require(config.priority >= -1000 && config.priority <= 1000, "priority in its range");
}

bool visit(void*, const char* path) {
  require(path != nullptr && path[0] == '/', "only absolute paths");
  return false;
}

void read_cache(const uint8_t* data, size_t size) {
  static const int file = memfd_create("cache", MFD_CLOEXEC);
  require(ftruncate(file, 0) == 0, "empty");
  require(pwrite(file, data, size, 0) == static_cast<ssize_t>(size), "written");
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  interpose::visit_loader_cache(path.c_str(), &visit, nullptr);
}

}  // namespace
}  // namespace gacer::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  if (data[0] % 4 == 3) {
    gacer::fuzz::read_cache(data + 1, size - 1);
    return 0;
  }
  gacer::fuzz::read_texts(data + 1, size - 1);
  gacer::fuzz::read_config();
  for (const std::string& text : gacer::fuzz::values)
    gacer::interpose::visit_path_list(text.c_str(), &gacer::fuzz::visit, nullptr);
  return 0;
}
