// SPDX-License-Identifier: Apache-2.0
// Sections and symbols of a 64-bit little-endian ELF image whose bytes are not trusted: nothing is
// read out of bounds, whatever the headers say. Views point into the image, which must outlive
// them.
#pragma once

#include <elf.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace gacer::simdevice {

struct ElfSection {
  std::string_view name;
  Elf64_Shdr header{};
  std::span<const uint8_t> bytes;  // empty when it takes no room in the file (SHT_NOBITS)
};

struct ElfSymbol {
  std::string_view name;
  Elf64_Sym symbol{};
};

class ElfView {
 public:
  // nullopt: not such an image, or a header reaches beyond its end.
  static std::optional<ElfView> open(std::span<const uint8_t> image);

  const Elf64_Ehdr& header() const { return header_; }
  const std::vector<ElfSection>& sections() const { return sections_; }
  const ElfSection* section(std::string_view name) const;
  // Of the first symbol table; indices as in the file. Empty when there is none.
  std::vector<ElfSymbol> symbols() const;

 private:
  std::string_view text_at(std::span<const uint8_t> table, uint64_t offset) const;
  Elf64_Ehdr header_{};
  std::vector<ElfSection> sections_;
};

inline constexpr uint16_t kMachineCuda = 190;  // e_machine of GPU code

bool is_elf(std::span<const uint8_t> image);

// Size of an ELF image in this process's own memory, by its headers (which are trusted); 0: it is
// not machine code of a GPU.
uint64_t elf_bytes_in_memory(const void* image);

}  // namespace gacer::simdevice
