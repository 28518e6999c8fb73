// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/image/cubin.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>

#include "runtime/simdevice/image/elf_view.h"

namespace gacer::simdevice {
namespace {

constexpr uint8_t kEntrySymbol = 0x10;
constexpr uint8_t kManagedSymbol = 0x04;
constexpr uint32_t kReservedSmemBytes = 1024;  // of each block from sm_90 on, counted by the image
constexpr uint32_t kMostParamBytes = 32764;

// Formats of an attribute of .nv.info and the attributes that are read.
enum Format : uint8_t { kNoValue = 1, kByte = 2, kHalf = 3, kSized = 4 };
enum Attribute : uint8_t {
  kMaxThreads = 0x05,
  kReqThreads = 0x10,
  kFrameSize = 0x11,
  kMinStackSize = 0x12,
  kParam = 0x17,
  kParamBytes = 0x19,
  kRegCount = 0x2f,
  kParamV2 = 0x45
};

template <typename T>
T word(std::span<const uint8_t> bytes, size_t offset) {
  T value{};
  if (offset + sizeof value <= bytes.size())
    std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// Calls visit(attribute, half value, payload) for each attribute; false when the list is broken.
template <typename Visit>
bool for_each_attribute(std::span<const uint8_t> info, const Visit& visit) {
  while (!info.empty()) {
    if (info.size() < 4) return false;
    const uint8_t format = info[0];
    const uint16_t half = word<uint16_t>(info, 2);
    const size_t payload = format == kSized ? half : 0;
    if (format < kNoValue || format > kSized || info.size() - 4 < payload) return false;
    visit(info[1], half, info.subspan(4, payload));
    info = info.subspan(4 + payload);
  }
  return true;
}

class Reader {
 public:
  explicit Reader(const ElfView& elf) : elf_(elf), symbols_(elf.symbols()) {}

  // nullptr: read.
  const char* read(Cubin& out) {
    out.relocatable = elf_.header().e_type == ET_REL;
    const uint32_t flags = elf_.header().e_flags;
    // Since ABI 8 (CUDA 13) the lowest byte is something else.
    out.sm = elf_.header().e_ident[EI_ABIVERSION] >= 8 ? flags >> 8 & 0xff : flags & 0xff;
    read_kernels(out);
    if (!read_module_info(out)) return "its .nv.info is broken";
    for (CubinKernel& kernel : out.kernels)
      if (!read_kernel_info(kernel)) return "the .nv.info of a kernel is broken";
    if (!read_globals(out)) return "its variables are larger than the image";
    read_relocations(out);
    return nullptr;
  }

 private:
  void read_kernels(Cubin& out) {
    kernel_of_symbol_.assign(symbols_.size(), -1);
    for (size_t i = 0; i < symbols_.size(); ++i) {
      const Elf64_Sym& symbol = symbols_[i].symbol;
      const bool entry = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC &&
                         (symbol.st_other & kEntrySymbol) != 0 && symbol.st_shndx != SHN_UNDEF;
      if (!entry || symbols_[i].name.empty()) continue;
      kernel_of_symbol_[i] = static_cast<int>(out.kernels.size());
      CubinKernel kernel;
      kernel.name = symbols_[i].name;
      if (const ElfSection* shared = elf_.section(".nv.shared." + kernel.name)) {
        const uint64_t reserved = out.sm >= 90 ? kReservedSmemBytes : 0;
        const uint64_t bytes = std::max(shared->header.sh_size, reserved) - reserved;
        kernel.static_smem_bytes =
            static_cast<uint32_t>(std::min<uint64_t>(bytes, std::numeric_limits<int32_t>::max()));
      }
      out.kernels.push_back(std::move(kernel));
    }
  }

  bool read_module_info(Cubin& out) {
    const ElfSection* info = elf_.section(".nv.info");
    if (info == nullptr) return true;
    return for_each_attribute(info->bytes, [&](uint8_t attribute, uint16_t, auto payload) {
      const uint32_t symbol = word<uint32_t>(payload, 0);
      const uint32_t value = word<uint32_t>(payload, 4);
      if (symbol >= kernel_of_symbol_.size() || kernel_of_symbol_[symbol] < 0) return;
      CubinKernel& kernel = out.kernels[static_cast<size_t>(kernel_of_symbol_[symbol])];
      if (attribute == kRegCount) kernel.regs = std::min(value, 255U);
      if (attribute == kFrameSize || attribute == kMinStackSize)
        kernel.local_bytes = std::max(kernel.local_bytes, std::min(value, 512U << 10));
    });
  }

  bool read_kernel_info(CubinKernel& kernel) {
    const ElfSection* info = elf_.section(".nv.info." + kernel.name);
    if (info == nullptr) return true;
    std::vector<std::pair<uint32_t, CubinParam>> params;
    const bool read = for_each_attribute(info->bytes, [&](uint8_t attribute, uint16_t half,
                                                          auto payload) {
      if (attribute == kParam || attribute == kParamV2) {
        const uint32_t last = word<uint32_t>(payload, 8);
        params.push_back({word<uint16_t>(payload, 4),
                          {word<uint16_t>(payload, 6), attribute == kParam ? last >> 18 : last}});
      }
      if (attribute == kParamBytes) kernel.param_bytes = half;
      if (attribute == kMaxThreads || attribute == kReqThreads)
        kernel.max_threads = threads_of(payload);
    });
    std::sort(params.begin(), params.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [position, param] : params) {
      if (position != kernel.params.size() || param.bytes > kMostParamBytes) return false;
      kernel.params.push_back(param);
      kernel.param_bytes = std::max(kernel.param_bytes, param.offset + param.bytes);
    }
    return read && kernel.param_bytes <= kMostParamBytes;
  }

  static uint32_t threads_of(std::span<const uint8_t> payload) {
    uint64_t product = 1;
    for (size_t i = 0; i < 3; ++i) product *= std::min(word<uint32_t>(payload, i * 4), 1024U);
    return static_cast<uint32_t>(std::min<uint64_t>(product, 1024));
  }

  bool read_globals(Cubin& out) {
    global_of_symbol_.assign(symbols_.size(), -1);
    uint64_t copied = 0;
    for (size_t i = 0; i < symbols_.size(); ++i) {
      const Elf64_Sym& symbol = symbols_[i].symbol;
      const ElfSection* section = variable_section(symbol);
      if (section == nullptr || symbols_[i].name.empty()) continue;
      CubinGlobal global;
      global.name = symbols_[i].name;
      global.bytes = symbol.st_size;
      global.align = section->header.sh_addralign;
      global.is_const = section->name != ".nv.global" && section->name != ".nv.global.init";
      global.is_managed = (symbol.st_other & kManagedSymbol) != 0;
      if (!section->bytes.empty()) {
        const uint64_t size = section->bytes.size();
        copied += symbol.st_size;
        if (symbol.st_value > size || symbol.st_size > size - symbol.st_value ||
            copied > kMostCopied)
          return false;
        const auto from = section->bytes.subspan(symbol.st_value, symbol.st_size);
        global.initial.assign(from.begin(), from.end());
      }
      global_of_symbol_[i] = static_cast<int>(out.globals.size());
      out.globals.push_back(std::move(global));
    }
    return true;
  }

  const ElfSection* variable_section(const Elf64_Sym& symbol) const {
    if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_shndx == SHN_UNDEF ||
        symbol.st_shndx >= elf_.sections().size())
      return nullptr;
    const ElfSection& section = elf_.sections()[symbol.st_shndx];
    const bool holds = section.name == ".nv.global" || section.name == ".nv.global.init" ||
                       section.name == ".nv.constant3";
    return holds ? &section : nullptr;
  }

  // Addresses of variables inside variables. An entry without an addend has it in its place.
  void read_relocations(Cubin& out) {
    if (const ElfSection* list = elf_.section(".rela.nv.global.init"))
      read_list<Elf64_Rela>(list->bytes, out);
    if (const ElfSection* list = elf_.section(".rel.nv.global.init"))
      read_list<Elf64_Rel>(list->bytes, out);
  }

  // R_CUDA_64 (2) and R_CUDA_G64 (4).
  template <typename Entry>
  void read_list(std::span<const uint8_t> list, Cubin& out) {
    for (size_t at = 0; at + sizeof(Entry) <= list.size(); at += sizeof(Entry)) {
      const auto entry = word<Entry>(list, at);
      const uint64_t type = ELF64_R_TYPE(entry.r_info), symbol = ELF64_R_SYM(entry.r_info);
      if ((type != 2 && type != 4) || symbol >= symbols_.size() || global_of_symbol_[symbol] < 0)
        continue;
      std::optional<int64_t> addend;
      if constexpr (std::is_same_v<Entry, Elf64_Rela>) addend = entry.r_addend;
      place_relocation(out, entry.r_offset, addend,
                       static_cast<uint32_t>(global_of_symbol_[symbol]));
    }
  }

  void place_relocation(Cubin& out, uint64_t place, std::optional<int64_t> addend,
                        uint32_t target) {
    for (size_t i = 0; i < symbols_.size(); ++i) {
      if (global_of_symbol_[i] < 0) continue;
      CubinGlobal& global = out.globals[static_cast<size_t>(global_of_symbol_[i])];
      const uint64_t offset = place - symbols_[i].symbol.st_value;
      const auto room = global.initial.size();
      if (elf_.sections()[symbols_[i].symbol.st_shndx].name != ".nv.global.init" || room < 8 ||
          offset > room - 8)
        continue;
      if (addend) std::memcpy(global.initial.data() + offset, &*addend, 8);
      global.relocations.emplace_back(offset, target);
      return;
    }
  }

  static constexpr uint64_t kMostCopied = 1ULL << 30;
  const ElfView& elf_;
  std::vector<ElfSymbol> symbols_;
  std::vector<int> kernel_of_symbol_;
  std::vector<int> global_of_symbol_;
};

}  // namespace

Result<Cubin> parse_cubin(std::span<const uint8_t> image) {
  const auto elf = ElfView::open(image);
  if (!elf) return Error{EINVAL, "machine code: not a complete 64-bit ELF image"};
  if (elf->header().e_machine != kMachineCuda)
    return Error{EINVAL, "an ELF image for machine " + std::to_string(elf->header().e_machine) +
                             ", not for a GPU (190)"};
  Cubin cubin;
  if (const char* problem = Reader(*elf).read(cubin); problem != nullptr)
    return Error{EINVAL, std::string("machine code: ") + problem};
  return cubin;
}

}  // namespace gacer::simdevice
