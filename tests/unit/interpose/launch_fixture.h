// SPDX-License-Identifier: Apache-2.0
// A program that launches under the shim, attached to a pretended daemon. Launches go through the
// entry points.
#pragma once

#include <gtest/gtest.h>

#include "interpose/hook_declarations.h"
#include "interpose/shim.h"
#include "runtime/shm/launch_ring.h"
#include "tests/unit/interpose/fake_driver.h"

namespace gacer::test {

class LaunchFixture : public testing::Test {
 protected:
  LaunchFixture() : attachment_((reset_shim(), &attach_fake())), reader_(attachment_->segment) {}

  abi::Segment& segment() { return attachment_->segment; }
  abi::ProgressWords& progress() { return segment().progress; }
  abi::StreamSlot& slot_of(CUstream stream) {
    const int slot = attachment_->streams.find(reinterpret_cast<uint64_t>(stream));
    return segment().streams[slot < 0 ? 0 : slot];
  }
  bool has_slot(CUstream stream) {
    return attachment_->streams.find(reinterpret_cast<uint64_t>(stream)) >= 0;
  }

  // 100 blocks of 100 threads: a guess of 2000 ns, the least there is.
  CUresult launch(CUstream stream, CUfunction function = function_number(1),
                  unsigned blocks = 100) {
    return gacer_hook_cuLaunchKernel(function, blocks, 1, 1, 100, 1, 1, 64, stream, nullptr,
                                     nullptr);
  }
  bool next_record(shm::LaunchEntry& entry) { return reader_.pop(entry, 1); }

  // A kernel that the program has got from a module in the ordinary way.
  CUfunction get_function(const char* name, const char* image = ".version 8.0") {
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    gacer_hook_cuModuleLoadData(&module, image);
    gacer_hook_cuModuleGetFunction(&function, module, name);
    last_module_ = module;
    return function;
  }

  static constexpr uint64_t kLeastNs = 2'000;
  CUstream one_ = stream_number(1);
  CUstream two_ = stream_number(2);
  CUmodule last_module_ = nullptr;
  interpose::Attachment* attachment_;
  shm::LaunchRingReader reader_;
};

}  // namespace gacer::test
