// SPDX-License-Identifier: Apache-2.0
// Images as a program gives them to the driver. Input: the image, which lies at the end of its
// mapping, so that a header that lies about sizes leads behind it.
#include <sys/mman.h>
#include <unistd.h>

#include "interpose/image_hash.h"
#include "tests/fuzz/support/fuzz_target.h"

namespace gacer::fuzz {
namespace {

constexpr size_t kMaxBytes = 1 << 16;
constexpr uint32_t kWrapperMagic = 0x466243b1;

// A page that nobody may touch follows.
unsigned char* place() {
  static unsigned char* const memory = [] {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    void* all =
        mmap(nullptr, kMaxBytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(all != MAP_FAILED, "memory");
    munmap(static_cast<unsigned char*>(all) + kMaxBytes, page);
    return static_cast<unsigned char*>(all);
  }();
  return memory;
}

}  // namespace
}  // namespace gacer::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gacer::fuzz;
  if (size == 0 || size >= kMaxBytes) return 0;
  // A wrapper's pointer cannot come from outside of the process; ours is below.
  if (size >= sizeof kWrapperMagic && memcmp(data, &kWrapperMagic, sizeof kWrapperMagic) == 0)
    return 0;
  // Texts end with a zero byte.
  unsigned char* const image = place() + kMaxBytes - size - 1;
  memcpy(image, data, size);
  image[size] = '\0';
  const uint64_t hash = gacer::interpose::hash_image(image);
  require(hash == gacer::interpose::hash_image(image), "the same image has the same hash");
  const struct {
    uint32_t magic;
    uint32_t version;
    const void* data;
    void* more;
  } wrapper{kWrapperMagic, 1, image, nullptr};
  require(hash == gacer::interpose::hash_image(&wrapper), "a wrapper changes nothing");
  return 0;
}
