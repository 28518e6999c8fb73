// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/regulator/device_loop.h"

#include <algorithm>
#include <stdexcept>

namespace gacer::regulator::test {
namespace {

constexpr uint64_t kGuessNs = 30'000;    // the shim's cost for unknown kernels
constexpr size_t kHardwareQueue = 1024;  // launches a stream holds before the driver blocks
constexpr uint64_t kWakeNs = 5'000;      // futex wake, return from synchronise
constexpr DeviceShape kDevice{108, 2048, 65536, 167936, 32};

class EventQueue {
 public:
  void at(uint64_t time_ns, std::function<void()> action) {
    events_.push({time_ns, order_++, std::move(action)});
  }
  uint64_t now_ns() const { return now_ns_; }
  void run_until(uint64_t end_ns) {
    while (!events_.empty() && events_.top().time_ns <= end_ns) {
      Event event = events_.top();
      events_.pop();
      now_ns_ = event.time_ns;
      event.action();
    }
    now_ns_ = end_ns;
  }

 private:
  struct Event {
    uint64_t time_ns, order;
    std::function<void()> action;
    bool operator<(const Event& other) const {
      return std::pair(time_ns, order) > std::pair(other.time_ns, other.order);
    }
  };
  std::priority_queue<Event> events_;
  uint64_t now_ns_ = 0;
  uint64_t order_ = 0;
};

struct Work {
  uint64_t duration_ns = 0;
  uint64_t arrived = 0;  // order over all streams
  std::function<void()> done;
};

// One in-order queue per stream, one kernel at a time.
class Gpu {
 public:
  Gpu(EventQueue& events, bool use_priority) : events_(events), use_priority_(use_priority) {}
  size_t add_stream(int rank) {
    streams_.push_back({rank, {}});
    return streams_.size() - 1;
  }
  void submit(size_t stream, uint64_t duration_ns, std::function<void()> done) {
    streams_[stream].queue.push_back({duration_ns, order_++, std::move(done)});
    start_next();
  }
  size_t depth(size_t stream) const { return streams_[stream].queue.size(); }
  uint64_t busy_ns() const { return busy_ns_; }

 private:
  struct Stream {
    int rank = 0;
    std::deque<Work> queue;
  };
  bool before(const Stream& a, const Stream& b) const {
    if (use_priority_ && a.rank != b.rank) return a.rank > b.rank;
    return a.queue.front().arrived < b.queue.front().arrived;
  }
  void start_next() {
    if (running_) return;
    Stream* best = nullptr;
    for (Stream& stream : streams_) {
      if (stream.queue.empty()) continue;
      if (best == nullptr || before(stream, *best)) best = &stream;
    }
    if (best == nullptr) return;
    running_ = true;
    const uint64_t duration_ns = best->queue.front().duration_ns;
    const size_t index = static_cast<size_t>(best - streams_.data());
    events_.at(events_.now_ns() + duration_ns, [this, index, duration_ns] {
      busy_ns_ += duration_ns;
      finish(index);
    });
  }
  void finish(size_t index) {
    Work work = std::move(streams_[index].queue.front());
    streams_[index].queue.pop_front();
    running_ = false;
    work.done();
    start_next();
  }

  EventQueue& events_;
  bool use_priority_;
  std::vector<Stream> streams_;
  uint64_t order_ = 0;
  uint64_t busy_ns_ = 0;
  bool running_ = false;
};

// One process with one stream and one launching thread.
class Host {
 public:
  Host(EventQueue& events, Gpu& gpu, const HostSpec& spec, uint64_t seed)
      : events_(events), gpu_(gpu), spec_(spec), random_(seed) {
    for (const KernelSpec& kernel : spec_.request) slot_of(kernel.id);
  }

  void start(int stream_rank) {
    stream_ = gpu_.add_stream(stream_rank);
    schedule_arrival(spec_.first_request_ns);
  }
  void set_gate(const GateDecision& gate) {
    gate_ = gate;
    retry();
  }
  void set_cost(uint32_t slot, uint32_t cost_ns) { costs_[slot] = cost_ns; }
  std::vector<LaunchEvent> take_records() { return std::exchange(records_, {}); }
  ProgressEvent progress() const {
    ProgressEvent event;
    event.streams = {{0, submitted_ns_, completed_ns_}};
    event.launches = launches_;
    event.deadline_releases = result_.deadline_releases;
    event.waiting_threads = waiting_ ? 1 : 0;
    return event;
  }
  HostResult result() const {
    HostResult result = result_;
    for (const auto& [kernel_id, slot] : slots_) {
      if (costs_.contains(slot)) result.costs_ns[kernel_id] = costs_.at(slot);
    }
    return result;
  }

 private:
  bool poisson() const { return spec_.arrivals_per_s > 0; }
  uint32_t slot_of(uint64_t kernel_id) {
    return slots_.try_emplace(kernel_id, static_cast<uint32_t>(slots_.size())).first->second;
  }

  void schedule_arrival(uint64_t after_ns) {
    uint64_t gap_ns = 0;
    if (poisson()) {
      std::exponential_distribution<double> gap(spec_.arrivals_per_s);
      gap_ns = static_cast<uint64_t>(gap(random_) * 1e9);
    }
    if (after_ns + gap_ns >= spec_.last_request_ns) return;
    events_.at(after_ns + gap_ns, [this] { arrive(); });
  }
  void arrive() {
    arrivals_.push_back(events_.now_ns());
    if (poisson()) schedule_arrival(events_.now_ns());
    if (!serving_) begin_request();
  }
  void begin_request() {
    serving_ = true;
    next_kernel_ = 0;
    try_launch();
  }

  uint64_t cost_of(const KernelSpec& kernel) {
    const auto told = costs_.find(slot_of(kernel.id));
    return told == costs_.end() ? kGuessNs : told->second;
  }
  bool may_go(uint64_t cost_ns) const {
    if (gpu_.depth(stream_) >= kHardwareQueue) return false;
    if (gate_.mode == GateMode::kUngated) return true;
    if (gate_.mode == GateMode::kClosed) return false;
    const uint64_t in_flight_ns = submitted_ns_ - completed_ns_;
    return in_flight_ns == 0 || in_flight_ns + cost_ns <= gate_.window_ns;
  }
  void try_launch() {
    if (may_go(cost_of(spec_.request[next_kernel_]))) return launch(0);
    waiting_ = true;
    waiting_since_ns_ = events_.now_ns();
    const uint64_t wait = ++wait_number_;
    events_.at(events_.now_ns() + gate_.max_wait_ns, [this, wait] {
      if (!waiting_ || wait != wait_number_) return;
      ++result_.deadline_releases;
      end_wait();
    });
  }
  void retry() {
    if (!waiting_ || wake_pending_ || !may_go(cost_of(spec_.request[next_kernel_]))) return;
    wake_pending_ = true;
    events_.at(events_.now_ns() + kWakeNs, [this] {
      wake_pending_ = false;
      if (waiting_ && may_go(cost_of(spec_.request[next_kernel_]))) end_wait();
    });
  }
  void end_wait() {
    waiting_ = false;
    const uint64_t wait_ns = events_.now_ns() - waiting_since_ns_;
    result_.longest_wait_ns = std::max(result_.longest_wait_ns, wait_ns);
    launch(wait_ns);
  }
  void launch(uint64_t wait_ns) {
    const KernelSpec& kernel = spec_.request[next_kernel_++];
    const uint64_t cost_ns = cost_of(kernel);
    submitted_ns_ += cost_ns;
    ++launches_;
    record(kernel, cost_ns, wait_ns);
    queued_ns_ += kernel.duration_ns;
    result_.deepest_queue_ns = std::max(result_.deepest_queue_ns, queued_ns_);
    const bool last = next_kernel_ == spec_.request.size();
    const bool sync = last && spec_.synchronises;
    const bool mark = gate_.mark_every != 0 && ++unmarked_ >= gate_.mark_every;
    if (mark || (sync && gate_.mark_every != 0)) unmarked_ = 0;
    submit(kernel.duration_ns, unmarked_ == 0 && gate_.mark_every != 0, last);
    if (last && !spec_.synchronises) return next_request_at(events_.now_ns() + spec_.launch_ns);
    if (!last) events_.at(events_.now_ns() + spec_.launch_ns, [this] { try_launch(); });
  }
  void submit(uint64_t duration_ns, bool marked, bool last) {
    const uint64_t cumulative_ns = submitted_ns_;
    const uint64_t arrival_ns = arrivals_.front();
    if (last) arrivals_.pop_front();
    gpu_.submit(stream_, duration_ns, [=, this] {
      result_.device_ns += duration_ns;
      queued_ns_ -= duration_ns;
      if (marked) completed_ns_ = std::max(completed_ns_, cumulative_ns);
      if (last) end_request(arrival_ns);
      retry();
    });
  }
  void record(const KernelSpec& kernel, uint64_t cost_ns, uint64_t wait_ns) {
    if (!gate_.record) return;
    LaunchEvent event;
    event.submit_ns = events_.now_ns();
    event.kernel_id = kernel.id;
    event.stream_cost_ns = submitted_ns_;
    event.blocks = 1'000'000;
    event.block_threads = 256;
    event.cost_slot = slot_of(kernel.id);
    event.cost_ns = static_cast<uint32_t>(cost_ns);
    event.wait_ns = static_cast<uint32_t>(wait_ns);
    event.kind = 1;
    records_.push_back(event);
  }
  void end_request(uint64_t arrival_ns) {
    result_.latencies_ns.push_back(events_.now_ns() - arrival_ns);
    if (spec_.synchronises) next_request_at(events_.now_ns() + kWakeNs);
  }
  void next_request_at(uint64_t time_ns) {
    events_.at(time_ns, [this] {
      serving_ = false;
      if (!poisson() && events_.now_ns() < spec_.last_request_ns)
        arrivals_.push_back(events_.now_ns());
      if (!arrivals_.empty()) begin_request();
    });
  }

  EventQueue& events_;
  Gpu& gpu_;
  HostSpec spec_;
  std::mt19937_64 random_;
  size_t stream_ = 0;
  GateDecision gate_;
  std::map<uint32_t, uint32_t> costs_;
  std::map<uint64_t, uint32_t> slots_;
  std::vector<LaunchEvent> records_;
  std::deque<uint64_t> arrivals_;
  HostResult result_;
  size_t next_kernel_ = 0;
  uint64_t submitted_ns_ = 0, completed_ns_ = 0, launches_ = 0, queued_ns_ = 0;
  uint64_t unmarked_ = 0, wait_number_ = 0, waiting_since_ns_ = 0;
  bool waiting_ = false, wake_pending_ = false, serving_ = false;
};

class Loop {
 public:
  explicit Loop(const LoopSpec& spec)
      : spec_(spec),
        gpu_(events_, spec.device_priority),
        random_(spec.seed),
        regulator_(Regulator::create(spec.policy)) {
    for (const auto& [key, value] : spec_.knobs) {
      if (!regulator_->tune(key, value)) throw std::invalid_argument("knob " + key);
    }
    for (const HostSpec& host : spec_.hosts) add(host);
  }
  LoopResult run() {
    poll();
    for (auto& host : hosts_) host->start(ranks_[&host - hosts_.data()]);
    events_.run_until(spec_.run_ns);
    for (size_t i = 0; i < hosts_.size(); ++i) {
      result_.hosts[spec_.hosts[i].name] = hosts_[i]->result();
    }
    result_.device_busy_ns = gpu_.busy_ns();
    return result_;
  }

 private:
  void add(const HostSpec& host) {
    TenantConfig config;
    config.name = host.name;
    config.tenant_class = host.tenant_class;
    config.weight = host.weight;
    if (!regulator_->attach(hosts_.size(), config, kDevice, 0))
      throw std::invalid_argument(host.name);
    hosts_.push_back(
        std::make_unique<Host>(events_, gpu_, host, spec_.seed * 7919 + hosts_.size()));
    ranks_.push_back(0);
  }
  void poll() {
    ++result_.polls;
    for (ProcessId id = 0; id < hosts_.size(); ++id) {
      for (const LaunchEvent& launch : hosts_[id]->take_records())
        regulator_->on_launch(id, launch);
      regulator_->on_progress(id, hosts_[id]->progress(), events_.now_ns());
    }
    std::vector<ProcessDecision> gates;
    std::vector<KernelCost> costs;
    regulator_->decide(events_.now_ns(), gates, costs);
    for (const ProcessDecision& decision : gates) {
      ranks_[decision.process] = decision.gate.stream_priority_rank;
      hosts_[decision.process]->set_gate(decision.gate);
    }
    for (const KernelCost& cost : costs)
      hosts_[cost.process]->set_cost(cost.cost_slot, cost.cost_ns);
    std::uniform_int_distribution<uint64_t> jitter(0, spec_.daemon_jitter_ns);
    events_.at(regulator_->next_wakeup_ns(events_.now_ns()) + jitter(random_), [this] { poll(); });
  }

  LoopSpec spec_;
  EventQueue events_;
  Gpu gpu_;
  std::mt19937_64 random_;
  std::unique_ptr<Regulator> regulator_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::vector<int> ranks_;
  LoopResult result_;
};

}  // namespace

LoopResult run_loop(const LoopSpec& spec) {
  return Loop(spec).run();
}

uint64_t percentile(std::vector<uint64_t> values, double fraction) {
  if (values.empty()) return 0;
  const auto at = static_cast<size_t>(fraction * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(at), values.end());
  return values[at];
}

}  // namespace gacer::regulator::test
