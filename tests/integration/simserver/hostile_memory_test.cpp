// SPDX-License-Identifier: Apache-2.0
// Memory requests that no driver would send: refused, and the server goes on.
#include <cuda.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <random>

#include "tests/integration/simserver/raw_client.h"

namespace gacer::simdevice::test {
namespace {

constexpr uint64_t kPart = kPhysicalGranularity;

class HostileMemory : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(client_.start()); }
  void TearDown() override { EXPECT_EQ(client_.mem_info().error, 0); }

  int physical(SimType type, PhysicalMsg message, int fd = -1) {
    return client_.ask(message, type, fd).error;
  }
  int pool(SimType type, PoolMsg message, int fd = -1) {
    return client_.ask(message, type, fd).error;
  }
  uint64_t create(uint64_t bytes) {
    PhysicalMsg message{};
    message.bytes = bytes;
    return client_.ask(message, SimType::kPhysicalCreate).value;
  }
  ServerProcess server_;
  RawClient client_{server_.socket_path()};
};

TEST_F(HostileMemory, given_mappings_of_anything_anywhere_then_only_sound_ones_are_made) {
  const uint64_t handle = create(2 * kPart);
  const auto map = [&](uint64_t address, uint64_t bytes, uint64_t offset, uint64_t which) {
    PhysicalMsg message{};
    message.handle = which;
    message.address = address;
    message.bytes = bytes;
    message.offset = offset;
    return physical(SimType::kPhysicalMap, message);
  };
  EXPECT_EQ(map(kVirtualBase, kPart, 0, handle + 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(map(0, kPart, 0, handle), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(map(kDeviceBase, kPart, 0, handle), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(map(kVirtualEnd - kPart, 2 * kPart, 0, handle), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(map(kVirtualBase, UINT64_MAX - kPart + 1, 0, handle), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(map(kVirtualBase, 2 * kPart, UINT64_MAX - kPart + 1, handle), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(map(kVirtualBase, 0, 0, handle), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(map(kVirtualBase, 2 * kPart, 0, handle), 0);
  EXPECT_EQ(map(kVirtualBase + kPart, kPart, 0, handle), CUDA_ERROR_INVALID_VALUE);
  PhysicalMsg message{};
  message.address = kVirtualBase;
  message.bytes = 2 * kPart;
  message.location = 99;
  message.access = 3;
  EXPECT_EQ(physical(SimType::kPhysicalAccess, message), CUDA_ERROR_INVALID_VALUE);
  message.location = kHostLocation;
  EXPECT_EQ(physical(SimType::kPhysicalAccess, message), CUDA_ERROR_INVALID_VALUE);
  message.bytes = kPart;
  EXPECT_EQ(physical(SimType::kPhysicalUnmap, message), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(HostileMemory, given_physical_memory_of_impossible_sizes_and_places_then_it_is_refused) {
  PhysicalMsg message{};
  EXPECT_EQ(physical(SimType::kPhysicalCreate, message), CUDA_ERROR_INVALID_VALUE);
  message.bytes = UINT64_MAX / kPart * kPart;
  EXPECT_EQ(physical(SimType::kPhysicalCreate, message), CUDA_ERROR_OUT_OF_MEMORY);
  message.bytes = kPart;
  message.location = 8;
  EXPECT_EQ(physical(SimType::kPhysicalCreate, message), CUDA_ERROR_INVALID_DEVICE);
  message.location = kHostLocation;
  EXPECT_EQ(physical(SimType::kPhysicalCreate, message), CUDA_ERROR_INVALID_VALUE);  // no fd
  const UniqueFd file(::open("/dev/null", O_RDWR));
  EXPECT_EQ(physical(SimType::kPhysicalCreate, message, file.get()), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(physical(SimType::kPhysicalImport, message, file.get()), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(physical(SimType::kPhysicalImport, message), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(physical(SimType::kPhysicalExport, message), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(physical(SimType::kPhysicalRelease, message), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(HostileMemory, given_pools_and_tokens_that_do_not_exist_then_they_are_refused) {
  PoolMsg message{};
  for (const SimType type :
       {SimType::kPoolDestroy, SimType::kPoolAlloc, SimType::kPoolTrim, SimType::kPoolUsage,
        SimType::kPoolResetHighest, SimType::kPoolAccess, SimType::kPoolExport,
        SimType::kPoolImport, SimType::kPoolImportPointer})
    EXPECT_EQ(pool(type, message), CUDA_ERROR_INVALID_VALUE) << static_cast<int>(type);
  message.location = 1;
  EXPECT_EQ(pool(SimType::kPoolCreate, message), CUDA_ERROR_INVALID_DEVICE);
  message.location = 0;
  const ReplyMsg created = client_.ask(message, SimType::kPoolCreate);
  ASSERT_EQ(created.error, 0);
  message.pool = created.value;
  message.bytes = UINT64_MAX;
  EXPECT_EQ(pool(SimType::kPoolAlloc, message), CUDA_ERROR_OUT_OF_MEMORY);
  message.bytes = 0;
  EXPECT_EQ(pool(SimType::kPoolAlloc, message), CUDA_ERROR_OUT_OF_MEMORY);
  message.bytes = 100;
  message.context = 77;
  EXPECT_EQ(pool(SimType::kPoolAlloc, message), CUDA_ERROR_INVALID_CONTEXT);
  message.location = 40;
  EXPECT_EQ(pool(SimType::kPoolAccess, message), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(pool(SimType::kPoolImportPointer, message), CUDA_ERROR_INVALID_VALUE);
  TokenMsg token{};
  EXPECT_EQ(client_.ask(token, SimType::kExportToken).error, CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(client_.ask(token, SimType::kImportMemory).error, CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(client_.ask(token, SimType::kSharedEventImport).error, CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(client_.ask(token, SimType::kSharedEventQuery).error, CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(client_.ask(token, SimType::kSharedEventDestroy).error, CUDA_ERROR_INVALID_HANDLE);
  PeerMsg peer{};
  peer.peer = 5;
  EXPECT_EQ(client_.ask(peer, SimType::kPeerAccess).error, CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(HostileMemory, given_random_memory_requests_then_the_server_survives_and_all_comes_back) {
  const uint64_t before = client_.mem_info().value;
  for (uint32_t seed = 1; seed <= 4; ++seed) {
    RawClient client(server_.socket_path());
    ASSERT_TRUE(client.start());
    std::mt19937_64 random(seed);
    const auto some = [&](uint64_t step) {
      return random() % 4 == 0 ? random() : random() % 6 * step;
    };
    for (int i = 0; i < 400; ++i) {
      PhysicalMsg physical{};
      physical.handle = some(1);
      physical.address = kVirtualBase + some(kPart);
      physical.bytes = some(kPart);
      physical.offset = random() % 8 == 0 ? some(kPart) : 0;
      physical.location = static_cast<uint32_t>(random() % 3 == 0 ? random() : 0);
      physical.access = static_cast<uint32_t>(random() % 4);
      PoolMsg pool{};
      pool.pool = some(1);
      pool.bytes = some(kPart / 3);
      pool.location = static_cast<uint32_t>(random() % 5 == 0 ? random() : 0);
      pool.figure = static_cast<uint32_t>(random() % 3);
      const bool first = random() % 2 == 0;
      const auto type = first ? static_cast<uint32_t>(SimType::kPhysicalCreate) + random() % 6
                              : static_cast<uint32_t>(SimType::kPoolCreate) + random() % 10;
      const ReplyMsg reply = first ? client.ask(physical, static_cast<SimType>(type))
                                   : client.ask(pool, static_cast<SimType>(type));
      ASSERT_GE(reply.error, 0) << "seed " << seed << " step " << i;
    }
  }
  EXPECT_TRUE(eventually([&] { return client_.mem_info().value == before; }));
}

}  // namespace
}  // namespace gacer::simdevice::test
