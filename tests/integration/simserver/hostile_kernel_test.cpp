// SPDX-License-Identifier: Apache-2.0
// Clusters, print files and heaps that no driver would ask for: refused, and the server goes on.
#include <cuda.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/integration/simserver/raw_client.h"

namespace gacer::simdevice::test {
namespace {

// Prints a text and allocates.
constexpr const char* kKernel = R"(.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);
.extern .func (.param .b64 r) malloc (.param .b64 a);
.global .align 1 .b8 text[4] = {104, 105, 10, 0};
.visible .entry k() {
  .reg .b64 t;
  mov.u64 t, text;
  { .param .b64 a; st.param.b64 [a], t; .param .b64 b; st.param.b64 [b], 0; .param .b32 r;
    call.uni (r), vprintf, (a, b); }
  { .param .b64 a; st.param.b64 [a], 100; .param .b64 r; call.uni (r), malloc, (a); }
  ret;
}
)";

class HostileKernel : public ::testing::Test {
 protected:
  // Without MPS, under which the fault of one client ends all.
  void SetUp() override {
    ASSERT_TRUE(client_.start(false));
    const ReplyMsg loaded = client_.load(kKernel);
    ASSERT_EQ(loaded.error, CUDA_SUCCESS);
    module_ = loaded.value;
  }
  int heap_limit(uint32_t context, uint64_t bytes) {
    ContextMsg message{};
    message.context = context;
    message.value = bytes;
    return client_.ask(message, SimType::kHeapLimit).error;
  }

  ServerProcess server_;
  RawClient client_{server_.socket_path()};
  uint64_t module_ = 0;
};

TEST_F(HostileKernel, given_clusters_that_cannot_be_then_the_launch_fails_and_the_server_goes_on) {
  for (uint32_t cluster : {0x00010003U, 0x00010100U, 0xffffffffU, 0x00111111U, 0x00000001U}) {
    RawClient other(server_.socket_path());
    ASSERT_TRUE(other.start(false)) << cluster;
    const ReplyMsg loaded = other.load(kKernel);
    ASSERT_EQ(loaded.error, CUDA_SUCCESS);
    other.launch(0, {.module = loaded.value, .grid_x = 4, .cluster = cluster});
    EXPECT_TRUE(eventually([&] { return other.page()->sticky_error.load() != 0; })) << cluster;
  }
  client_.launch(0, {.module = module_, .grid_x = 4, .cluster = 0x00010102U});
  EXPECT_TRUE(client_.sync(0));
  EXPECT_EQ(client_.page()->sticky_error.load(), 0);
}

TEST_F(HostileKernel, given_a_heap_for_nothing_or_too_large_then_it_is_refused) {
  EXPECT_EQ(heap_limit(9, 4096), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(heap_limit(0, UINT64_MAX), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(heap_limit(0, 4096), CUDA_SUCCESS);
  client_.launch(0, {.module = module_, .block_x = 1});
  EXPECT_TRUE(client_.sync(0));
  EXPECT_EQ(heap_limit(0, 1 << 20), CUDA_ERROR_INVALID_VALUE) << "a kernel has memory of it";
}

TEST_F(HostileKernel, given_two_requests_for_the_print_file_then_both_name_the_same_one) {
  SimHeader first{}, second{};
  UniqueFd one, two;
  ASSERT_EQ(client_.ask(first, SimType::kPrintBuffer, -1, &one).error, CUDA_SUCCESS);
  ASSERT_EQ(client_.ask(second, SimType::kPrintBuffer, -1, &two).error, CUDA_SUCCESS);
  client_.launch(0, {.module = module_, .block_x = 2});
  ASSERT_TRUE(client_.sync(0));
  for (const UniqueFd* fd : {&one, &two}) {
    char text[16] = {};
    EXPECT_EQ(::pread(fd->get(), text, sizeof text, 0), 6);
    EXPECT_STREQ(text, "hi\nhi\n");
  }
}

}  // namespace
}  // namespace gacer::simdevice::test
