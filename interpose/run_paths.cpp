// SPDX-License-Identifier: Apache-2.0
#include "interpose/run_paths.h"

#include <link.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstring>
#include <initializer_list>

namespace gacer::interpose {
namespace {

struct Wanted {
  size_t index;
  RunPath kind;
  const char* library;
  char* list;
  size_t bytes;
};

// What the loader keeps of an object's dynamic section.
struct Dynamic {
  const ElfW(Dyn) * first = nullptr;
  const char* strings = nullptr;
};

Dynamic dynamic_of(const dl_phdr_info& object) {
  Dynamic dynamic;
  for (int i = 0; i < object.dlpi_phnum; ++i)
    if (object.dlpi_phdr[i].p_type == PT_DYNAMIC)
      dynamic.first = reinterpret_cast<const ElfW(Dyn)*>(  // NOLINT: an address of the loader's
          object.dlpi_addr + object.dlpi_phdr[i].p_vaddr);
  for (const auto* row = dynamic.first; row != nullptr && row->d_tag != DT_NULL; ++row)
    if (row->d_tag == DT_STRTAB)
      // The loader relocates it in place, except in the kernel's own object.
      dynamic.strings = reinterpret_cast<const char*>(  // NOLINT: as above
          row->d_un.d_ptr < object.dlpi_addr ? object.dlpi_addr + row->d_un.d_ptr
                                             : row->d_un.d_ptr);
  return dynamic;
}

const char* text_of(const Dynamic& dynamic, ElfW(Sxword) tag) {
  for (const auto* row = dynamic.first; row->d_tag != DT_NULL; ++row)
    if (row->d_tag == tag) return dynamic.strings + row->d_un.d_val;
  return nullptr;
}

bool needs(const Dynamic& dynamic, const char* library) {
  for (const auto* row = dynamic.first; row->d_tag != DT_NULL; ++row)
    if (row->d_tag == DT_NEEDED && strcmp(dynamic.strings + row->d_un.d_val, library) == 0)
      return true;
  return false;
}

const char* folder_list(const Dynamic& dynamic, RunPath kind) {
  const char* runpath = text_of(dynamic, DT_RUNPATH);
  if (kind == RunPath::kRunpath) return runpath;
  return runpath == nullptr ? text_of(dynamic, DT_RPATH) : nullptr;
}

void origin_of(const dl_phdr_info& object, char (&folder)[PATH_MAX]) {
  ssize_t length = 0;
  if (object.dlpi_name == nullptr || object.dlpi_name[0] == '\0')
    length = readlink("/proc/self/exe", folder, sizeof folder - 1);
  else
    length = snprintf(folder, sizeof folder, "%s", object.dlpi_name);
  folder[length > 0 && length < PATH_MAX ? length : 0] = '\0';
  char* slash = strrchr(folder, '/');
  if (slash != nullptr) *slash = '\0';
}

void copy_list(const dl_phdr_info& object, const Dynamic& dynamic, const Wanted& wanted) {
  wanted.list[0] = '\0';
  const char* text = folder_list(dynamic, wanted.kind);
  char origin[PATH_MAX];
  origin_of(object, origin);
  if (text != nullptr && !expand_origin(text, origin, wanted.list, wanted.bytes))
    wanted.list[0] = '\0';
}

int visit(dl_phdr_info* object, size_t, void* context) {
  auto& wanted = *static_cast<Wanted*>(context);
  const Dynamic dynamic = dynamic_of(*object);
  if (dynamic.strings == nullptr) return 0;
  const bool main_program = object->dlpi_name == nullptr || object->dlpi_name[0] == '\0';
  if (!main_program && !needs(dynamic, wanted.library)) return 0;
  if (wanted.index-- != 0) return 0;
  copy_list(*object, dynamic, wanted);
  return 1;
}

// Appends to a list that has room for `bytes`.
class Writer {
 public:
  Writer(char* list, size_t bytes) : list_(list), bytes_(bytes) { list_[0] = '\0'; }
  void add(const char* text, size_t length) {
    fits_ = fits_ && used_ + length < bytes_;
    if (!fits_) return;
    memcpy(list_ + used_, text, length);
    used_ += length;
    list_[used_] = '\0';
  }
  bool fits() const { return fits_; }
  size_t used() const { return used_; }
  void cut_back(size_t used) {
    used_ = used;
    list_[used_] = '\0';
  }

 private:
  char* list_;
  size_t bytes_;
  size_t used_ = 0;
  bool fits_ = true;
};

size_t origin_word(const char* text) {
  for (const char* word : {"$ORIGIN", "${ORIGIN}"})
    if (strncmp(text, word, strlen(word)) == 0) return strlen(word);
  return 0;
}

// False: the folder has a '$' of another meaning.
bool add_folder(Writer& writer, const char* folder, size_t length, const char* origin) {
  for (size_t i = 0; i < length;) {
    const size_t word = folder[i] == '$' ? origin_word(folder + i) : 0;
    if (folder[i] == '$' && word == 0) return false;
    if (word != 0)
      writer.add(origin, strlen(origin));
    else
      writer.add(folder + i, 1);
    i += word != 0 ? word : 1;
  }
  return true;
}

}  // namespace

bool expand_origin(const char* text, const char* origin, char* list, size_t bytes) {
  Writer writer(list, bytes);
  while (*text != '\0') {
    const size_t length = strcspn(text, ":");
    const size_t before = writer.used();
    if (before > 0) writer.add(":", 1);
    if (!add_folder(writer, text, length, origin)) writer.cut_back(before);
    text += length + (text[length] != '\0' ? 1 : 0);
  }
  return writer.fits();
}

bool run_path_of(size_t index, RunPath kind, const char* library, char* list, size_t bytes) {
  Wanted wanted{index, kind, library, list, bytes};
  return dl_iterate_phdr(&visit, &wanted) != 0;
}

}  // namespace gacer::interpose
