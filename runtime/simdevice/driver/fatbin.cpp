// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/fatbin.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "runtime/simdevice/driver/cuda_api.h"
#include "runtime/simdevice/driver/decompress.h"
#include "runtime/simdevice/image/cubin.h"
#include "runtime/simdevice/image/elf_view.h"
#include "runtime/simdevice/image/ptx_linker.h"

namespace gacer::simdriver {
namespace {

constexpr uint32_t kWrapperMagic = 0x466243b1;
constexpr uint32_t kContainerMagic = 0xBA55ED50;
constexpr uint32_t kElfMagic = 0x464c457f;
constexpr uint32_t kWrapperOfLinked = 2;  // version of a wrapper that has `prelinked`
constexpr uint16_t kKindPtx = 1;
constexpr uint16_t kKindCode = 2;
constexpr uint16_t kKindLtoIr = 8;
constexpr uint64_t kFlagLz4 = 0x2000;
constexpr uint64_t kFlagZstd = 0x8000;
constexpr uint64_t kFlagExactArch = 0x100000;  // sm_90a
constexpr uint64_t kFlagFamily = 0x200000;     // sm_100f
// Larger is taken for a damaged header; the largest PTX of a shipped library is a few MiB.
constexpr uint64_t kMaxImageBytes = 256ULL << 20;

struct Wrapper {
  uint32_t magic;
  uint32_t version;
  const void* container;
  const void* const* prelinked;  // containers up to a null
};

struct ContainerHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t header_bytes;
  uint64_t payload_bytes;
};

struct EntryHeader {
  uint16_t kind;
  uint16_t version;
  uint32_t header_bytes;
  uint64_t padded_bytes;  // from the end of this header to the next entry
  uint32_t compressed_bytes;
  uint32_t options_offset;
  uint16_t minor;
  uint16_t major;
  uint32_t sm;
  uint32_t name_offset;
  uint32_t name_bytes;
  uint64_t flags;
  uint64_t reserved;
  uint64_t content_bytes;  // uncompressed; 0 when stored plain
};
static_assert(sizeof(ContainerHeader) == 16 && sizeof(EntryHeader) == 64);

template <typename T>
T read(const void* from) {
  T value;
  memcpy(&value, from, sizeof value);
  return value;
}

Error bad_image(const std::string& what) {
  return Error{CUDA_ERROR_INVALID_IMAGE, "fat binary: " + what};
}

struct Entry {
  EntryHeader header;
  std::span<const uint8_t> payload;
};

// The entry at the front of `rest`, which is moved behind it; nullopt when it does not fit.
std::optional<Entry> next_entry(std::span<const uint8_t>& rest) {
  if (rest.size() < sizeof(EntryHeader)) return std::nullopt;
  Entry entry{read<EntryHeader>(rest.data()), {}};
  const uint64_t header_bytes = entry.header.header_bytes;
  if (header_bytes < sizeof(EntryHeader) || header_bytes > rest.size()) return std::nullopt;
  if (entry.header.padded_bytes > rest.size() - header_bytes) return std::nullopt;
  entry.payload = rest.subspan(header_bytes, entry.header.padded_bytes);
  rest = rest.subspan(header_bytes + entry.header.padded_bytes);
  return entry;
}

Result<std::string> content(const Entry& entry) {
  const EntryHeader& header = entry.header;
  if ((header.flags & (kFlagLz4 | kFlagZstd)) == 0)
    return std::string(reinterpret_cast<const char*>(entry.payload.data()), entry.payload.size());
  if (header.compressed_bytes > entry.payload.size() || header.content_bytes > kMaxImageBytes)
    return bad_image("a compressed image is larger than its entry");
  const auto input = entry.payload.first(header.compressed_bytes);
  std::string text;
  const bool ok = (header.flags & kFlagZstd) != 0
                      ? decompress_zstd(input, header.content_bytes, text)
                      : decompress_lz4(input, header.content_bytes, text);
  if (!ok) return bad_image("an image does not decompress");
  return text;
}

// Up to the first NUL; nvcc pads in front with newlines and behind with NULs.
std::string trimmed(std::string text) {
  text.resize(strnlen(text.data(), text.size()));
  return text;
}

bool ptx_runs_on(const EntryHeader& header, uint32_t device_sm) {
  if ((header.flags & kFlagExactArch) != 0) return header.sm == device_sm;
  if ((header.flags & kFlagFamily) != 0) return simdevice::code_runs_on(header.sm, device_sm);
  return header.sm <= device_sm;
}

std::string description(const EntryHeader& header) {
  const char* kind = header.kind == kKindPtx     ? " PTX sm_"
                     : header.kind == kKindLtoIr ? " LTO-IR sm_"
                                                 : " code sm_";
  const char* suffix = (header.flags & kFlagExactArch) != 0 ? "a"
                       : (header.flags & kFlagFamily) != 0  ? "f"
                                                            : "";
  return kind + std::to_string(header.sm) + suffix;
}

// What a container has for the device.
class Choice {
 public:
  explicit Choice(int sm) : sm_(static_cast<uint32_t>(sm)) {}

  void consider(const Entry& entry) {
    const EntryHeader& header = entry.header;
    seen_ += description(header);
    has_lto_ir_ = has_lto_ir_ || header.kind == kKindLtoIr;
    if (header.kind == kKindPtx && ptx_runs_on(header, sm_)) take_newer(ptx_, entry);
    const bool exact = (header.flags & kFlagExactArch) == 0 || header.sm == sm_;
    if (header.kind == kKindCode && exact && simdevice::code_runs_on(header.sm, sm_))
      take_newer(code_, entry);
  }

  Result<std::string> image() const {
    if (ptx_) return text_of(*ptx_);
    if (code_) return content(*code_);
    if (has_lto_ir_)
      return Error{CUDA_ERROR_JIT_COMPILER_NOT_FOUND,
                   "LTO-IR needs the compiler of nvJitLink, which the simulated device has not: "
                   "embed PTX too (-gencode arch=compute_NN,code=compute_NN); image has:" +
                       seen_};
    return Error{CUDA_ERROR_NO_BINARY_FOR_GPU,
                 "neither PTX for sm_" + std::to_string(sm_) +
                     " or below nor machine code for it; image has:" + seen_};
  }

 private:
  static void take_newer(std::optional<Entry>& best, const Entry& entry) {
    if (!best || entry.header.sm > best->header.sm) best = entry;
  }
  static Result<std::string> text_of(const Entry& entry) {
    auto text = content(entry);
    if (!text.ok()) return text.error();
    return trimmed(std::move(text).value());
  }

  uint32_t sm_;
  std::optional<Entry> ptx_, code_;
  std::string seen_;
  bool has_lto_ir_ = false;
};

// The PTX of all parts that nvcc linked into the machine code beside them, linked again.
Result<std::string> relink(const void* const* parts, int sm) {
  simdevice::PtxLinker linker;
  for (size_t i = 0; parts[i] != nullptr; ++i) {
    auto part = image_in_memory(parts[i], sm);
    if (!part.ok()) return part.error();
    if (is_machine_code(*part)) return part;
    const Status added = linker.add(*part, "linked part " + std::to_string(i));
    if (!added) return Error{CUDA_ERROR_INVALID_PTX, added.error().message};
  }
  auto text = linker.finish();
  if (!text.ok()) return Error{CUDA_ERROR_INVALID_PTX, text.error().message};
  return text;
}

Result<std::string> image_of_wrapper(const Wrapper& wrapper, int sm) {
  if (wrapper.container == nullptr || read<uint32_t>(wrapper.container) != kContainerMagic)
    return bad_image("the wrapper points to no container");
  auto image = image_in_memory(wrapper.container, sm);
  const bool linked = wrapper.version == kWrapperOfLinked && wrapper.prelinked != nullptr;
  if (!linked || (image.ok() && !is_machine_code(*image))) return image;
  auto ptx = relink(wrapper.prelinked, sm);
  return ptx.ok() && !is_machine_code(*ptx) ? ptx : image;
}

}  // namespace

Result<std::string> image_of_entries(std::span<const uint8_t> entries, int sm) {
  Choice choice(sm);
  for (std::span<const uint8_t> rest = entries; !rest.empty();) {
    const auto entry = next_entry(rest);
    if (!entry) return bad_image("an entry reaches beyond the end");
    choice.consider(*entry);
  }
  return choice.image();
}

Result<std::string> image_in_memory(const void* image, int sm) {
  const auto* bytes = static_cast<const uint8_t*>(image);
  // Byte by byte: a PTX text may be shorter than a header.
  const std::string_view start(static_cast<const char*>(image),
                               strnlen(static_cast<const char*>(image), 4));
  if (start.size() < 4)
    return Error{CUDA_ERROR_INVALID_IMAGE, "neither PTX text, machine code nor a fat binary"};
  const uint32_t magic = read<uint32_t>(image);
  if (magic == kWrapperMagic) return image_of_wrapper(read<Wrapper>(image), sm);
  if (magic == kContainerMagic) {
    const auto header = read<ContainerHeader>(image);
    return image_of_entries({bytes + header.header_bytes, header.payload_bytes}, sm);
  }
  if (magic == kElfMagic) {
    const uint64_t size = simdevice::elf_bytes_in_memory(image);
    if (size == 0)
      return Error{CUDA_ERROR_INVALID_IMAGE, "an ELF image, but not of machine code for a GPU"};
    return std::string(reinterpret_cast<const char*>(bytes), size);
  }
  return std::string(static_cast<const char*>(image));
}

namespace {

// The container at the front of `rest`, which is moved behind it; nullopt: there is none whole.
std::optional<std::span<const uint8_t>> next_container(std::span<const uint8_t>& rest) {
  if (rest.size() < sizeof(ContainerHeader)) return std::nullopt;
  const auto header = read<ContainerHeader>(rest.data());
  if (header.magic != kContainerMagic || header.header_bytes < sizeof(ContainerHeader) ||
      header.header_bytes > rest.size() || header.payload_bytes > rest.size() - header.header_bytes)
    return std::nullopt;
  const auto entries = rest.subspan(header.header_bytes, header.payload_bytes);
  rest = rest.subspan(header.header_bytes + header.payload_bytes);
  return entries;
}

}  // namespace

Result<std::string> image_in_bytes(std::span<const uint8_t> image, int sm) {
  if (image.size() >= 4 && read<uint32_t>(image.data()) == kContainerMagic) {
    const auto entries = next_container(image);
    return entries ? image_of_entries(*entries, sm) : bad_image("cut short");
  }
  const std::string text(reinterpret_cast<const char*>(image.data()), image.size());
  if (simdevice::is_elf(image)) return text;
  // A wrapper holds pointers and means nothing outside the process that has it.
  if (text.size() >= 4 && read<uint32_t>(text.data()) == kWrapperMagic)
    return bad_image("a wrapper without memory");
  return image_in_memory(text.c_str(), sm);
}

Result<std::vector<std::string>> images_of_section(std::span<const uint8_t> section, int sm) {
  std::vector<std::string> images;
  while (!section.empty()) {
    const auto entries = next_container(section);
    if (!entries) return bad_image("a container is cut short");
    auto image = image_of_entries(*entries, sm);
    if (!image.ok()) return image.error();
    images.push_back(std::move(image).value());
    // Containers begin at multiples of eight.
    while (!section.empty() && section.front() == 0) section = section.subspan(1);
  }
  return images;
}

}  // namespace gacer::simdriver
