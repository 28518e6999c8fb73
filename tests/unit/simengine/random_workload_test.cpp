// SPDX-License-Identifier: Apache-2.0
// Properties over random workloads: everything ends, streams keep their order, no limit is ever
// exceeded.
#include <gtest/gtest.h>

#include <random>

#include "runtime/simdevice/engine/timing.h"
#include "tests/unit/simengine/harness.h"

namespace gacer::simdevice::test {
namespace {

struct Submitted {
  OpId op;
  uint32_t stream;
  uint32_t client;
};

class RandomWorkload {
 public:
  RandomWorkload(uint32_t seed, std::string_view device) : random_(seed), h_(device) {}

  void run() {
    make_clients();
    for (int i = 0; i < 400; ++i) {
      submit_one();
      if (pick(4) == 0) step_some(pick(60'000));
      if (pick(150) == 0) kill_one();
    }
    while (h_.engine.next_event_ns() != kNever) {
      h_.advance_to(h_.engine.next_event_ns());
      check_limits();
      ASSERT_LT(h_.now_ns, 100'000'000'000U) << "the workload does not come to an end";
    }
    check_all_ended();
    check_stream_order();
  }

 private:
  uint32_t pick(uint32_t below) { return static_cast<uint32_t>(random_() % below); }

  void make_clients() {
    const bool mps = pick(2) == 0;
    for (uint32_t c = 0; c < 1 + pick(4); ++c) {
      const uint32_t client = h_.client(mps || pick(4) == 0, pick(3) == 0 ? 1 + pick(50) : 0);
      for (uint32_t s = 0; s < 1 + pick(3); ++s) {
        const auto kind = s == 0
                              ? StreamKind::kLegacy
                              : (pick(2) == 0 ? StreamKind::kBlocking : StreamKind::kNonBlocking);
        streams_.push_back({client, h_.stream(client, kind, -static_cast<int32_t>(pick(6)))});
      }
    }
  }

  KernelCost random_cost() {
    KernelShape shape;
    shape.threads_per_block = 1 + pick(1024);
    shape.regs_per_thread = 16 + pick(48);
    shape.smem_bytes_per_block = pick(2) == 0 ? 0 : pick(90'000);
    shape.blocks = 1;
    BlockCounters counters;
    counters.warp_instructions = pick(100'000);
    counters.fp32_warp = counters.warp_instructions / 2;
    counters.longest_warp_instructions = counters.warp_instructions / 8;
    counters.unique_bytes_read = pick(2) == 0 ? 0 : pick(1 << 20);
    counters.longest_warp_global_loads = pick(50);
    return kernel_cost(h_.device, shape, counters, 1);
  }

  OpId last_op_of(uint32_t client) const {
    for (auto s = submitted_.rbegin(); s != submitted_.rend(); ++s)
      if (s->client == client) return s->op;
    return 0;
  }

  void submit_one() {
    if (streams_.empty()) return;
    const auto [client, stream] = streams_[pick(static_cast<uint32_t>(streams_.size()))];
    OpId op = 0;
    switch (pick(8)) {
      case 0:
        op = h_.copy(stream, OpKind::kCopyToDevice, pick(1 << 22), pick(2) == 0);
        break;
      case 1:
        op = h_.copy(stream, OpKind::kCopyToHost, pick(1 << 22));
        break;
      case 2:
        op = h_.copy(stream, pick(2) == 0 ? OpKind::kMemset : OpKind::kCopyOnDevice, pick(1 << 26));
        break;
      case 3:
        op = h_.instant(stream, last_op_of(client));
        break;
      default:
        op = h_.kernel_of(stream, 1 + pick(3000), random_cost(), -static_cast<int32_t>(pick(6)));
    }
    submitted_.push_back({op, stream, client});
  }

  void step_some(uint64_t delta_ns) {
    const uint64_t until = h_.now_ns + delta_ns;
    while (h_.engine.next_event_ns() <= until) {
      h_.advance_to(h_.engine.next_event_ns());
      check_limits();
    }
    h_.advance_to(until);
  }

  void kill_one() {
    if (streams_.empty()) return;
    const uint32_t victim = streams_[pick(static_cast<uint32_t>(streams_.size()))].first;
    h_.engine.remove_client(victim, h_.now_ns);
    std::erase_if(streams_, [victim](const auto& s) { return s.first == victim; });
    std::erase_if(submitted_, [victim](const Submitted& s) { return s.client == victim; });
  }

  void check_limits() {
    const SmArray* sms = h_.engine.active_sms();
    if (sms == nullptr) return;
    const DeviceSpec& spec = h_.device.spec;
    double dram = 0, l2 = 0;
    for (const Sm& sm : sms->sms()) {
      SmUsage sum;
      std::array<double, kPipeCount> pipes{};
      for (const BlockGroup& group : sm.groups()) {
        const KernelCost& cost = group.run->cost;
        sum.blocks += group.blocks;
        sum.threads += group.blocks * cost.threads;
        sum.registers += group.blocks * cost.registers;
        sum.smem_bytes += group.blocks * cost.smem_bytes;
        dram += group.blocks * group.rate * group.cost.dram_bytes;
        l2 += group.blocks * group.rate * group.cost.l2_ns;
        EXPECT_LE(group.rate, 1.0 / group.cost.alone_ns * (1 + 1e-9));
        for (unsigned p = 0; p < kPipeCount; ++p)
          pipes[p] += group.blocks * group.rate * group.cost.pipe_ns[p];
      }
      EXPECT_EQ(sum.threads, sm.usage().threads);
      EXPECT_LE(sum.blocks, spec.blocks_per_sm);
      EXPECT_LE(sum.threads, spec.threads_per_sm);
      EXPECT_LE(sum.registers, spec.regs_per_sm);
      EXPECT_LE(sum.smem_bytes, spec.smem_per_sm_bytes);
      for (const double pipe : pipes) EXPECT_LE(pipe, 1.0 + 1e-6);
    }
    EXPECT_LE(dram, spec.dram_bytes_per_ns * h_.device.memory.dram_efficiency * 1.02);
    EXPECT_LE(l2, 1.02);
  }

  void check_all_ended() {
    for (const Submitted& s : submitted_) EXPECT_TRUE(h_.is_done(s.op)) << "operation " << s.op;
  }

  void check_stream_order() {
    std::map<uint32_t, uint64_t> last_end;
    for (const Submitted& s : submitted_) {
      EXPECT_GE(h_.spans[s.op].effect_ns, last_end[s.stream]);
      EXPECT_GE(h_.end_of(s.op), h_.start_of(s.op));
      last_end[s.stream] = h_.end_of(s.op);
    }
  }

  std::mt19937 random_;
  Harness h_;
  std::vector<std::pair<uint32_t, uint32_t>> streams_;  // client, stream
  std::vector<Submitted> submitted_;
};

TEST(RandomWorkload, KeepsAllPromises) {
  const auto models = device_models();
  for (uint32_t seed = 1; seed <= 42; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomWorkload(seed, models[seed % models.size()].spec.key).run();
    if (HasFailure()) return;
  }
}

TEST(RandomWorkload, IsTheSameEachTime) {
  const auto ends = [] {
    Harness h;
    const uint32_t client = h.client(true);
    std::mt19937 random(7);
    std::vector<OpId> ops;
    for (int i = 0; i < 50; ++i)
      ops.push_back(h.kernel(h.stream(client), 1 + random() % 500,
                             1'000.0 + static_cast<double>(random() % 90'000), 256));
    h.run_dry();
    std::vector<uint64_t> result;
    for (const OpId op : ops) result.push_back(h.end_of(op));
    return result;
  };
  EXPECT_EQ(ends(), ends());
}

}  // namespace
}  // namespace gacer::simdevice::test
