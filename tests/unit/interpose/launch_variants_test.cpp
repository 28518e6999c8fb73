// SPDX-License-Identifier: Apache-2.0
// Every way to launch, copy or set: held or not, charged or not, on which stream.
#include "interpose/driver.h"
#include "tests/unit/interpose/launch_fixture.h"

namespace gacer::interpose {
namespace {

using abi::CoverageStream;
using abi::CoveredFunction;
using abi::GateMode;
using abi::LaunchKind;
using test::decide;
using test::fake;

class LaunchVariantsTest : public test::LaunchFixture {
 protected:
  void close_gate() {
    segment().gate.max_wait_ns = 100'000;
    decide(segment(), GateMode::kClosed, 0, true, 1);
  }
  // Waits that the call has added.
  template <typename Call>
  uint64_t waits_of(const Call& call) {
    const uint64_t before = progress().waits.load();
    EXPECT_EQ(call(), CUDA_SUCCESS);
    return progress().waits.load() - before;
  }
  // How often a launch of this attribute waits at the closed gate.
  uint64_t waits_with(CUlaunchAttribute attribute) {
    CUlaunchConfig config{};
    config.gridDimX = config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = config.blockDimY = config.blockDimZ = 1;
    config.hStream = one_;
    config.attrs = &attribute;
    config.numAttrs = 1;
    return waits_of([&] { return gacer_hook_cuLaunchKernelEx(&config, f_, nullptr, nullptr); });
  }
  abi::StreamSlot& default_slot(StreamRef stream) {
    return segment().streams[attachment_->streams.find(stream_key(stream))];
  }
  uint64_t coverage(CoveredFunction function, CoverageStream stream) {
    return segment().coverage.attached.calls[static_cast<int>(function)][static_cast<int>(stream)];
  }

  CUfunction f_ = test::function_number(1);
};

TEST_F(LaunchVariantsTest, given_a_closed_gate_then_plain_kernels_of_every_entry_point_wait) {
  close_gate();
  CUlaunchConfig c{};
  c.gridDimX = c.gridDimY = c.gridDimZ = c.blockDimX = c.blockDimY = c.blockDimZ = 1;
  const auto args = [&](auto entry) {
    return entry(f_, 1, 1, 1, 1, 1, 1, 0, one_, nullptr, nullptr);
  };
  EXPECT_EQ(waits_of([&] { return args(gacer_hook_cuLaunchKernel); }), 1u);
  EXPECT_EQ(waits_of([&] { return args(gacer_hook_cuLaunchKernel_ptsz); }), 1u);
  EXPECT_EQ(waits_of([&] { return gacer_hook_cuLaunchKernelEx(&c, f_, nullptr, nullptr); }), 1u);
  EXPECT_EQ(waits_of([&] { return gacer_hook_cuLaunchKernelEx_ptsz(&c, f_, nullptr, nullptr); }),
            1u);
  EXPECT_EQ(waits_of([&] { return gacer_hook_cuGraphLaunch(nullptr, one_); }), 1u);
  EXPECT_EQ(waits_of([&] { return gacer_hook_cuGraphLaunch_ptsz(nullptr, one_); }), 1u);
  EXPECT_EQ(waits_of([&] { return gacer_hook_cuLaunch(f_); }), 1u);
  EXPECT_EQ(waits_of([&] { return gacer_hook_cuLaunchGrid(f_, 2, 3); }), 1u);
  EXPECT_EQ(waits_of([&] { return gacer_hook_cuLaunchGridAsync(f_, 2, 3, one_); }), 1u);
  EXPECT_EQ(progress().unregulated, 0u);
}

TEST_F(LaunchVariantsTest, STR_03_given_a_closed_gate_then_attributes_decide_who_is_held) {
  close_gate();
  CUlaunchAttribute cooperative{};
  cooperative.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  cooperative.value.cooperative = 1;
  EXPECT_EQ(waits_with(cooperative), 0u);
  cooperative.value.cooperative = 0;
  EXPECT_EQ(waits_with(cooperative), 1u);
  CUlaunchAttribute cluster{};
  cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  EXPECT_EQ(waits_with(cluster), 0u);
  CUlaunchAttribute programmatic{};
  programmatic.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  programmatic.value.programmaticStreamSerializationAllowed = 1;
  EXPECT_EQ(waits_with(programmatic), 1u);
  CUlaunchAttribute priority{};
  priority.id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
  priority.value.priority = -3;
  EXPECT_EQ(waits_with(priority), 1u);
}

TEST_F(LaunchVariantsTest,
       given_cooperative_launches_of_every_variant_then_charged_and_never_held) {
  close_gate();
  const auto args = [&](auto entry) { return entry(f_, 1, 1, 1, 1, 1, 1, 0, one_, nullptr); };
  EXPECT_EQ(waits_of([&] { return args(gacer_hook_cuLaunchCooperativeKernel); }), 0u);
  EXPECT_EQ(waits_of([&] { return args(gacer_hook_cuLaunchCooperativeKernel_ptsz); }), 0u);
  EXPECT_EQ(slot_of(one_).submitted_cost_ns, 2 * kLeastNs);
}

TEST_F(LaunchVariantsTest,
       given_a_launch_on_several_devices_then_it_passes_and_is_counted_by_name) {
  close_gate();
  EXPECT_EQ(waits_of([] { return gacer_hook_cuLaunchCooperativeKernelMultiDevice(nullptr, 0, 0); }),
            0u);
  EXPECT_EQ(
      coverage(CoveredFunction::k_cuLaunchCooperativeKernelMultiDevice, CoverageStream::kNoStream),
      1u);
}

TEST_F(LaunchVariantsTest,
       given_a_capturing_stream_then_its_launches_pass_and_are_counted_by_name) {
  close_gate();
  fake().capture_status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  gacer_hook_cuStreamBeginCapture_v2(one_, CU_STREAM_CAPTURE_MODE_GLOBAL);
  EXPECT_EQ(waits_of([&] { return launch(one_); }), 0u);
  EXPECT_EQ(coverage(CoveredFunction::k_cuLaunchKernel, CoverageStream::kCapturing), 1u);
  EXPECT_FALSE(has_slot(one_));
}

TEST_F(LaunchVariantsTest,
       STR_08_given_default_streams_then_each_variants_work_is_charged_to_its_own) {
  decide(segment(), GateMode::kWindow, 1'000'000'000, false, 1000);
  const auto on = [&](auto entry, CUstream stream) {
    entry(f_, 100, 1, 1, 100, 1, 1, 0, stream, nullptr, nullptr);
  };
  on(gacer_hook_cuLaunchKernel, nullptr);
  on(gacer_hook_cuLaunchKernel, CU_STREAM_LEGACY);
  on(gacer_hook_cuLaunchKernel_ptsz, CU_STREAM_LEGACY);
  EXPECT_EQ(default_slot({nullptr, false}).submitted_cost_ns, 3 * kLeastNs);
  on(gacer_hook_cuLaunchKernel_ptsz, nullptr);
  on(gacer_hook_cuLaunchKernel, CU_STREAM_PER_THREAD);
  EXPECT_EQ(default_slot({nullptr, true}).submitted_cost_ns, 2 * kLeastNs);
  EXPECT_EQ(attachment_->streams.used(), 3u);
}

TEST_F(LaunchVariantsTest, given_a_handle_of_a_library_kernel_then_it_is_known_by_its_library) {
  decide(segment(), GateMode::kUngated, 0, true, 1);
  CUkernel kernel = reinterpret_cast<CUkernel>(uintptr_t{0x7000});
  shim().kernels.learn_image(0x6000, 42);
  shim().kernels.learn_library_kernel(kernel, 0x6000, "gemm");
  launch(one_, reinterpret_cast<CUfunction>(kernel));
  launch(one_, reinterpret_cast<CUfunction>(kernel));
  shm::LaunchEntry first;
  shm::LaunchEntry second;
  ASSERT_TRUE(next_record(first) && next_record(second));
  EXPECT_NE(first.kernel_id, 0u);
  EXPECT_EQ(first.kernel_id, second.kernel_id);
  EXPECT_EQ(first.cost_slot, second.cost_slot);
}

TEST_F(LaunchVariantsTest, given_an_extra_buffer_then_the_driver_gets_it_untouched) {
  static void** seen_extra;
  static void** seen_params;
  DriverTable table = driver();
  table.cuLaunchKernel = [](CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                            unsigned, CUstream, void** params, void** extra) {
    seen_params = params;
    seen_extra = extra;
    return CUDA_SUCCESS;
  };
  install_driver(table, &test::fake_symbol, nullptr);
  decide(segment(), GateMode::kWindow, 1'000'000, true, 1);
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, nullptr, CU_LAUNCH_PARAM_END};
  gacer_hook_cuLaunchKernel(f_, 1, 1, 1, 1, 1, 1, 0, one_, nullptr, extra);
  EXPECT_EQ(seen_extra, extra);
  EXPECT_EQ(seen_params, nullptr);
}

TEST_F(LaunchVariantsTest, given_work_of_the_host_then_what_it_may_wait_for_is_marked_before) {
  decide(segment(), GateMode::kWindow, 1'000'000'000, false, 1000);
  const auto unmarked_after = [&](auto call) {
    launch(one_);
    call();
    return slot_of(one_).submitted_cost_ns - slot_of(one_).marked_cost_ns;
  };
  EXPECT_EQ(unmarked_after([] {}), kLeastNs);
  EXPECT_EQ(unmarked_after([&] { gacer_hook_cuLaunchHostFunc(one_, nullptr, nullptr); }), 0u);
  EXPECT_EQ(unmarked_after([&] { gacer_hook_cuLaunchHostFunc_ptsz(one_, nullptr, nullptr); }), 0u);
  EXPECT_EQ(unmarked_after([&] { gacer_hook_cuStreamAddCallback(one_, nullptr, nullptr, 0); }), 0u);
  EXPECT_EQ(unmarked_after([&] { gacer_hook_cuStreamAddCallback_ptsz(one_, nullptr, nullptr, 0); }),
            0u);
}

TEST_F(LaunchVariantsTest, given_synchronous_copies_then_what_they_wait_for_is_marked_before) {
  decide(segment(), GateMode::kWindow, 1'000'000'000, false, 1000);
  const auto unmarked_after = [&](auto call) {
    launch(one_);
    EXPECT_EQ(call(), CUDA_SUCCESS);
    return slot_of(one_).submitted_cost_ns - slot_of(one_).marked_cost_ns;
  };
  char byte = 0;
  EXPECT_EQ(unmarked_after([&] { return gacer_hook_cuMemcpyHtoD_v2(1, &byte, 1); }), 0u);
  EXPECT_EQ(unmarked_after([&] { return gacer_hook_cuMemcpyHtoD_v2_ptds(1, &byte, 1); }), 0u);
  EXPECT_EQ(unmarked_after([&] { return gacer_hook_cuMemcpyDtoD_v2(1, 2, 1); }), 0u);
  EXPECT_EQ(unmarked_after([&] { return gacer_hook_cuMemcpyAtoH_v2(&byte, nullptr, 0, 1); }), 0u);
  EXPECT_EQ(unmarked_after([&] { return gacer_hook_cuMemcpyPeer(1, nullptr, 2, nullptr, 1); }), 0u);
  EXPECT_EQ(unmarked_after([&] { return gacer_hook_cuMemcpy2D_v2(nullptr); }), 0u);
  EXPECT_EQ(unmarked_after([&] { return gacer_hook_cuMemcpy3DPeer_ptds(nullptr); }), 0u);
}

TEST_F(LaunchVariantsTest, given_copies_and_sets_of_every_shape_then_their_bytes_are_recorded) {
  close_gate();
  shm::LaunchEntry entry;
  const auto recorded = [&](CUresult result) {
    EXPECT_EQ(result, CUDA_SUCCESS);
    return next_record(entry) ? entry.blocks_or_bytes : 0;
  };
  CUDA_MEMCPY3D_PEER peer{};
  peer.WidthInBytes = 4;
  peer.Height = 3;
  peer.Depth = 2;
  EXPECT_EQ(recorded(gacer_hook_cuMemcpy3DPeerAsync(&peer, one_)), 24u);
  EXPECT_EQ(recorded(gacer_hook_cuMemcpyHtoAAsync_v2(nullptr, 0, nullptr, 9, one_)), 9u);
  EXPECT_EQ(recorded(gacer_hook_cuMemsetD2D32_v2(1, 64, 0, 5, 6)), 120u);
  EXPECT_EQ(entry.kind, static_cast<uint8_t>(LaunchKind::kMemset));
  EXPECT_EQ(recorded(gacer_hook_cuMemsetD16_v2_ptds(1, 0, 8)), 16u);
#if CUDA_VERSION >= 12080
  CUdeviceptr to[2] = {1, 2};
  CUdeviceptr from[2] = {3, 4};
  size_t sizes[2] = {100, 23};
  EXPECT_EQ(recorded(gacer_hook_cuMemcpyBatchAsync(to, from, sizes, 2, nullptr, nullptr, 0, nullptr,
                                                   one_)),
            123u);
#endif
  EXPECT_EQ(progress().waits, 0u);
}

TEST_F(LaunchVariantsTest, given_descriptions_of_null_then_nothing_is_read_from_them) {
  decide(segment(), GateMode::kUngated, 0, true, 1);
  EXPECT_EQ(gacer_hook_cuMemcpy2DAsync_v2(nullptr, one_), CUDA_SUCCESS);
  EXPECT_EQ(gacer_hook_cuMemcpy3DAsync_v2_ptsz(nullptr, one_), CUDA_SUCCESS);
  EXPECT_EQ(gacer_hook_cuMemcpy3DPeerAsync(nullptr, one_), CUDA_SUCCESS);
#if CUDA_VERSION >= 12080
  EXPECT_EQ(gacer_hook_cuMemcpy3DBatchAsync(3, nullptr, nullptr, 0, one_), CUDA_SUCCESS);
#endif
}

TEST_F(LaunchVariantsTest,
       STR_09_given_a_handle_used_again_after_destroy_then_nothing_is_inherited) {
  decide(segment(), GateMode::kWindow, 1'000'000'000, true, 1000);
  const CUfunction f = get_function("gemm");
  for (int i = 0; i < 10'000; ++i) {
    launch(one_, f);
    ASSERT_EQ(slot_of(one_).submitted_cost_ns - slot_of(one_).completed_cost_ns, kLeastNs);
    gacer_hook_cuStreamDestroy_v2(one_);
    ASSERT_FALSE(has_slot(one_));
    shm::LaunchEntry entry;
    ASSERT_TRUE(next_record(entry));
  }
  EXPECT_EQ(attachment_->streams.used(), 0u);
  for (const abi::StreamSlot& slot : segment().streams)
    EXPECT_EQ(slot.submitted_cost_ns, slot.completed_cost_ns);
}

TEST_F(LaunchVariantsTest,
       STR_09_given_a_stream_whose_creation_nobody_saw_then_it_is_governed_too) {
  close_gate();
  const CUstream foreign = test::stream_number(77);  // of a green context, or of another library
  EXPECT_EQ(waits_of([&] { return launch(foreign); }), 1u);
  EXPECT_TRUE(has_slot(foreign));
  EXPECT_EQ(progress().unregulated, 0u);
}

TEST_F(LaunchVariantsTest, STR_08_given_a_closed_gate_then_launches_on_every_default_stream_wait) {
  close_gate();
  for (const CUstream stream : {CUstream{nullptr}, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD}) {
    EXPECT_EQ(waits_of([&] { return launch(stream); }), 1u);
    EXPECT_EQ(waits_of([&] {
                return gacer_hook_cuLaunchKernel_ptsz(f_, 1, 1, 1, 1, 1, 1, 0, stream, nullptr,
                                                      nullptr);
              }),
              1u);
  }
}

TEST_F(LaunchVariantsTest, given_a_module_that_goes_then_its_handles_stand_for_nothing_known) {
  decide(segment(), GateMode::kUngated, 0, true, 1);
  const CUfunction f = get_function("gemm");
  shm::LaunchEntry entry;
  for (int i = 0; i < 3; ++i) launch(one_, f);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(next_record(entry));
  EXPECT_NE(entry.kernel_id, 0u);
  gacer_hook_cuModuleUnload(last_module_);
  launch(one_, f);
  ASSERT_TRUE(next_record(entry));
  EXPECT_EQ(entry.kernel_id, 0u);
}

TEST_F(LaunchVariantsTest, given_a_handle_that_means_another_kernel_then_the_next_launch_knows) {
  decide(segment(), GateMode::kUngated, 0, true, 1);
  shm::LaunchEntry before;
  shm::LaunchEntry after;
  shim().kernels.learn_function(f_, 1, "softmax");
  launch(one_);
  shim().kernels.learn_function(f_, 1, "layernorm");
  launch(one_);
  ASSERT_TRUE(next_record(before) && next_record(after));
  EXPECT_NE(before.kernel_id, after.kernel_id);
}

}  // namespace
}  // namespace gacer::interpose
