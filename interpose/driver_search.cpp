// SPDX-License-Identifier: Apache-2.0
#include "interpose/driver_search.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "interpose/run_paths.h"
#include "runtime/base/unique_fd.h"

namespace gacer::interpose {
namespace {

using Visit = bool (*)(void*, const char*);

constexpr const char* kDriverName = "libcuda.so.1";
#if defined(__aarch64__)
#define GACER_ARCH_FOLDER "/usr/lib/aarch64-linux-gnu"
#else
#define GACER_ARCH_FOLDER "/usr/lib/x86_64-linux-gnu"
#endif
constexpr const char* kFolders = GACER_ARCH_FOLDER
    ":/usr/lib64:/usr/lib:/usr/lib/wsl/lib:/usr/local/nvidia/lib64:/usr/local/nvidia/lib:"
    "/usr/local/cuda/compat:" GACER_ARCH_FOLDER "/nvidia/current:" GACER_ARCH_FOLDER "/nvidia";

// Layout of the loader's cache, see cache_file_new in glibc's dl-cache.h (format
// "glibc-ld.so.cache1.1").
constexpr char kCacheMagic[] = "glibc-ld.so.cache1.1";
struct CacheHeader {
  char magic[20];
  uint32_t entry_count;
  uint32_t string_bytes;
  uint32_t unused[5];
};
struct CacheEntry {
  int32_t flags;
  uint32_t key;    // offset of the name from the start of the file
  uint32_t value;  // offset of the path
  uint32_t os_version;
  uint64_t hardware;
};
static_assert(sizeof(CacheHeader) == 48 && sizeof(CacheEntry) == 24);
// "libc6, this architecture, 64 bit" (FLAG_ELF_LIBC6 | FLAG_X8664_LIB64 or FLAG_AARCH64_LIB64).
#if defined(__aarch64__)
constexpr int32_t kOurFlags = 0x0a03;
#else
constexpr int32_t kOurFlags = 0x0303;
#endif

// The first path by which the program asked; set once, never freed.
std::atomic<const char*> asked_path{nullptr};

const char* text_at(const char* file, size_t bytes, uint32_t offset) {
  if (offset >= bytes || memchr(file + offset, '\0', bytes - offset) == nullptr) return "";
  return file + offset;
}

bool visit_cache_entries(const char* file, size_t bytes, Visit visit, void* context) {
  CacheHeader header;
  if (bytes < sizeof header) return false;
  memcpy(&header, file, sizeof header);
  if (memcmp(header.magic, kCacheMagic, sizeof header.magic) != 0) return false;
  if (header.entry_count > (bytes - sizeof header) / sizeof(CacheEntry)) return false;
  for (uint32_t i = 0; i < header.entry_count; ++i) {
    CacheEntry entry;
    memcpy(&entry, file + sizeof header + i * sizeof entry, sizeof entry);
    if (entry.flags != kOurFlags || strcmp(text_at(file, bytes, entry.key), kDriverName) != 0)
      continue;
    const char* path = text_at(file, bytes, entry.value);
    if (path[0] == '/' && visit(context, path)) return true;
  }
  return false;
}

// "<folder>/libcuda.so.1" of the list's first folder; an empty one is the current folder. False: no
// more folders.
bool next_folder(const char*& list, char (&path)[PATH_MAX]) {
  if (list == nullptr || *list == '\0') return false;
  const size_t length = strcspn(list, ":;");
  path[0] = '\0';
  if (length + sizeof "/libcuda.so.1" < sizeof path)
    snprintf(path, sizeof path, "%.*s%s%s", static_cast<int>(length), list, length > 0 ? "/" : "",
             kDriverName);
  list += length + (list[length] != '\0' ? 1 : 0);
  return true;
}

bool visit_run_paths(RunPath kind, Visit visit, void* context) {
  char list[PATH_MAX];
  for (size_t i = 0; run_path_of(i, kind, kDriverName, list, sizeof list); ++i)
    if (visit_path_list(list, visit, context)) return true;
  return false;
}

bool visit_asked_path(Visit visit, void* context) {
  // Pairs with note_asked_path().
  const char* path = asked_path.load(std::memory_order_acquire);
  return path != nullptr && visit(context, path);
}

}  // namespace

bool visit_path_list(const char* list, Visit visit, void* context) {
  char path[PATH_MAX];
  while (next_folder(list, path))
    if (path[0] == '/' && visit(context, path)) return true;
  return false;
}

bool visit_relative_folders(const char* list, Visit visit, void* context) {
  char path[PATH_MAX];
  char absolute[PATH_MAX];
  while (next_folder(list, path))
    if (path[0] != '/' && realpath(path, absolute) != nullptr && visit(context, absolute))
      return true;
  return false;
}

bool visit_loader_cache(const char* cache_file, Visit visit, void* context) {
  const UniqueFd fd(open(cache_file, O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (!fd.valid() || fstat(fd.get(), &info) != 0 || info.st_size <= 0) return false;
  const auto bytes = static_cast<size_t>(info.st_size);
  void* mapping = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (mapping == MAP_FAILED) return false;
  const bool found = visit_cache_entries(static_cast<const char*>(mapping), bytes, visit, context);
  munmap(mapping, bytes);
  return found;
}

void note_asked_path(const char* file) {
  if (asked_path.load(std::memory_order_relaxed) != nullptr) return;
  char path[PATH_MAX];
  if (strchr(file, '/') == nullptr || realpath(file, path) == nullptr) return;
  const char* copy = strdup(path);
  const char* none = nullptr;
  // Pairs with visit_asked_path(). A few bytes are lost if two threads come first at once.
  asked_path.compare_exchange_strong(none, copy, std::memory_order_release);
}

bool visit_driver_candidates(Visit visit, void* context) {
  const char* named = getenv("GACER_REAL_LIBCUDA");
  if (named != nullptr && named[0] != '\0') return visit(context, named);
  return visit_asked_path(visit, context) || visit_run_paths(RunPath::kRpath, visit, context) ||
         visit_path_list(getenv("LD_LIBRARY_PATH"), visit, context) ||
         visit_relative_folders(getenv("LD_LIBRARY_PATH"), visit, context) ||
         visit_run_paths(RunPath::kRunpath, visit, context) ||
         visit_loader_cache("/etc/ld.so.cache", visit, context) ||
         visit_path_list(kFolders, visit, context);
}

}  // namespace gacer::interpose
