// SPDX-License-Identifier: Apache-2.0
// validate_replay < SCENARIOS: jobs made of traced kernels on the simulated device. A line each:
//
//   device KEY SMS DRAM_SHARE L2_SHARE: a part of a device (MIG), or all of it (0 1 1)
//   client MODE SM_CAP PRIORITY: MODE mps or sliced
//   kernel US BLOCKS THREADS REGS SMEM DRAM ISSUE: of the last client; traced on the whole device
//   sms US SMS DRAM ISSUE: the same, when only the SMs needed are known
//   closed N: the last client's iterations follow one another, N of them; 0: without end
//   paced GAP_MS N: they begin GAP_MS apart, later if the last one is not over
//   run NAME UNTIL_MS: prints a line NAME CLIENT ITERATIONS SECONDS MEAN_MS P99_MS for each client
//
// Time ends when every client with a number of iterations has done them, or at UNTIL_MS. Nothing
// here depends on the host's clock or on chance.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <numeric>
#include <sstream>

#include "runtime/simdevice/engine/engine.h"
#include "runtime/simdevice/engine/traced_cost.h"
#include "tests/bench/validate/lab.h"

namespace gacer::bench {
namespace {

using namespace simdevice;

// The host submits kernels no faster than this: the median of launch calls in the traces is 3 to 18
// us, the least 3.
constexpr uint64_t kSubmitNs = 3000;
// How far a host runs ahead of the device.
constexpr size_t kMostQueued = 64;

struct Job {
  bool mps = true;
  uint32_t sm_cap = 0;
  int32_t priority = 0;
  std::vector<StartedKernel> kernels;
  std::vector<double> durations_ns;  // of the kernels, alone
  uint64_t wanted = 0;               // iterations; 0: until the others are done
  double gap_ns = 0;                 // from begin to begin; 0: closed loop

  uint32_t stream = 0;
  std::vector<double> latencies_ms;
  size_t next_kernel = 0;  // of the iteration being submitted
  uint64_t begun = 0;      // iterations
  uint64_t ended = 0;
  double work_ns = 0;  // durations of the kernels that have ended
  size_t queued = 0;
  uint64_t host_ns = 0;   // when it can submit next
  uint64_t begin_ns = 0;  // of the iteration that runs
  uint64_t last_end_ns = 0;

  bool done() const { return wanted != 0 && ended >= wanted; }
  // A run may end in the middle of a long one: its kernels count by their durations.
  double iterations() const {
    return work_ns / std::accumulate(durations_ns.begin(), durations_ns.end(), 0.0);
  }
  bool wants_more() const { return wanted == 0 || begun < wanted || next_kernel != 0; }
};

class Replay final : public EngineHost {
 public:
  Replay(const DeviceModel& device, std::vector<Job>& jobs) : engine_(device, *this), jobs_(jobs) {}

  void run(uint64_t until_ns) {
    for (Job& job : jobs_) prepare(job);
    uint64_t now_ns = 0;
    while (now_ns < until_ns && !all_done()) {
      const uint64_t next = std::min(next_submit_ns(), engine_.next_event_ns());
      if (next == kNever) break;
      now_ns = std::max(now_ns, next);
      engine_.advance_to(now_ns);
      for (Job& job : jobs_) submit_due(job, now_ns);
    }
    end_ns_ = now_ns;
  }
  double seconds() const { return static_cast<double>(end_ns_) / 1e9; }

  StartResult op_started(const Op& op, uint64_t) override {
    StartResult result;
    const Job& job = jobs_[op.spec.cookie >> 32];
    result.kernel = job.kernels[op.spec.cookie & 0xffff'ffff];
    return result;
  }
  void op_ended(const Op& op, uint64_t, uint64_t end_ns) override {
    Job& job = jobs_[op.spec.cookie >> 32];
    --job.queued;
    job.work_ns += job.durations_ns[op.spec.cookie & 0xffff'ffff];
    if ((op.spec.cookie & 0xffff'ffff) + 1 != job.kernels.size()) return;
    job.last_end_ns = end_ns;
    ++job.ended;
    job.latencies_ms.push_back(static_cast<double>(end_ns - job.begin_ns) / 1e6);
    if (job.gap_ns <= 0) job.begin_ns = end_ns;
  }

 private:
  void prepare(Job& job) {
    job.stream = engine_.add_stream(engine_.add_client({job.mps, job.sm_cap, job.priority}), 0,
                                    StreamKind::kNonBlocking, 0);
  }

  bool all_done() const {
    const auto endless = [](const Job& job) { return job.wanted == 0; };
    if (std::all_of(jobs_.begin(), jobs_.end(), endless)) return false;
    return std::all_of(jobs_.begin(), jobs_.end(),
                       [&](const Job& job) { return endless(job) || job.done(); });
  }

  uint64_t submit_ns(const Job& job) const {
    if (!job.wants_more() || job.queued >= kMostQueued) return kNever;
    if (job.gap_ns <= 0 || job.next_kernel != 0) return job.host_ns;
    // A server takes the next request when the last one has been answered.
    if (job.ended != job.begun) return kNever;
    const uint64_t paced_ns = job.begun == 0 ? 0 : job.begin_ns + static_cast<uint64_t>(job.gap_ns);
    return std::max({job.host_ns, paced_ns, job.last_end_ns});
  }
  uint64_t next_submit_ns() const {
    uint64_t next = kNever;
    for (const Job& job : jobs_) next = std::min(next, submit_ns(job));
    return next;
  }

  void submit_due(Job& job, uint64_t now_ns) {
    if (submit_ns(job) > now_ns) return;
    OpSpec spec;
    spec.stream = job.stream;
    spec.kind = OpKind::kKernel;
    spec.cookie = static_cast<uint64_t>(&job - jobs_.data()) << 32 | job.next_kernel;
    engine_.submit(spec, now_ns);
    ++job.queued;
    job.host_ns = now_ns + kSubmitNs;
    if (job.next_kernel == 0) {
      ++job.begun;
      if (job.gap_ns > 0) job.begin_ns = now_ns;
    }
    job.next_kernel = (job.next_kernel + 1) % job.kernels.size();
  }

  Engine engine_;
  std::vector<Job>& jobs_;
  uint64_t end_ns_ = 0;
};

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

class Script {
 public:
  void line(const std::string& text) {
    std::istringstream in(text);
    std::string word;
    in >> word;
    if (word == "device") return device(in);
    if (word == "client") return client(in);
    if (word == "run") return run(in);
    if (word.empty()) return;
    if (jobs_.empty()) give_up(word + " without a client");
    if (word == "kernel" || word == "sms") return kernel(in, word == "sms");
    Job& job = jobs_.back();
    if (word == "closed") {
      in >> job.wanted;
    } else if (word == "paced") {
      in >> job.gap_ns >> job.wanted;
      job.gap_ns *= 1e6;
    } else {
      give_up("unknown line: " + text);
    }
  }

 private:
  void device(std::istream& in) {
    std::string key;
    double dram = 1, l2 = 1;
    uint32_t sms = 0;
    in >> key >> sms >> dram >> l2;
    const DeviceModel* model = find_device_model(key);
    if (model == nullptr) give_up("no device " + key);
    whole_ = part_ = *model;
    if (sms > 0) part_.spec.sm_count = sms;
    part_.spec.dram_bytes_per_ns *= dram;
    part_.spec.l2_bytes = static_cast<uint64_t>(l2 * static_cast<double>(part_.spec.l2_bytes));
    part_.memory.l2_bytes_per_clock *= l2;
  }
  void client(std::istream& in) {
    std::string mode;
    Job job;
    in >> mode >> job.sm_cap >> job.priority;
    job.mps = mode == "mps";
    jobs_.push_back(job);
  }
  void kernel(std::istream& in, bool only_sms) {
    TracedKernel traced;
    uint64_t sms = 1;
    in >> traced.duration_ns;
    traced.duration_ns *= 1000;
    if (only_sms) {
      in >> sms;
      traced.shape = shape_of_sms(whole_.spec, sms);
    } else {
      in >> traced.shape.blocks >> traced.shape.threads_per_block >> traced.shape.regs_per_thread >>
          traced.shape.smem_bytes_per_block;
    }
    in >> traced.dram_fraction >> traced.issue_fraction;
    if (!in) give_up("a kernel with too few numbers");
    // A trace of a larger device: its library would choose tiles that fit here.
    traced.shape.smem_bytes_per_block = static_cast<uint32_t>(std::min<uint64_t>(
        traced.shape.smem_bytes_per_block, whole_.spec.smem_per_block_optin_bytes));
    const KernelCost cost = traced_cost(whole_, traced);
    if (blocks_per_sm(whole_.spec, cost) == 0)
      give_up("a kernel whose blocks do not fit the device");
    jobs_.back().durations_ns.push_back(traced.duration_ns);
    jobs_.back().kernels.push_back({cost, traced.shape.blocks});
  }
  void run(std::istream& in) {
    std::string name;
    double until_ms = 0;
    in >> name >> until_ms;
    Replay replay(part_, jobs_);
    replay.run(static_cast<uint64_t>(until_ms * 1e6));
    for (size_t i = 0; i < jobs_.size(); ++i)
      std::printf("%s\t%zu\t%.6f\t%.6f\t%.6f\t%.6f\n", name.c_str(), i, jobs_[i].iterations(),
                  replay.seconds(), mean(jobs_[i].latencies_ms),
                  percentile(jobs_[i].latencies_ms, 0.99));
    std::fflush(stdout);
    jobs_.clear();
  }

  DeviceModel whole_, part_;
  std::vector<Job> jobs_;
};

}  // namespace
}  // namespace gacer::bench

int main() {
  gacer::bench::Script script;
  for (std::string line; std::getline(std::cin, line);) script.line(line);
}
