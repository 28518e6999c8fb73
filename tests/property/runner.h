// SPDX-License-Identifier: Apache-2.0
// Runs programs, with and without the shim, and compares.
#pragma once

#include <memory>
#include <string>

#include "tests/property/program.h"
#include "tests/property/world.h"

namespace gacer::property {

struct Outcome {
  Trace trace;
  std::vector<Effect> effects;
  std::vector<uint64_t> state;
  std::vector<std::string> violations;
  uint64_t extra_calls = 0;  // the shim's own
  uint64_t kernels = 0;      // launches that were answered with success
};

// Threads that live as long as this object. A program's thread is always the same one of them, so
// that what the shim keeps per thread is exercised too.
class Crew {
 public:
  Crew();
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // Steps one after the other, each in its thread.
  Outcome run(const Program& program, bool with_shim);
  // Empty: both runs were the same.
  std::string difference(const Program& program);

 private:
  class Worker;
  std::unique_ptr<Worker> workers_[kThreads];
};

// Threads run freely, each through a program of its own, under the shim, while a daemon changes its
// mind.
Outcome run_freely(const Program (&programs)[kThreads]);

// The kinds of steps that were run at least once and answered CUDA_SUCCESS at least once.
std::vector<std::string> kinds_without_success();

}  // namespace gacer::property
