// SPDX-License-Identifier: Apache-2.0
// A random program: a list of steps, each one driver call (or one thing that happens beside the
// calls) by one of a few threads. Steps name handles by variables, so that any step can be left out
// and the rest is still a program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gacer::property {

inline constexpr int kThreads = 3;

struct Step {
  uint16_t kind = 0;    // row of step_kinds()
  uint8_t thread = 0;   // 0 .. kThreads - 1
  uint8_t failure = 0;  // not 0: the driver refuses this call
  uint32_t a[6] = {};   // what the kind makes of them
};

struct Program {
  uint64_t seed = 0;
  std::vector<Step> steps;
};

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next();
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>((next() >> 32) % bound); }
  bool one_in(uint32_t count) { return below(count) == 0; }

 private:
  uint64_t state_;
};

// What a step may do: which kinds of step go into a program.
enum class Mix {
  kAnything,
  kIndependent,  // nothing that would make other threads' calls fail: for threads that run freely
};

Program make_program(uint64_t seed, Mix mix);
std::string describe(const Program& program);

// Drops steps while `fails` still holds for what is left.
template <typename Fails>
Program shrink(Program program, const Fails& fails) {
  for (size_t chunk = program.steps.size() / 2; chunk > 0; chunk /= 2)
    for (size_t at = 0; at + chunk <= program.steps.size();) {
      Program less = program;
      const auto first = less.steps.begin() + static_cast<ptrdiff_t>(at);
      less.steps.erase(first, first + static_cast<ptrdiff_t>(chunk));
      if (fails(less))
        program = less;
      else
        at += chunk;
    }
  return program;
}

}  // namespace gacer::property
