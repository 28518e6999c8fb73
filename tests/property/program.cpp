// SPDX-License-Identifier: Apache-2.0
#include "tests/property/program.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "tests/property/world.h"

namespace gacer::property {
namespace {

constexpr uint32_t kFewestSteps = 12;
constexpr uint32_t kMoreSteps = 28;
constexpr uint32_t kFailures = 4;

uint16_t kind_named(const char* name) {
  const auto& kinds = step_kinds();
  for (size_t i = 0; i < kinds.size(); ++i)
    if (strcmp(kinds[i].name, name) == 0) return static_cast<uint16_t>(i);
  return 0;
}

// What a program that gets anywhere begins with. {name, thread, a[0], a[1], a[2]}
struct Opening {
  const char* name;
  uint8_t thread;
  uint32_t a[3];
};
constexpr Opening kOpenings[] = {
    {"cuCtxCreate", 0, {0, 1, 0}},         {"cuDevicePrimaryCtxRetain", 1, {1, 0, 0}},
    {"cuCtxSetCurrent", 1, {0, 0, 0}},     {"cuCtxSetCurrent", 2, {0, 0, 0}},
    {"cuStreamCreate", 0, {0, 0, 1}},      {"cuStreamCreate", 1, {1, 1, 1}},
    {"cuStreamCreate", 2, {2, 0, 1}},      {"cuMemAlloc", 0, {0, 2, 1}},
    {"cuMemAlloc", 1, {1, 2, 1}},          {"cuMemAlloc", 2, {2, 2, 1}},
    {"cuModuleLoadData", 0, {0, 1, 0}},    {"cuModuleGetFunction", 0, {0, 0, 0}},
    {"cuModuleGetFunction", 0, {1, 0, 1}}, {"cuModuleGetFunction", 0, {2, 0, 2}},
    {"cuLibraryLoadData", 1, {0, 1, 0}},   {"cuLibraryGetKernel", 1, {0, 0, 1}},
    {"cuEventCreate", 0, {0, 0, 0}},       {"cuEventCreate", 1, {1, 0, 0}},
};
// Of some programs, which then are about these.
constexpr Opening kGraphOpenings[] = {
    {"cuGraphCreate", 0, {0, 0, 0}},
    {"cuGraphAddKernelNode", 0, {0, 1, 0}},
    {"cuGraphInstantiate", 0, {0, 0, 1}},
};
constexpr Opening kMappingOpenings[] = {
    {"cuMemCreate", 0, {0, 1, 1}},
    {"cuMemAddressReserve", 0, {0, 0, 0}},
};

uint64_t total_weight(Mix mix) {
  uint64_t sum = 0;
  for (const StepKind& kind : step_kinds())
    if (mix == Mix::kAnything || kind.independent) sum += kind.weight;
  return sum;
}

uint16_t choose_kind(Random& random, Mix mix) {
  static const uint64_t totals[] = {total_weight(Mix::kAnything), total_weight(Mix::kIndependent)};
  uint64_t left = random.below(static_cast<uint32_t>(totals[static_cast<size_t>(mix)]));
  const auto& kinds = step_kinds();
  for (size_t i = 0; i < kinds.size(); ++i) {
    if (mix == Mix::kIndependent && !kinds[i].independent) continue;
    if (left < kinds[i].weight) return static_cast<uint16_t>(i);
    left -= kinds[i].weight;
  }
  return 0;
}

void add(Program& program, Random& random, std::span<const Opening> openings) {
  for (const Opening& opening : openings) {
    if (random.one_in(24)) continue;
    Step step;
    step.kind = kind_named(opening.name);
    step.thread = opening.thread;
    std::copy_n(opening.a, 3, step.a);
    step.a[3] = step.a[4] = step.a[5] = 1;
    program.steps.push_back(step);
  }
}

}  // namespace

uint64_t Random::next() {
  uint64_t x = state_ += 0x9e3779b97f4a7c15ULL;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
  return x ^ x >> 31;
}

const std::vector<StepKind>& step_kinds() {
  static const std::vector<StepKind> all = [] {
    std::vector<StepKind> kinds = object_steps();
    for (const auto& more : {work_steps(), graph_steps()})
      kinds.insert(kinds.end(), more.begin(), more.end());
    return kinds;
  }();
  return all;
}

Program make_program(uint64_t seed, Mix mix) {
  Random random(seed);
  Program program;
  program.seed = seed;
  add(program, random, kOpenings);
  if (random.one_in(3)) add(program, random, kGraphOpenings);
  if (random.one_in(6)) add(program, random, kMappingOpenings);
  uint8_t thread = 0;
  for (uint32_t left = kFewestSteps + random.below(kMoreSteps); left > 0; --left) {
    Step step;
    if (random.one_in(4)) thread = static_cast<uint8_t>(random.below(kThreads));
    step.thread = thread;
    step.kind = choose_kind(random, mix);
    if (random.one_in(16)) step.failure = static_cast<uint8_t>(1 + random.below(kFailures));
    for (uint32_t& word : step.a) word = static_cast<uint32_t>(random.next() >> 32);
    program.steps.push_back(step);
  }
  return program;
}

std::string describe(const Program& program) {
  std::string text = "seed " + std::to_string(program.seed) + "\n";
  char line[200];
  for (const Step& step : program.steps) {
    snprintf(line, sizeof line, "  thread %d  %-28s %u %u %u %u %u %u%s%d\n", step.thread,
             step_kinds()[step.kind].name, step.a[0], step.a[1], step.a[2], step.a[3], step.a[4],
             step.a[5], step.failure != 0 ? "  refused " : "  ", step.failure);
    text += line;
  }
  return text;
}

}  // namespace gacer::property
