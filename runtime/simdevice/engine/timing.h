// SPDX-License-Identifier: Apache-2.0
// Fixed times of the device model. Sources and reasoning: ../MODEL.md. None of them is fitted to a
// test.
#pragma once

#include <cstdint>

namespace gacer::simdevice {

// Block completions are rounded up to this grid so that equal ones are handled together.
inline constexpr uint64_t kTickNs = 128;

// From the call that submits to the start on the device, stream idle.
inline constexpr uint64_t kLaunchLatencyNs = 4000;
inline constexpr uint64_t kGraphNodeLatencyNs = 2500;
// From the end of an operation to the start of the next one of the stream, already queued.
inline constexpr uint64_t kStreamGapNs = 1300;
inline constexpr uint64_t kGraphGapNs = 900;
// Start and drain of a block.
inline constexpr double kBlockOverheadNs = 400.0;

// Issue of dependent instructions of one warp, and global loads of one warp in flight at a time.
inline constexpr double kDependentIssueClocks = 4.0;
inline constexpr double kLoadsInFlight = 4.0;

// Queues form before DRAM is full: of a demand d and a capacity c, d / (1 + (d/c)^n)^(1/n) is
// served.
inline constexpr double kDramSaturation = 3.0;

inline constexpr uint64_t kCopySetupNs = 1500;
inline constexpr double kPageableRate = 0.5;           // of the pinned rate
inline constexpr double kHostToHostBytesPerNs = 10.0;  // one CPU core

// Contexts of different processes without MPS.
inline constexpr uint64_t kTimesliceNs = 2'000'000;
inline constexpr uint64_t kContextSwitchFixedNs = 40'000;

// Grids that run at a time (CUDA Programming Guide, compute capability 7.x to 9.x).
inline constexpr uint32_t kMaxResidentGrids = 128;

}  // namespace gacer::simdevice
