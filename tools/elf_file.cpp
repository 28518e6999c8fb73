// SPDX-License-Identifier: Apache-2.0
#include "tools/elf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>
#include <optional>

#include "runtime/base/unique_fd.h"

namespace gacer::tools {
namespace {

class Mapping {
 public:
  static Result<Mapping> open(const std::string& path) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat info {};
    if (!fd.valid() || fstat(fd.get(), &info) != 0)
      return Error{errno, path + ": " + strerror(errno)};
    if (!S_ISREG(info.st_mode) || info.st_size == 0)
      return Error{ENOEXEC, path + ": not a program"};
    const auto bytes = static_cast<size_t>(info.st_size);
    void* data = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (data == MAP_FAILED) return Error{errno, path + ": " + strerror(errno)};
    return Mapping(static_cast<const char*>(data), bytes);
  }
  Mapping(Mapping&& other) noexcept : data_(other.data_), bytes_(other.bytes_) {
    other.data_ = nullptr;
  }
  Mapping& operator=(Mapping&&) = delete;
  ~Mapping() {
    if (data_ != nullptr) munmap(const_cast<char*>(data_), bytes_);
  }

  // A copy, since nothing in the file has to be aligned.
  template <typename T>
  std::optional<T> read(uint64_t offset) const {
    if (offset > bytes_ || sizeof(T) > bytes_ - offset) return std::nullopt;
    T value;
    memcpy(&value, data_ + offset, sizeof value);
    return value;
  }
  std::string text(uint64_t offset) const {
    if (offset >= bytes_) return "";
    return std::string(data_ + offset, strnlen(data_ + offset, bytes_ - offset));
  }
  size_t bytes() const { return bytes_; }

 private:
  Mapping(const char* data, size_t bytes) : data_(data), bytes_(bytes) {}
  const char* data_;
  size_t bytes_;
};

class Reader {
 public:
  Reader(const Mapping& file, const Elf64_Ehdr& header) : file_(file), header_(header) {}

  void read_into(ElfFile& elf) {
    read_segments(elf);
    if (dynamic_) read_dynamic(elf);
    read_sections(elf);
  }

 private:
  std::optional<uint64_t> offset_of(uint64_t address) const {
    for (const Elf64_Phdr& load : loads_)
      if (address >= load.p_vaddr && address - load.p_vaddr < load.p_filesz)
        return load.p_offset + (address - load.p_vaddr);
    return std::nullopt;
  }

  void read_segments(ElfFile& elf) {
    for (uint32_t i = 0; i < header_.e_phnum; ++i) {
      const auto segment =
          file_.read<Elf64_Phdr>(header_.e_phoff + uint64_t{i} * sizeof(Elf64_Phdr));
      if (!segment) return;
      if (segment->p_type == PT_LOAD) loads_.push_back(*segment);
      if (segment->p_type == PT_INTERP) elf.interpreter = file_.text(segment->p_offset);
      if (segment->p_type == PT_DYNAMIC) dynamic_ = *segment;
    }
    elf.is_dynamic = dynamic_.has_value();
  }

  void read_dynamic(ElfFile& elf) {
    std::vector<Elf64_Dyn> entries;
    const uint64_t count = dynamic_->p_filesz / sizeof(Elf64_Dyn);
    for (uint64_t i = 0; i < count; ++i) {
      const auto entry = file_.read<Elf64_Dyn>(dynamic_->p_offset + i * sizeof(Elf64_Dyn));
      if (!entry || entry->d_tag == DT_NULL) break;
      entries.push_back(*entry);
      values_[entry->d_tag] = entry->d_un.d_val;
    }
    strings_ = offset_of(values_[DT_STRTAB]).value_or(file_.bytes());
    for (const Elf64_Dyn& entry : entries)
      if (entry.d_tag == DT_NEEDED) elf.needed.push_back(string(entry.d_un.d_val));
    if (values_.count(DT_SONAME) != 0) elf.soname = string(values_[DT_SONAME]);
    if (values_.count(DT_RPATH) != 0) elf.rpath = string(values_[DT_RPATH]);
    if (values_.count(DT_RUNPATH) != 0) elf.runpath = string(values_[DT_RUNPATH]);
    read_needed_versions(elf);
  }

  std::string string(uint64_t index) const { return file_.text(strings_ + index); }

  // The chains are bounded by the counts that the file gives, and those by its size.
  void read_needed_versions(ElfFile& elf) {
    auto at = offset_of(values_[DT_VERNEED]);
    const uint64_t files = std::min<uint64_t>(values_[DT_VERNEEDNUM], file_.bytes());
    for (uint64_t i = 0; at && i < files; ++i) {
      const auto need = file_.read<Elf64_Verneed>(*at);
      if (!need) return;
      uint64_t aux_at = *at + need->vn_aux;
      for (uint32_t k = 0; k < need->vn_cnt; ++k) {
        const auto aux = file_.read<Elf64_Vernaux>(aux_at);
        if (!aux) return;
        elf.needed_versions.push_back(string(aux->vna_name));
        if (aux->vna_next == 0) break;
        aux_at += aux->vna_next;
      }
      if (need->vn_next == 0) return;
      *at += need->vn_next;
    }
  }

  void read_sections(ElfFile& elf) {
    const auto names = section(header_.e_shstrndx);
    for (uint32_t i = 0; i < header_.e_shnum; ++i) {
      const auto one = section(i);
      if (!one) return;
      if (names && file_.text(names->sh_offset + one->sh_name) == ".nv_fatbin")
        elf.has_gpu_code = true;
      if (one->sh_type == SHT_DYNSYM) read_functions(*one, elf);
    }
  }

  std::optional<Elf64_Shdr> section(uint32_t index) const {
    return file_.read<Elf64_Shdr>(header_.e_shoff + uint64_t{index} * sizeof(Elf64_Shdr));
  }

  void read_functions(const Elf64_Shdr& table, ElfFile& elf) {
    const auto strings = section(table.sh_link);
    if (!strings) return;
    const uint64_t count = std::min<uint64_t>(table.sh_size, file_.bytes()) / sizeof(Elf64_Sym);
    for (uint64_t i = 0; i < count; ++i) {
      const auto symbol = file_.read<Elf64_Sym>(table.sh_offset + i * sizeof(Elf64_Sym));
      if (!symbol) return;
      const unsigned type = ELF64_ST_TYPE(symbol->st_info);
      if (symbol->st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_GNU_IFUNC))
        elf.functions.push_back(file_.text(strings->sh_offset + symbol->st_name));
    }
  }

  const Mapping& file_;
  const Elf64_Ehdr& header_;
  std::vector<Elf64_Phdr> loads_;
  std::optional<Elf64_Phdr> dynamic_;
  std::map<int64_t, uint64_t> values_;
  uint64_t strings_ = 0;
};

// Reads "12" of "12.3" and moves past the dot.
uint64_t next_number(std::string_view& text) {
  uint64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<size_t>(parsed.ptr - text.data()));
  if (!text.empty()) text.remove_prefix(1);
  return number;
}

}  // namespace

Result<ElfFile> read_elf(const std::string& path) {
  const auto file = Mapping::open(path);
  if (!file) return file.error();
  const auto header = file->read<Elf64_Ehdr>(0);
  const auto ident = file->read<Elf32_Ehdr>(0);
  if (!ident || memcmp(ident->e_ident, ELFMAG, SELFMAG) != 0)
    return Error{ENOEXEC, path + ": not an ELF file"};
  ElfFile elf;
  elf.machine = ident->e_machine;
  elf.is_64_bit = ident->e_ident[EI_CLASS] == ELFCLASS64;
  if (!elf.is_64_bit || ident->e_ident[EI_DATA] != ELFDATA2LSB) return elf;
  if (!header) return Error{ENOEXEC, path + ": cut off"};
  elf.has_entry = header->e_entry != 0;
  Reader(*file, *header).read_into(elf);
  return elf;
}

bool version_less(const std::string& a, const std::string& b) {
  std::string_view left = a;
  std::string_view right = b;
  while (!left.empty() || !right.empty()) {
    const uint64_t x = next_number(left);
    const uint64_t y = next_number(right);
    if (x != y) return x < y;
  }
  return false;
}

std::string greatest_version(const std::vector<std::string>& versions, const std::string& prefix) {
  std::string greatest;
  for (const std::string& version : versions) {
    if (version.rfind(prefix, 0) != 0) continue;
    const std::string number = version.substr(prefix.size());
    if (version_less(greatest, number)) greatest = number;
  }
  return greatest;
}

}  // namespace gacer::tools
