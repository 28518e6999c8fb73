// SPDX-License-Identifier: Apache-2.0
// Parts of simgpu-server that need no socket.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "runtime/simdevice/server/block_pool.h"
#include "runtime/simdevice/server/client_memory.h"
#include "runtime/simdevice/server/copy_ops.h"
#include "runtime/simdevice/server/device_memory.h"
#include "runtime/simdevice/server/json_text.h"
#include "runtime/simdevice/server/model_clock.h"
#include "runtime/simdevice/server/share_registry.h"
#include "runtime/simdevice/server/timeline.h"
#include "runtime/simdevice/sim_messages.h"

namespace gacer::simdevice::test {
namespace {

constexpr uint64_t kMiB = 1 << 20;

TEST(DeviceMemory, RandomAllocationsNeverOverlapAndAllComesBack) {
  auto memory = DeviceMemory::create(64 * kMiB);
  ASSERT_TRUE(memory.ok());
  std::mt19937 random(3);
  std::map<uint64_t, uint64_t> live;
  for (int i = 0; i < 5000; ++i) {
    if (random() % 2 == 0 || live.empty()) {
      const uint64_t bytes = 1 + random() % (1 + (random() % 3) * kMiB);
      const auto address = memory->allocate(bytes);
      if (!address) continue;
      EXPECT_EQ(*address % kDeviceAlignment, 0U);
      const auto after = live.lower_bound(*address);
      if (after != live.end()) {
        EXPECT_LE(*address + bytes, after->first);
      }
      if (after != live.begin()) {
        EXPECT_GE(*address, std::prev(after)->first + std::prev(after)->second);
      }
      // Fresh memory reads as zero, wherever it was before.
      EXPECT_EQ(memory->host(*address)[0], 0);
      EXPECT_EQ(memory->host(*address)[bytes - 1], 0);
      memory->host(*address)[0] = memory->host(*address)[bytes - 1] = 0xff;
      live[*address] = bytes;
    } else {
      auto victim = live.begin();
      std::advance(victim, random() % live.size());
      memory->free(victim->first, victim->second);
      live.erase(victim);
    }
  }
  for (const auto& [address, bytes] : live) memory->free(address, bytes);
  EXPECT_EQ(memory->free_bytes(), 64 * kMiB);
  EXPECT_EQ(memory->allocate(64 * kMiB), kDeviceBase);  // one piece again
}

TEST(DeviceMemory, ChargesCountAgainstAllocations) {
  auto memory = DeviceMemory::create(4 * kMiB);
  EXPECT_TRUE(memory->charge(3 * kMiB));
  EXPECT_FALSE(memory->charge(2 * kMiB));
  EXPECT_FALSE(memory->allocate(2 * kMiB).has_value());
  memory->refund(3 * kMiB);
  EXPECT_TRUE(memory->allocate(2 * kMiB).has_value());
}

class Memory : public ::testing::Test {
 protected:
  void SetUp() override {
    for (uint32_t context : {0U, 1U}) ASSERT_TRUE(client_.add_context(context, 0, 0).ok());
    ASSERT_TRUE(client_.add_context(2, 1, 0).ok());
  }
  std::shared_ptr<Backing> backing(uint64_t bytes) { return Backing::on_device(device_, bytes); }

  static std::vector<DeviceMemory> two_devices() {
    std::vector<DeviceMemory> all;
    for (const uint32_t index : {0U, 1U})
      all.push_back(std::move(DeviceMemory::create(16 * kMiB, index)).value());
    return all;
  }
  std::vector<DeviceMemory> devices_ = two_devices();
  DeviceMemory& device_ = devices_[0];
  ClientMemory client_{devices_, ::getpid()};
};

TEST_F(Memory, AContextSeesItsOwnAllocationsOnly) {
  const uint64_t mine = *client_.allocate(0, 1000);
  const uint64_t other = *client_.allocate(1, 1000);
  const MemoryRegion* hint = nullptr;
  EXPECT_NE(client_.space(0).find(mine, 1000, hint), nullptr);
  hint = nullptr;
  EXPECT_EQ(client_.space(0).find(other, 4, hint), nullptr);
  EXPECT_EQ(client_.bytes_from(mine + 24), 1000U);  // 1024 after rounding
  client_.free(mine);
  hint = nullptr;
  EXPECT_EQ(client_.space(0).find(mine, 4, hint), nullptr);
}

TEST_F(Memory, DevicesHaveAddressesAndRoomOfTheirOwn) {
  const uint64_t here = *client_.allocate(0, kMiB);
  const uint64_t there = *client_.allocate(2, kMiB);
  EXPECT_EQ(here, kDeviceBase);
  EXPECT_EQ(there, kDeviceBase + kDeviceSpan);
  EXPECT_EQ(devices_[0].free_bytes(), 15 * kMiB);
  EXPECT_EQ(devices_[1].free_bytes(), 15 * kMiB);
  EXPECT_EQ(client_.location(here), 0U);
  EXPECT_EQ(client_.location(there), 1U);
  EXPECT_FALSE(client_.allocate(7, kMiB).has_value());
  EXPECT_FALSE(client_.add_context(3, 2, 0).ok());
}

TEST_F(Memory, AContextSeesItsPeersOnlyWhilePeerAccessIsOn) {
  const uint64_t there = *client_.allocate(2, 1000);
  const auto seen = [&] {
    const MemoryRegion* hint = nullptr;
    return client_.space(0).find(there, 4, hint) != nullptr;
  };
  EXPECT_FALSE(seen());
  EXPECT_TRUE(client_.set_peer(0, 2, true).ok());
  EXPECT_TRUE(seen());
  EXPECT_TRUE(client_.set_peer(0, 2, false).ok());
  EXPECT_FALSE(seen());
  EXPECT_FALSE(client_.set_peer(0, 0, true).ok());
  EXPECT_FALSE(client_.set_peer(0, 9, true).ok());
}

TEST_F(Memory, MappingsAreCheckedAndNeedAccess) {
  constexpr uint64_t kPart = kPhysicalGranularity;
  const auto memory = backing(2 * kPart);
  EXPECT_FALSE(client_.map(kDeviceBase, kPart, memory, 0).ok());
  EXPECT_FALSE(client_.map(kVirtualBase + 4096, kPart, memory, 0).ok());
  EXPECT_FALSE(client_.map(kVirtualBase, 3 * kPart, memory, 0).ok());
  EXPECT_FALSE(client_.map(kVirtualBase, kPart, memory, 2 * kPart).ok());
  EXPECT_FALSE(client_.map(kVirtualEnd - kPart, 2 * kPart, memory, 0).ok());
  ASSERT_TRUE(client_.map(kVirtualBase, 2 * kPart, memory, 0).ok());
  EXPECT_FALSE(client_.map(kVirtualBase + kPart, kPart, memory, 0).ok());
  EXPECT_EQ(client_.resolve(kVirtualBase, 4), nullptr);  // nobody may touch it yet
  EXPECT_FALSE(client_.set_access(kVirtualBase, kPart, 0, true).ok());
  EXPECT_FALSE(client_.set_access(kVirtualBase, 2 * kPart, 5, true).ok());
  ASSERT_TRUE(client_.set_access(kVirtualBase, 2 * kPart, 0, true).ok());
  EXPECT_EQ(client_.resolve(kVirtualBase + 8, 4), memory->host() + 8);
  const MemoryRegion* hint = nullptr;
  EXPECT_NE(client_.space(1).find(kVirtualBase, 4, hint), nullptr);
  hint = nullptr;
  EXPECT_EQ(client_.space(2).find(kVirtualBase, 4, hint), nullptr);  // another device
  EXPECT_FALSE(client_.free(kVirtualBase));
  EXPECT_FALSE(client_.unmap(kVirtualBase, kPart).ok());
  EXPECT_TRUE(client_.unmap(kVirtualBase, 2 * kPart).ok());
  EXPECT_FALSE(client_.unmap(kVirtualBase, 2 * kPart).ok());
}

TEST_F(Memory, CopiesRunAcrossAdjoiningMappings) {
  constexpr uint64_t kPart = kPhysicalGranularity;
  const auto second = backing(kPart);
  const auto first = backing(kPart);
  ASSERT_TRUE(client_.map(kVirtualBase, kPart, first, 0).ok());
  ASSERT_TRUE(client_.map(kVirtualBase + kPart, kPart, second, 0).ok());
  ASSERT_TRUE(client_.set_access(kVirtualBase, 2 * kPart, 0, true).ok());
  const uint64_t edge = kVirtualBase + kPart - 4;
  EXPECT_EQ(client_.bytes_from(edge), kPart + 4);
  EXPECT_TRUE(client_.write(edge, "abcdefgh", 8));
  EXPECT_EQ(std::string(reinterpret_cast<char*>(first->host() + kPart - 4), 4), "abcd");
  EXPECT_EQ(std::string(reinterpret_cast<char*>(second->host()), 4), "efgh");
  char back[8];
  EXPECT_TRUE(client_.read(edge, back, 8));
  EXPECT_EQ(std::string(back, 8), "abcdefgh");
  EXPECT_FALSE(client_.read(kVirtualBase + 2 * kPart - 4, back, 8));
}

TEST_F(Memory, PhysicalMemoryLivesAsLongAsAnythingRefersToIt) {
  auto shares = ShareRegistry::create();
  ASSERT_TRUE(shares.ok());
  auto memory = backing(kPhysicalGranularity);
  UniqueFd descriptor = shares->share(memory);
  ASSERT_TRUE(descriptor.valid());
  ASSERT_TRUE(client_.map(kVirtualBase, kPhysicalGranularity, memory, 0).ok());
  memory.reset();
  EXPECT_TRUE(client_.unmap(kVirtualBase, kPhysicalGranularity).ok());
  EXPECT_EQ(device_.free_bytes(), 14 * kMiB);
  EXPECT_TRUE(std::holds_alternative<std::shared_ptr<Backing>>(shares->find(descriptor.get())));
  shares->collect();
  EXPECT_EQ(device_.free_bytes(), 14 * kMiB);
  descriptor.reset();
  shares->collect();
  EXPECT_EQ(device_.free_bytes(), 16 * kMiB);
}

TEST_F(Memory, TokensMeanAnObjectWhileItLives) {
  auto shares = ShareRegistry::create();
  ASSERT_TRUE(shares.ok());
  auto memory = backing(4096);
  const ShareToken token = shares->make_token(memory);
  EXPECT_EQ(std::get<std::shared_ptr<Backing>>(shares->find(token)), memory);
  ShareToken wrong = token;
  ++wrong.half[1];
  EXPECT_TRUE(std::holds_alternative<std::monostate>(shares->find(wrong)));
  memory.reset();
  EXPECT_TRUE(std::holds_alternative<std::monostate>(shares->find(token)));
}

TEST_F(Memory, PoolsGrowInBlocksAndGiveUnusedOnesBack) {
  auto pool = std::make_shared<MemoryPool>(device_, 4 * kMiB, 12 * kMiB);
  auto a = pool->allocate(kMiB), b = pool->allocate(1), c = pool->allocate(3 * kMiB);
  ASSERT_TRUE(a && b && c);
  EXPECT_EQ(pool->reserved().current, 8 * kMiB);
  EXPECT_EQ(pool->used().current, 4 * kMiB + kDeviceAlignment);
  EXPECT_EQ(a->address() + kMiB, b->address());
  EXPECT_EQ(pool->allocate(5 * kMiB), nullptr);  // would go beyond what it may reserve
  a.reset();
  b.reset();
  pool->trim(5 * kMiB);
  EXPECT_EQ(pool->reserved().current, 8 * kMiB);
  pool->trim(UINT64_MAX);
  EXPECT_EQ(pool->reserved().current, 8 * kMiB);
  pool->trim(4 * kMiB);
  EXPECT_EQ(pool->reserved().current, 4 * kMiB);
  EXPECT_EQ(pool->reserved().highest, 8 * kMiB);
  pool.reset();  // its piece keeps it
  EXPECT_EQ(device_.free_bytes(), 12 * kMiB);
  c.reset();
  EXPECT_EQ(device_.free_bytes(), 16 * kMiB);
}

TEST_F(Memory, RandomPoolPiecesNeverOverlapAndAllComesBack) {
  auto pool = std::make_shared<MemoryPool>(device_, kMiB, 0);
  std::mt19937 random(5);
  std::map<uint64_t, std::shared_ptr<PoolPiece>> live;
  for (int i = 0; i < 3000; ++i) {
    if (random() % 2 == 0 || live.empty()) {
      auto piece = pool->allocate(1 + random() % (300 << 10));
      if (piece == nullptr) continue;
      const auto after = live.lower_bound(piece->address());
      if (after != live.end()) {
        EXPECT_LE(piece->address() + piece->bytes(), after->first);
      }
      if (after != live.begin()) {
        EXPECT_GE(piece->address(), std::prev(after)->first + std::prev(after)->second->bytes());
      }
      const uint64_t address = piece->address();
      live[address] = std::move(piece);
    } else {
      auto victim = live.begin();
      std::advance(victim, random() % live.size());
      live.erase(victim);
    }
    if (i % 100 == 0) pool->trim(0);
  }
  live.clear();
  EXPECT_EQ(pool->used().current, 0U);
  pool->trim(0);
  EXPECT_EQ(device_.free_bytes(), 16 * kMiB);
}

TEST(ShareRegistry, KnowsItsOwnDescriptorsOnly) {
  auto shares = ShareRegistry::create();
  ASSERT_TRUE(shares.ok());
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const UniqueFd reading(ends[0]), writing(ends[1]);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(shares->find(writing.get())));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(shares->find(-1)));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(shares->find(0)));
}

TEST_F(Memory, HostMappingsMustNotOverlapTheDeviceOrEachOther) {
  EXPECT_FALSE(client_.map_host(kDeviceBase + 4096, 4096, false, UniqueFd()).ok());
  EXPECT_FALSE(client_.map_host(kSharedWindow, 4096, false, UniqueFd()).ok());
  EXPECT_FALSE(client_.map_host(UINT64_MAX - 100, 4096, false, UniqueFd()).ok());
  EXPECT_TRUE(client_.map_host(0x7000'0000'0000, 8192, false, UniqueFd()).ok());
  EXPECT_FALSE(client_.map_host(0x7000'0000'1000, 8192, false, UniqueFd()).ok());
  EXPECT_FALSE(client_.map_host(0x6fff'ffff'f000, 8192, false, UniqueFd()).ok());
  EXPECT_TRUE(client_.unmap_host(0x7000'0000'0000));
  EXPECT_FALSE(client_.unmap_host(0x7000'0000'0000));
}

TEST_F(Memory, CopiesRowsWithPitches) {
  const uint64_t device = *client_.allocate(0, 4096);
  const char source[] = "abcd..efgh..ijkl..";
  CopyOp op{};
  op.dst = device;
  op.src = reinterpret_cast<uint64_t>(source);
  op.width_bytes = 4;
  op.height = 3;
  op.depth = 1;
  op.src_pitch = 6;
  op.dst_pitch = 8;
  EXPECT_EQ(copy_bytes(op), 12U);
  EXPECT_EQ(run_copy(op, client_), "");
  EXPECT_EQ(std::string(reinterpret_cast<char*>(device_.host(device)), 4), "abcd");
  EXPECT_EQ(std::string(reinterpret_cast<char*>(device_.host(device + 16)), 4), "ijkl");
  op.src_pitch = 3;
  EXPECT_FALSE(copy_bytes(op).has_value());
}

TEST_F(Memory, MemsetsFillElementsAndRows) {
  const uint64_t device = *client_.allocate(0, 4096);
  MemsetOp op{};
  op.dst = device;
  op.width_elements = 3;
  op.height = 2;
  op.pitch = 100;
  op.value = 0x1234;
  op.element_bytes = 2;
  EXPECT_EQ(memset_bytes(op), 12U);
  EXPECT_EQ(run_memset(op, client_), "");
  EXPECT_EQ(device_.host(device)[4], 0x34);
  EXPECT_EQ(device_.host(device)[6], 0x00);
  EXPECT_EQ(device_.host(device)[101], 0x12);
  op.dst = device + 4090;
  EXPECT_THAT(run_memset(op, client_), ::testing::HasSubstr("memset"));
  op.element_bytes = 3;
  EXPECT_FALSE(memset_bytes(op).has_value());
}

TEST_F(Memory, HugeShapesAreRefusedNotComputed) {
  CopyOp op{};
  op.width_bytes = UINT64_MAX / 2;
  op.height = op.depth = 1;
  EXPECT_FALSE(copy_bytes(op).has_value());
  op.width_bytes = 1;
  op.height = op.depth = 1ULL << 40;
  op.dst_pitch = op.src_pitch = 1;
  EXPECT_FALSE(copy_bytes(op).has_value());
}

TEST_F(Memory, ValueWaitsCompareAsTheDriverDefines) {
  uint64_t word = 5;
  ValueOp op{};
  op.address = reinterpret_cast<uint64_t>(&word);
  op.bytes = 8;
  const auto met = [&](WaitCompare compare, uint64_t value) {
    op.compare = static_cast<uint32_t>(compare);
    op.value = value;
    return test_wait_value(op, client_) == WaitState::kMet;
  };
  EXPECT_TRUE(met(WaitCompare::kGeq, 5));
  EXPECT_FALSE(met(WaitCompare::kGeq, 6));
  EXPECT_TRUE(met(WaitCompare::kGeq, UINT64_MAX));  // cyclic: 5 is six past it
  EXPECT_TRUE(met(WaitCompare::kEq, 5));
  EXPECT_TRUE(met(WaitCompare::kAnd, 4));
  EXPECT_FALSE(met(WaitCompare::kAnd, 8));
  word = UINT64_MAX;
  EXPECT_FALSE(met(WaitCompare::kNor, 0));
  op.address = 8;
  EXPECT_EQ(test_wait_value(op, client_), WaitState::kBadAddress);
}

TEST(BlockPool, RunsEveryIndexOnceAndStopsWhenAsked) {
  BlockPool pool(4);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::atomic<int>> seen(97);
    pool.run(seen.size(), [&](uint64_t index, unsigned worker) {
      EXPECT_LT(worker, pool.workers());
      seen[index].fetch_add(1);
      return true;
    });
    for (const auto& count : seen) ASSERT_EQ(count.load(), 1);
  }
  std::atomic<int> calls{0};
  pool.run(1'000'000, [&](uint64_t index, unsigned) {
    calls.fetch_add(1);
    return index != 10;
  });
  EXPECT_LT(calls.load(), 1'000'000);
  pool.run(0, [&](uint64_t, unsigned) { return ADD_FAILURE() << "no index", true; });
}

TEST(ModelClock, ScalesAndPauses) {
  ManualClock real;
  real.advance(1'000'000);
  ModelClock clock(real, 10.0);
  const uint64_t start = clock.now_ns();
  real.advance(1000);
  EXPECT_EQ(clock.now_ns(), start + 100);
  {
    const ClockPause outer(clock);
    real.advance(50'000);
    const ClockPause inner(clock);
    EXPECT_EQ(clock.now_ns(), start + 100);
  }
  EXPECT_EQ(clock.now_ns(), start + 100);
  EXPECT_EQ(clock.real_ns_until(start + 300), 2000U);
  EXPECT_EQ(clock.real_ns_until(start), 0U);
  EXPECT_EQ(clock.real_ns_until(UINT64_MAX), UINT64_MAX);
}

TEST(Timeline, KeepsTheNewestEventsOnly) {
  const std::string path = ::testing::TempDir() + "simtimeline.json";
  Timeline timeline(path);
  timeline.add_client(1, 77, "label");
  for (uint64_t i = 0; i < Timeline::kMostEvents + 1000; ++i)
    timeline.add_span(1, 0, i < 1000 ? "old" : "new", i, i + 1);
  ASSERT_TRUE(timeline.write().ok());
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str().find("\"old\""), std::string::npos);
  EXPECT_NE(text.str().find("\"new\""), std::string::npos);
  std::filesystem::remove(path);
  EXPECT_FALSE(Timeline("/nonexistent/x.json").write().ok());
  EXPECT_TRUE(Timeline("").write().ok());
}

TEST(JsonText, EscapesWhatJsonCannotHold) {
  std::string json;
  append_json_string(json, "a\"b\\c\n\xc3\xa9");
  EXPECT_EQ(json, "\"a\\\"b\\\\c\\u000a\\u00c3\\u00a9\"");
}

}  // namespace
}  // namespace gacer::simdevice::test
