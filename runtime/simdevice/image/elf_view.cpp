// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/image/elf_view.h"

#include <algorithm>
#include <cstring>

namespace gacer::simdevice {
namespace {

template <typename T>
T read_at(std::span<const uint8_t> bytes, uint64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

bool fits(std::span<const uint8_t> image, uint64_t offset, uint64_t bytes) {
  return offset <= image.size() && bytes <= image.size() - offset;
}

}  // namespace

bool is_elf(std::span<const uint8_t> image) {
  return image.size() >= SELFMAG && std::memcmp(image.data(), ELFMAG, SELFMAG) == 0;
}

std::string_view ElfView::text_at(std::span<const uint8_t> table, uint64_t offset) const {
  if (offset >= table.size()) return {};
  const char* text = reinterpret_cast<const char*>(table.data()) + offset;
  return {text, ::strnlen(text, table.size() - offset)};
}

std::optional<ElfView> ElfView::open(std::span<const uint8_t> image) {
  if (!is_elf(image) || image.size() < sizeof(Elf64_Ehdr)) return std::nullopt;
  ElfView view;
  view.header_ = read_at<Elf64_Ehdr>(image, 0);
  const Elf64_Ehdr& header = view.header_;
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      (header.e_shnum != 0 && header.e_shentsize != sizeof(Elf64_Shdr)) ||
      !fits(image, header.e_shoff, uint64_t{header.e_shnum} * sizeof(Elf64_Shdr)))
    return std::nullopt;
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    ElfSection section;
    section.header = read_at<Elf64_Shdr>(image, header.e_shoff + i * sizeof(Elf64_Shdr));
    const bool in_file = section.header.sh_type != SHT_NOBITS && section.header.sh_type != SHT_NULL;
    if (in_file && !fits(image, section.header.sh_offset, section.header.sh_size))
      return std::nullopt;
    if (in_file) section.bytes = image.subspan(section.header.sh_offset, section.header.sh_size);
    view.sections_.push_back(section);
  }
  if (header.e_shstrndx >= view.sections_.size()) return view;
  const auto names = view.sections_[header.e_shstrndx].bytes;
  for (ElfSection& section : view.sections_)
    section.name = view.text_at(names, section.header.sh_name);
  return view;
}

const ElfSection* ElfView::section(std::string_view name) const {
  const auto found = std::find_if(sections_.begin(), sections_.end(),
                                  [&](const ElfSection& s) { return s.name == name; });
  return found == sections_.end() ? nullptr : &*found;
}

std::vector<ElfSymbol> ElfView::symbols() const {
  const auto table = std::find_if(sections_.begin(), sections_.end(), [](const ElfSection& s) {
    return s.header.sh_type == SHT_SYMTAB;
  });
  if (table == sections_.end() || table->header.sh_link >= sections_.size()) return {};
  const auto names = sections_[table->header.sh_link].bytes;
  std::vector<ElfSymbol> symbols(table->bytes.size() / sizeof(Elf64_Sym));
  for (size_t i = 0; i < symbols.size(); ++i) {
    symbols[i].symbol = read_at<Elf64_Sym>(table->bytes, i * sizeof(Elf64_Sym));
    symbols[i].name = text_at(names, symbols[i].symbol.st_name);
  }
  return symbols;
}

uint64_t elf_bytes_in_memory(const void* image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof header);
  const bool whole = std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
                     header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ehsize == sizeof header &&
                     header.e_machine == kMachineCuda && header.e_shentsize == sizeof(Elf64_Shdr);
  if (!whole) return 0;
  uint64_t end = std::max<uint64_t>(sizeof header,
                                    header.e_shoff + uint64_t{header.e_shnum} * sizeof(Elf64_Shdr));
  end = std::max(end, header.e_phoff + uint64_t{header.e_phnum} * header.e_phentsize);
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, static_cast<const uint8_t*>(image) + header.e_shoff + i * sizeof section,
                sizeof section);
    if (section.sh_type != SHT_NOBITS) end = std::max(end, section.sh_offset + section.sh_size);
  }
  return end;
}

}  // namespace gacer::simdevice
