// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/device_words.h"

#include <map>
#include <mutex>
#include <vector>

#include "runtime/simdevice/driver/host_memory.h"

namespace gacer::simdriver {
namespace {

constexpr uint64_t kSlabBytes = 4096;

struct FreeWords {
  std::mutex mutex;
  std::map<uint64_t, std::vector<uint64_t>> by_context;
};

FreeWords& free_words() {
  static FreeWords& words = *new FreeWords;
  return words;
}

CUresult add_slab(Context& context, std::vector<uint64_t>& words) {
  uint64_t base = 0;
  SIM_TRY(allocate_shared(context, kSlabBytes, MemoryKind::kPinned, 0, base));
  for (uint64_t offset = 0; offset < kSlabBytes; offset += DeviceWord::kWordBytes)
    words.push_back(base + offset);
  return CUDA_SUCCESS;
}

}  // namespace

DeviceWord::~DeviceWord() {
  const std::lock_guard lock(free_words().mutex);
  const auto found = free_words().by_context.find(owner_);
  if (found != free_words().by_context.end()) found->second.push_back(address_);
}

CUresult take_device_word(Context& context, std::shared_ptr<DeviceWord>& out) {
  Context& owner = context.root();
  const std::lock_guard lock(free_words().mutex);
  auto& words = free_words().by_context[owner.unique_id()];
  if (words.empty()) SIM_TRY(add_slab(owner, words));
  out = std::make_shared<DeviceWord>(owner.unique_id(), words.back());
  words.pop_back();
  out->store(0);
  return CUDA_SUCCESS;
}

void forget_device_words(uint64_t context_unique_id) {
  const std::lock_guard lock(free_words().mutex);
  free_words().by_context.erase(context_unique_id);
}

}  // namespace gacer::simdriver
