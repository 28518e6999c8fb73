// SPDX-License-Identifier: Apache-2.0
#include "tests/property/runner.h"

#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <semaphore>
#include <thread>

namespace gacer::property {
namespace {

std::vector<uint64_t> successes;

void run_step(World& world, const Step& step, ThreadState* threads, Trace& trace) {
  world.thread = &threads[step.thread];
  world.trace.clear();
  step_kinds()[step.kind].run(world, step);
  successes.resize(step_kinds().size());
  if (!world.trace.empty() && world.trace.front() == CUDA_SUCCESS) ++successes[step.kind];
  trace.push_back(world.trace);
}

Faults faults_of(uint64_t seed) {
  Random random(seed * 7 + 1);
  return {random.one_in(6), random.one_in(6), random.one_in(12), random.one_in(12)};
}

std::string words(const std::vector<uint64_t>& values) {
  std::string text;
  char word[24];
  for (const uint64_t value : values) {
    snprintf(word, sizeof word, " %llx", static_cast<unsigned long long>(value));
    text += word;
  }
  return text;
}

std::string trace_difference(const Program& program, const Outcome& direct,
                             const Outcome& shimmed) {
  for (size_t i = 0; i < direct.trace.size(); ++i) {
    if (direct.trace[i] == shimmed.trace[i]) continue;
    return "step " + std::to_string(i) + " (" + step_kinds()[program.steps[i].kind].name +
           "): without the shim" + words(direct.trace[i]) + ", with it" + words(shimmed.trace[i]);
  }
  return "";
}

std::string effect_difference(const Outcome& direct, const Outcome& shimmed) {
  for (size_t i = 0; i < std::max(direct.effects.size(), shimmed.effects.size()); ++i) {
    const auto text = [&](const Outcome& outcome) {
      if (i >= outcome.effects.size()) return std::string(" none");
      const Effect& effect = outcome.effects[i];
      return words({effect.stream, static_cast<uint64_t>(effect.kind), effect.function, effect.to,
                    effect.digest});
    };
    if (text(direct) == text(shimmed)) continue;
    return "effect " + std::to_string(i) +
           " (stream, kind, function, to, digest): without the shim" + text(direct) + ", with it" +
           text(shimmed);
  }
  return "";
}

}  // namespace

class Crew::Worker {
 public:
  Worker() : thread_([this] { loop(); }) {}
  ~Worker() {
    job_ = nullptr;
    start_.release();
    thread_.join();
  }
  void run(const std::function<void()>& job) {
    job_ = &job;
    start_.release();
    done_.acquire();
  }

 private:
  void loop() {
    while (true) {
      start_.acquire();
      if (job_ == nullptr) return;
      (*job_)();
      done_.release();
    }
  }
  const std::function<void()>* job_ = nullptr;
  std::binary_semaphore start_{0};
  std::binary_semaphore done_{0};
  std::thread thread_;
};

Crew::Crew() {
  for (auto& worker : workers_) worker = std::make_unique<Worker>();
}
Crew::~Crew() = default;

Outcome Crew::run(const Program& program, bool with_shim) {
  Model model(program.seed);
  memset(Model::host_memory(), 0, Model::kHostBytes);
  install_model(&model);
  if (with_shim) model.faults = faults_of(program.seed);
  std::optional<ShimHarness> shim;
  if (with_shim) shim.emplace(model, program.seed % 8 != 0);
  World world(model, with_shim ? &*shim : nullptr);
  ThreadState threads[kThreads];
  for (int i = 0; i < kThreads; ++i) threads[i].index = i;
  Outcome outcome;
  for (size_t at = 0; at < program.steps.size();) {
    const uint8_t who = program.steps[at].thread;
    workers_[who]->run([&] {
      ThreadState::bind(&threads[who]);
      for (; at < program.steps.size() && program.steps[at].thread == who; ++at)
        run_step(world, program.steps[at], threads, outcome.trace);
      ThreadState::bind(nullptr);
    });
  }
  shim.reset();
  model.finish();
  outcome.effects = std::move(model.effects);
  outcome.state = model.digest();
  outcome.violations = std::move(model.violations);
  outcome.extra_calls =
      std::accumulate(std::begin(model.extra_calls), std::end(model.extra_calls), uint64_t{0});
  return outcome;
}

std::string Crew::difference(const Program& program) {
  const Outcome direct = run(program, false);
  const Outcome shimmed = run(program, true);
  if (!direct.violations.empty()) return "the model itself: " + direct.violations.front();
  if (!shimmed.violations.empty()) return shimmed.violations.front();
  if (direct.extra_calls != 0) return "the model takes the program's calls for the shim's";
  std::string found = trace_difference(program, direct, shimmed);
  if (found.empty()) found = effect_difference(direct, shimmed);
  if (found.empty() && direct.state != shimmed.state)
    found = "memory or live objects at the end:" + words(direct.state) + "\n  with the shim" +
            words(shimmed.state);
  return found;
}

std::vector<std::string> kinds_without_success() {
  std::vector<std::string> names;
  for (size_t i = 0; i < step_kinds().size(); ++i)
    if (i >= successes.size() || successes[i] == 0) names.emplace_back(step_kinds()[i].name);
  return names;
}

}  // namespace gacer::property
