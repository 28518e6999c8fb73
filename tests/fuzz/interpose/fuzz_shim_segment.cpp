// SPDX-License-Identifier: Apache-2.0
// What a hostile daemon can write into the segment and the board while the program works. Input:
// rounds of one byte that says what the program does, one of what with, one count, and as many
// offsets and values that are written before. Every launch must reach the driver, once, and come
// back.
#include <new>

#include "interpose/hook_declarations.h"
#include "interpose/shim.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/shm/segment_format.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/unit/interpose/fake_driver.h"

namespace gacer::fuzz {
namespace {

using interpose::Attachment;

constexpr size_t kPage = 4096;
constexpr uint64_t kLongestWaitNs = 30'000;  // that waits are bounded at all is gate_test's

struct Place {
  alignas(kPage) unsigned char segment[(sizeof(abi::Segment) + kPage - 1) / kPage * kPage];
  alignas(kPage) unsigned char board[kPage];
  alignas(64) unsigned char attachment[sizeof(Attachment)];
};

abi::Segment& attach(Place& place) {
  memset(place.segment, 0, sizeof place.segment);
  memset(place.board, 0, sizeof place.board);
  auto* segment = new (place.segment) abi::Segment();
  memset(place.segment, 0, sizeof place.segment);
  shm::format_segment(*segment, 1, 1);
  auto* board = reinterpret_cast<abi::Board*>(place.board);
  board->heartbeat_ns.store(monotonic_now_ns());
  interpose::shim().session.publish(new (place.attachment) Attachment(*segment, board, -1));
  return *segment;
}

// Most noise goes to the words that the shim reads at each launch.
uint64_t& word(Place& place, uint32_t choice) {
  constexpr size_t kGate = offsetof(abi::Segment, gate) / 8;
  constexpr size_t kCosts = offsetof(abi::Segment, costs) / 8;
  constexpr size_t kRing = offsetof(abi::Segment, ring_control) / 8;
  auto* words = reinterpret_cast<uint64_t*>(place.segment);
  auto* board = reinterpret_cast<uint64_t*>(place.board);
  switch (choice % 6) {
    case 0:
    case 1:
      return words[kGate + choice / 6 % (sizeof(abi::GateWords) / 8)];
    case 2:
      return words[kGate + choice / 6 % (kCosts - kGate)];
    case 3:
      return words[kRing + choice / 6 % 64];
    case 4:
      return words[choice / 6 % (sizeof(abi::Segment) / 8)];
    default:
      return board[choice / 6 % (sizeof(abi::Board) / 8)];
  }
}

void scribble(Input& input, Place& place, abi::Segment& segment) {
  const unsigned count = input.value<uint8_t>() % 16;
  for (unsigned i = 0; i < count && !input.empty(); ++i) {
    const auto choice = input.value<uint32_t>();
    word(place, choice) = input.value<uint64_t>();
  }
  if (segment.gate.max_wait_ns.load() > kLongestWaitNs) segment.gate.max_wait_ns = kLongestWaitNs;
  segment.gate.gate_seq.fetch_add(1);
}

CUresult launch(unsigned what) {
  const CUstream stream = test::stream_number(what % 8);
  const CUfunction function = test::function_number(1 + what / 8 % 4);
  if (what / 32 % 4 == 0)
    return gacer_hook_cuGraphLaunch(reinterpret_cast<CUgraphExec>(uintptr_t{0x9000}), stream);
  return gacer_hook_cuLaunchKernel(function, 1 + what, 1, 1, 64, 1, 1, 0, stream, nullptr, nullptr);
}

void act(unsigned kind, unsigned what) {
  CUdeviceptr pointer = 0;
  CUstream stream = test::stream_number(what % 8);
  const uint64_t before = test::fake().launches;
  switch (kind % 8) {
    case 0:
      gacer_hook_cuStreamSynchronize(stream);
      return;
    case 1:
      gacer_hook_cuStreamDestroy_v2(test::stream_number(1 + what % 7));
      return;
    case 2:
      gacer_hook_cuStreamCreate(&stream, 0);
      return;
    case 3:
      if (gacer_hook_cuMemAlloc_v2(&pointer, 1 + what) == CUDA_SUCCESS)
        gacer_hook_cuMemFree_v2(pointer);
      return;
    case 4:
      gacer_hook_cuCtxSynchronize();
      return;
    default:
      require(launch(what) == CUDA_SUCCESS, "the driver's answer comes back");
      require(test::fake().launches == before + 1, "a launch reaches the driver once");
  }
}

void run(Input input) {
  static Place place;
  static const bool ready = (test::reset_shim(), true);
  require(ready, "ready");
  test::reset_shim_state();
  abi::Segment& segment = attach(place);
  for (int round = 0; round < 64 && !input.empty(); ++round) {
    const auto kind = input.value<uint8_t>();
    const auto what = input.value<uint8_t>();
    scribble(input, place, segment);
    act(kind, what);
  }
  interpose::shim().session.publish(nullptr);
}

}  // namespace
}  // namespace gacer::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gacer::set_log_level(gacer::LogLevel::kError);
  gacer::fuzz::run(gacer::fuzz::Input(data, size));
  return 0;
}
