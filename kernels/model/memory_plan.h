// SPDX-License-Identifier: Apache-2.0
// Where each activation lives: rows that are never alive together share memory.
// Pure; offsets are bytes from the start of one arena, multiples of kArenaAlignment.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/model/layer_table.h"

namespace gacer::kernels {

inline constexpr std::size_t kArenaAlignment = 256;

struct MemoryPlan {
  std::vector<std::size_t> output_offset;   // per row
  std::vector<std::size_t> scratch_offset;  // per row; meaningless for rows without scratch
  std::vector<int> last_use;                // per row: the last row that reads it
  std::size_t arena_bytes = 0;
};

MemoryPlan plan_memory(const LayerTable& table);

}  // namespace gacer::kernels
