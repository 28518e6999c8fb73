// SPDX-License-Identifier: Apache-2.0
// simgpu-server as one client sees it: memory, modules, kernels, copies, events, faults.
#include <cuda.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <numeric>

#include "tests/integration/simserver/raw_client.h"
#include "tests/integration/simserver/test_kernels.h"

namespace gacer::simdevice::test {
namespace {

using ::testing::HasSubstr;

uint64_t address_of(const void* pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}

class SimServer : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(client_.start());
    std::string json;
    const ReplyMsg loaded = client_.load(kTestPtx, &json_);
    ASSERT_EQ(loaded.error, 0) << loaded.text;
    module_ = loaded.value;
  }
  uint64_t alloc(uint64_t bytes) { return client_.alloc(bytes).value; }
  int sticky() const { return static_cast<int>(client_.page()->sticky_error.load()); }

  ServerProcess server_;
  RawClient client_{server_.socket_path()};
  std::string json_;
  uint64_t module_ = 0;
};

TEST_F(SimServer, DescribesALoadedModule) {
  EXPECT_THAT(json_,
              HasSubstr(R"("name":"scale_add","params":[[0,8],[8,8],[16,8]],"param_bytes":24)"));
  EXPECT_THAT(json_, HasSubstr(R"({"name":"counter","address":)"));
}

TEST_F(SimServer, RunsAKernelBetweenCopies) {
  // Given an array in ordinary memory of this process.
  std::vector<uint32_t> in(1000 * 32);
  std::iota(in.begin(), in.end(), 7U);
  std::vector<uint32_t> out(in.size());
  const uint64_t bytes = in.size() * sizeof(uint32_t);
  const uint64_t src = alloc(bytes);
  const uint64_t dst = alloc(bytes);
  // When it is copied in, worked on and copied back in one stream.
  client_.stream(1, 0);
  client_.copy(1, CopyKind::kHtoD, src, address_of(in.data()), bytes);
  client_.launch(1, {module_, kScaleAdd, 1000, 32, {dst, src, 3}});
  client_.copy(1, CopyKind::kDtoH, address_of(out.data()), dst, bytes);
  ASSERT_TRUE(client_.sync(1));
  // Then every element is right.
  ASSERT_EQ(sticky(), 0) << client_.page()->error_text;
  for (uint32_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], in[i] * 3 + i);
}

TEST_F(SimServer, KernelsReadModuleVariables) {
  std::vector<uint32_t> out(32);
  const uint64_t dst = alloc(128);
  client_.launch(0, {module_, kUseTable, 1, 32, {dst}});
  client_.copy(0, CopyKind::kDtoH, address_of(out.data()), dst, 128);
  ASSERT_TRUE(client_.sync(0));
  EXPECT_EQ(sticky(), 0) << client_.page()->error_text;
  EXPECT_EQ(out[0], 15U);
  EXPECT_EQ(out[6], 35U);
}

TEST_F(SimServer, KernelsReachSharedHostMemory) {
  // Given pinned memory that the client shares.
  const UniqueFd shared(::memfd_create("pinned", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(shared.get(), 4096), 0);
  ASSERT_EQ(::fcntl(shared.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
  auto* host = static_cast<uint32_t*>(
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, shared.get(), 0));
  ASSERT_EQ(client_.host_map(address_of(host), 4096, shared.get()).error, 0);
  // When a kernel writes to its host address.
  client_.launch(0, {module_, kStoreAt, 1, 1, {address_of(host + 5)}});
  ASSERT_TRUE(client_.sync(0));
  // Then the client sees it.
  EXPECT_EQ(sticky(), 0) << client_.page()->error_text;
  EXPECT_EQ(host[5], 1U);
  ::munmap(host, 4096);
}

TEST_F(SimServer, RefusesHostMemoryThatCouldShrink) {
  const UniqueFd unsealed(::memfd_create("pinned", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(unsealed.get(), 4096), 0);
  const ReplyMsg reply = client_.host_map(0x10000000, 4096, unsealed.get());
  EXPECT_EQ(reply.error, CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(reply.text, HasSubstr("F_SEAL_SHRINK"));
}

TEST_F(SimServer, MemoryIsCountedReusedAndZero) {
  const uint64_t before = client_.mem_info().value;
  const uint64_t address = alloc(10 << 20);
  EXPECT_EQ(client_.mem_info().value, before - (10 << 20));
  client_.memset32(0, address, 0xabcd1234, (10 << 20) / 4);
  ASSERT_TRUE(client_.sync(0));
  EXPECT_EQ(client_.free(address).error, 0);
  EXPECT_EQ(client_.mem_info().value, before);
  EXPECT_EQ(client_.free(address).error, CUDA_ERROR_INVALID_VALUE);
  const uint64_t again = alloc(10 << 20);
  uint32_t word = 1;
  client_.copy(0, CopyKind::kDtoH, address_of(&word), again + 4096, 4);
  ASSERT_TRUE(client_.sync(0));
  EXPECT_EQ(word, 0U);
}

TEST_F(SimServer, SaysWhenMemoryIsUsedUp) {
  const uint64_t total = client_.mem_info().value2;
  EXPECT_EQ(client_.alloc(total).error, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(client_.alloc(UINT64_MAX).error, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(client_.alloc(0).error, CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(client_.alloc(64, 9).error, CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_NE(alloc(total / 2), 0U);
}

TEST_F(SimServer, EventsCarryModelTime) {
  client_.stream(1, 0);
  // The function holds the stream until all is queued, so that nothing depends on when messages
  // arrive.
  client_.host_function(1, 1);
  client_.record(1, 10, 1);
  client_.launch(1, {module_, kSpin, 1, 32, {100'000}});
  client_.record(1, 11, 1);
  ASSERT_EQ(client_.receive_host_function(), 1U);
  client_.host_function_done(1);
  ASSERT_TRUE(client_.sync(1));
  ASSERT_TRUE(client_.event_done(10, 1));
  ASSERT_TRUE(client_.event_done(11, 1));
  const ClientPage* page = client_.page();
  const uint64_t elapsed = page->events[11].device_ns.load() - page->events[10].device_ns.load();
  // An iteration is a sum and a comparison that waits for it, four clocks each at 1410 MHz: 567 us.
  EXPECT_GT(elapsed, 540'000U);
  EXPECT_LT(elapsed, 600'000U);
}

TEST_F(SimServer, StreamsWaitForEventsAndValues) {
  const uint64_t flag = alloc(512);
  uint32_t seen = 0;
  client_.stream(1, 0);
  client_.stream(2, 0);
  client_.launch(1, {module_, kSpin, 1, 32, {10'000}});
  client_.launch(1, {module_, kStoreAt, 1, 1, {flag}});
  client_.record(1, 0, 1);
  client_.wait_event(2, 0, 1);
  client_.copy(2, CopyKind::kDtoH, address_of(&seen), flag, 4);
  ASSERT_TRUE(client_.sync(2));
  EXPECT_EQ(seen, 1U);

  client_.wait_value(2, flag + 8, 77);
  client_.copy(2, CopyKind::kDtoH, address_of(&seen), flag + 8, 4);
  EXPECT_FALSE(client_.sync(2, 30));
  client_.write_value(1, flag + 8, 77);
  ASSERT_TRUE(client_.sync(2));
  EXPECT_EQ(seen, 77U);
}

TEST_F(SimServer, HostFunctionsRunInStreamOrder) {
  client_.launch(0, {module_, kSpin, 1, 32, {1000}});
  client_.host_function(0, 42);
  client_.launch(0, {module_, kSpin, 1, 32, {1000}});
  EXPECT_EQ(client_.receive_host_function(), 42U);
  EXPECT_FALSE(client_.sync(0, 30));
  client_.host_function_done(42);
  EXPECT_TRUE(client_.sync(0));
}

TEST_F(SimServer, AnIllegalAddressIsStickyAndNamed) {
  client_.launch(0, {module_, kStoreAt, 4, 32, {0x1234}});
  ASSERT_TRUE(client_.sync(0));
  EXPECT_EQ(sticky(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_THAT(client_.page()->error_text, HasSubstr("store_at"));
  // What follows completes without effect.
  uint32_t word = 9;
  client_.copy(0, CopyKind::kDtoH, address_of(&word), alloc(512), 4);
  ASSERT_TRUE(client_.sync(0));
  EXPECT_EQ(word, 9U);
}

TEST_F(SimServer, AMisalignedAddressIsNamed) {
  client_.launch(0, {module_, kStoreAt, 1, 1, {alloc(512) + 2}});
  ASSERT_TRUE(client_.sync(0));
  EXPECT_EQ(sticky(), CUDA_ERROR_MISALIGNED_ADDRESS);
}

TEST_F(SimServer, ATrapIsALaunchFailure) {
  client_.launch(0, {module_, kTrap, 1, 1, {}});
  ASSERT_TRUE(client_.sync(0));
  EXPECT_EQ(sticky(), CUDA_ERROR_LAUNCH_FAILED);
}

TEST_F(SimServer, ACopyFromNowhereIsAnIllegalAddress) {
  client_.copy(0, CopyKind::kHtoD, alloc(4096), 0x10, 4096);
  ASSERT_TRUE(client_.sync(0));
  EXPECT_EQ(sticky(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_THAT(client_.page()->error_text, HasSubstr("copy source"));
}

TEST_F(SimServer, ALaunchThatCannotFitIsAnError) {
  client_.launch(0, {module_, kSpin, 1, 32, {1}, INT32_MIN, 200'000});
  ASSERT_TRUE(client_.sync(0));
  EXPECT_EQ(sticky(), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
}

TEST_F(SimServer, BadPtxGetsTheCompilersLine) {
  const ReplyMsg reply = client_.load(".version 7.0\n.target sm_70\n.entry x() { nonsense.u32; }");
  EXPECT_EQ(reply.error, CUDA_ERROR_INVALID_PTX);
  EXPECT_THAT(reply.text, HasSubstr("nonsense"));
  EXPECT_EQ(client_.unload(99).error, CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(client_.unload(module_).error, 0);
}

TEST_F(SimServer, ManyLaunchesKeepTheirOrder) {
  // Given a counter that 500 launches multiply by 1 and add their index 0 to.
  const uint64_t data = alloc(512);
  client_.stream(1, 0);
  client_.memset32(1, data, 1, 32);
  for (int i = 0; i < 500; ++i) client_.launch(1, {module_, kScaleAdd, 1, 32, {data, data, 1}});
  std::vector<uint32_t> out(32);
  client_.copy(1, CopyKind::kDtoH, address_of(out.data()), data, 128);
  ASSERT_TRUE(client_.sync(1));
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], 1 + 500 * i);
}

}  // namespace
}  // namespace gacer::simdevice::test
