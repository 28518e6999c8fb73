// SPDX-License-Identifier: Apache-2.0
#include "kernels/model/memory_plan.h"

#include <algorithm>

namespace gacer::kernels {
namespace {

struct Block {
  std::size_t begin, end;
  int free_after;  // row after which the memory may be used again
};

std::size_t aligned_bytes(std::int64_t floats) {
  const std::size_t bytes = static_cast<std::size_t>(floats) * sizeof(float);
  return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

// First fit among the live blocks, which stay sorted by begin.
class Arena {
 public:
  std::size_t place(std::size_t bytes, int now, int free_after) {
    std::erase_if(live_, [now](const Block& block) { return block.free_after < now; });
    std::size_t begin = 0;
    auto at = live_.begin();
    for (; at != live_.end() && begin + bytes > at->begin; ++at) begin = at->end;
    live_.insert(at, {begin, begin + bytes, free_after});
    high_water_ = std::max(high_water_, begin + bytes);
    return begin;
  }
  std::size_t high_water() const { return high_water_; }

 private:
  std::vector<Block> live_;
  std::size_t high_water_ = 0;
};

std::vector<int> last_uses(const LayerTable& table) {
  const int rows = static_cast<int>(table.layers.size());
  std::vector<int> last(table.layers.size());
  for (int row = 0; row < rows; ++row) {
    last[static_cast<std::size_t>(row)] = row;
    for (int input : table.layers[static_cast<std::size_t>(row)].inputs)
      last[static_cast<std::size_t>(input)] = row;
  }
  if (rows > 0) last.back() = rows;  // the output is read after the last row
  return last;
}

}  // namespace

MemoryPlan plan_memory(const LayerTable& table) {
  MemoryPlan plan;
  plan.last_use = last_uses(table);
  Arena arena;
  for (std::size_t row = 0; row < table.layers.size(); ++row) {
    const Layer& layer = table.layers[row];
    const int now = static_cast<int>(row);
    plan.output_offset.push_back(
        arena.place(aligned_bytes(layer.out.count()), now, plan.last_use[row]));
    const std::int64_t scratch = scratch_floats(table, layer);
    plan.scratch_offset.push_back(scratch > 0 ? arena.place(aligned_bytes(scratch), now, now) : 0);
  }
  plan.arena_bytes = arena.high_water();
  return plan;
}

}  // namespace gacer::kernels
