// SPDX-License-Identifier: Apache-2.0
// libgcc's unwinder, which is linked into the preload library, finds unwind tables through
// _dl_find_object where the build machine's glibc has it (2.35). The same answer by a function that
// every glibc has, so that the library loads on older ones. Linked into libgacer.so only, hidden.
#include <dlfcn.h>
#include <link.h>

#include <cstdint>

#ifdef DLFO_EH_SEGMENT_TYPE

namespace {

struct Search {
  uintptr_t address;
  dl_find_object* result;
};

void* at(const dl_phdr_info& object, ElfW(Addr) offset) {
  return reinterpret_cast<void*>(object.dlpi_addr + offset);  // NOLINT: an address of the loader's
}

bool holds(const dl_phdr_info& object, const ElfW(Phdr) & segment, uintptr_t address) {
  const uintptr_t start = object.dlpi_addr + segment.p_vaddr;
  return segment.p_type == PT_LOAD && address >= start && address - start < segment.p_memsz;
}

int visit(dl_phdr_info* object, size_t, void* context) {
  auto& search = *static_cast<Search*>(context);
  bool found = false;
  dl_find_object result{};
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type == DLFO_EH_SEGMENT_TYPE) result.dlfo_eh_frame = at(*object, segment.p_vaddr);
    if (!holds(*object, segment, search.address)) continue;
    found = true;
    result.dlfo_map_start = at(*object, segment.p_vaddr);
    result.dlfo_map_end = at(*object, segment.p_vaddr + segment.p_memsz);
  }
  if (!found || result.dlfo_eh_frame == nullptr) return 0;
  *search.result = result;
  return 1;
}

}  // namespace

extern "C" int _dl_find_object(void* address, dl_find_object* result) noexcept {
  Search search{reinterpret_cast<uintptr_t>(address), result};
  return dl_iterate_phdr(&visit, &search) != 0 ? 0 : -1;
}

#endif
