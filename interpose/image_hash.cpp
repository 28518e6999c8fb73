// SPDX-License-Identifier: Apache-2.0
#include "interpose/image_hash.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "interpose/flat_map.h"

namespace gacer::interpose {
namespace {

// CUDA Toolkit, fatbinary_section.h: the wrapper that nvcc emits; and the header of what it points
// at.
constexpr uint32_t kWrapperMagic = 0x466243b1;
constexpr uint32_t kFatbinMagic = 0xba55ed50;
struct FatbinWrapper {
  uint32_t magic;
  uint32_t version;
  const void* data;
  void* filename_or_fatbins;
};
struct FatbinHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t header_bytes;
  uint64_t body_bytes;
};

constexpr size_t kSampleBytes = size_t{64} << 10;
constexpr size_t kMostImageBytes = size_t{1} << 40;

template <typename T>
T read_as(const void* data) {
  T value;
  memcpy(&value, data, sizeof value);
  return value;
}

// The driver has accepted the image, but what its header says of its size need not be so.
bool is_mapped(const void* address, uint64_t bytes) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t first = reinterpret_cast<uint64_t>(address) & ~(page - 1);
  uint64_t end = 0;
  if (__builtin_add_overflow(reinterpret_cast<uint64_t>(address), bytes, &end)) return false;
  unsigned char resident[kSampleBytes / 4096 + 1];  // pages are of 4 KiB at least
  if (end - first > page * sizeof resident) return false;
  return mincore(reinterpret_cast<void*>(first), end - first, resident) == 0;
}

size_t elf_bytes(const void* image) {
  const auto header = read_as<Elf64_Ehdr>(image);
  const size_t sections = header.e_shoff + size_t{header.e_shentsize} * header.e_shnum;
  const size_t programs = header.e_phoff + size_t{header.e_phentsize} * header.e_phnum;
  return std::max({sections, programs, sizeof header});
}

bool looks_like_text(const char* text) {
  for (int i = 0; i < 8 && text[i] != '\0'; ++i) {
    const char c = text[i];
    if ((c < ' ' || c > '~') && c != '\n' && c != '\t' && c != '\r') return false;
  }
  return text[0] != '\0';
}

// 0: unknown kind.
size_t image_bytes(const void* image) {
  const auto magic = read_as<uint32_t>(image);
  if (magic == kFatbinMagic && is_mapped(image, sizeof(FatbinHeader))) {
    const auto header = read_as<FatbinHeader>(image);
    return header.header_bytes + header.body_bytes;
  }
  if (memcmp(image, ELFMAG, SELFMAG) == 0)
    return is_mapped(image, sizeof(Elf64_Ehdr)) ? elf_bytes(image) : 0;
  const auto* text = static_cast<const char*>(image);
  return looks_like_text(text) ? strlen(text) : 0;
}

// NULL in, NULL out.
const void* without_wrapper(const void* image) {
  // Four bytes first: a short PTX text may end a page.
  if (image == nullptr || !is_mapped(image, sizeof(uint32_t))) return nullptr;
  if (read_as<uint32_t>(image) != kWrapperMagic) return image;
  if (!is_mapped(image, sizeof(FatbinWrapper))) return nullptr;
  const void* data = read_as<FatbinWrapper>(image).data;
  return is_mapped(data, sizeof(uint32_t)) ? data : nullptr;
}

}  // namespace

uint64_t image_bytes_of(const void* image) {
  image = without_wrapper(image);
  return image == nullptr ? 0 : image_bytes(image);
}

uint64_t hash_bytes(const void* data, size_t bytes, uint64_t seed) {
  const auto* at = static_cast<const unsigned char*>(data);
  uint64_t hash = mix_bits(seed ^ (bytes * 0x9e3779b97f4a7c15ULL));
  for (; bytes >= 8; at += 8, bytes -= 8) hash = mix_bits(hash ^ read_as<uint64_t>(at));
  uint64_t rest = 0;
  memcpy(&rest, at, bytes);
  return bytes == 0 ? hash : mix_bits(hash ^ rest);
}

uint64_t hash_image(const void* image) {
  image = without_wrapper(image);
  const size_t bytes = image == nullptr ? 0 : image_bytes(image);
  if (bytes == 0 || bytes > kMostImageBytes) return 0;
  const size_t head = std::min(bytes, kSampleBytes);
  const size_t tail = std::min(bytes - head, kSampleBytes);
  const char* const end = static_cast<const char*>(image) + bytes;
  if (!is_mapped(image, head) || !is_mapped(end - tail, tail)) return 0;
  return hash_bytes(end - tail, tail, hash_bytes(image, head, bytes)) | 1;
}

uint64_t kernel_id_of(uint64_t image_hash, const char* name) {
  return hash_bytes(name, strlen(name), image_hash) | 1;
}

}  // namespace gacer::interpose
