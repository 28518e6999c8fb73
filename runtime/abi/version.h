// SPDX-License-Identifier: Apache-2.0
// The one version of everything that crosses a process boundary between shim, daemon and tools.
// Shim and daemon ship together: exact match or refused, with both versions in the message.
//
// History
//   1  first layout
//   2  coverage counters; memory by device
#pragma once

#include <cstdint>

namespace gacer::abi {

inline constexpr uint32_t kAbiVersion = 2;
inline constexpr uint64_t kSegmentMagic = 0x31'47'45'53'52'43'41'47ULL;  // "GACRSEG1" little-endian
inline constexpr uint64_t kBoardMagic = 0x31'44'52'42'52'43'41'47ULL;    // "GACRBRD1"
inline constexpr uint32_t kMessageMagic = 0x43'52'43'47U;                // "GCRC"

}  // namespace gacer::abi
