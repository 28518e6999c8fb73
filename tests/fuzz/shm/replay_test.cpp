// SPDX-License-Identifier: Apache-2.0
// Seeded noise through a fuzz target, for builds without libFuzzer. A failure prints the seed.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/fuzz/shm/fuzz_target.h"

namespace gacer::fuzz {
namespace {

constexpr unsigned kRounds = 400;
constexpr size_t kMaxBytes = 4096;

std::vector<uint8_t> noise(unsigned seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> bytes(random() % kMaxBytes);
  // Many small values: lengths, kinds and text are reached more often than by plain noise.
  const bool small = random() % 2 == 0;
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(small ? random() % 8 : random());
  return bytes;
}

TEST(FuzzReplay, SeededNoiseBreaksNothing) {
  for (unsigned seed = 0; seed < kRounds; ++seed) {
    SCOPED_TRACE(seed);
    const std::vector<uint8_t> bytes = noise(seed);
    EXPECT_EQ(LLVMFuzzerTestOneInput(bytes.data(), bytes.size()), 0);
  }
}

}  // namespace
}  // namespace gacer::fuzz
