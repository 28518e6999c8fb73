// SPDX-License-Identifier: Apache-2.0
// A fuzz target in builds without libFuzzer: the kept corpus, seeded mutations of it, seeded noise.
// A failure prints the seed or the file.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "tests/fuzz/support/fuzz_target.h"

namespace gacer::fuzz {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr unsigned kRounds = 400;
constexpr size_t kMaxBytes = 4096;

Bytes noise(unsigned seed) {
  std::mt19937 random(seed);
  Bytes bytes(random() % kMaxBytes);
  // Many small values: lengths, kinds and text are reached more often than by plain noise.
  const bool small = random() % 2 == 0;
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(small ? random() % 8 : random());
  return bytes;
}

std::vector<Bytes> corpus() {
  std::vector<Bytes> files;
  for (const auto& entry : std::filesystem::directory_iterator(GACER_FUZZ_CORPUS)) {
    std::ifstream file(entry.path(), std::ios::binary);
    files.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return files;
}

Bytes mutated(Bytes bytes, unsigned seed) {
  std::mt19937 random(seed);
  for (unsigned left = 1 + random() % 8; left > 0 && !bytes.empty(); --left) {
    const size_t at = random() % bytes.size();
    switch (random() % 4) {
      case 0:
        bytes[at] = static_cast<uint8_t>(random());
        break;
      case 1:
        bytes[at] = static_cast<uint8_t>(bytes[at] ^ 1u << random() % 8);
        break;
      case 2:
        bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      default:
        bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                     bytes[random() % bytes.size()]);
    }
  }
  return bytes;
}

void run(const Bytes& bytes) {
  EXPECT_EQ(LLVMFuzzerTestOneInput(bytes.data(), bytes.size()), 0);
}

TEST(FuzzReplay, given_the_kept_corpus_and_mutations_of_it_then_nothing_breaks) {
  const std::vector<Bytes> kept = corpus();
  ASSERT_FALSE(kept.empty());
  for (const Bytes& bytes : kept) run(bytes);
  for (unsigned seed = 0; seed < kRounds; ++seed) {
    SCOPED_TRACE(seed);
    run(mutated(kept[seed % kept.size()], seed));
  }
}

TEST(FuzzReplay, given_seeded_noise_then_nothing_breaks) {
  for (unsigned seed = 0; seed < kRounds; ++seed) {
    SCOPED_TRACE(seed);
    run(noise(seed));
  }
}

}  // namespace
}  // namespace gacer::fuzz
