// SPDX-License-Identifier: Apache-2.0
#include "kernels/model/memory_plan.h"

#include <gtest/gtest.h>

#include "kernels/model/model_list.h"

namespace gacer::kernels {
namespace {

struct Use {
  std::size_t begin, end;
  int from_row, to_row;
};

std::vector<Use> uses_of(const LayerTable& table, const MemoryPlan& plan) {
  std::vector<Use> uses;
  for (std::size_t row = 0; row < table.layers.size(); ++row) {
    const Layer& layer = table.layers[row];
    const int now = static_cast<int>(row);
    const auto bytes = static_cast<std::size_t>(layer.out.count()) * 4;
    const auto scratch = static_cast<std::size_t>(scratch_floats(table, layer)) * 4;
    uses.push_back(
        {plan.output_offset[row], plan.output_offset[row] + bytes, now, plan.last_use[row]});
    if (scratch > 0)
      uses.push_back({plan.scratch_offset[row], plan.scratch_offset[row] + scratch, now, now});
  }
  return uses;
}

bool collide(const Use& a, const Use& b) {
  const bool same_time = a.from_row <= b.to_row && b.from_row <= a.to_row;
  return same_time && a.begin < b.end && b.begin < a.end;
}

TEST(MemoryPlanTest, NothingAliveAtTheSameTimeOverlaps) {
  for (const ModelRow& model : kModels) {
    const LayerTable table = model.build({});
    const MemoryPlan plan = plan_memory(table);
    const std::vector<Use> uses = uses_of(table, plan);
    for (std::size_t i = 0; i < uses.size(); ++i) {
      EXPECT_LE(uses[i].end, plan.arena_bytes) << model.name;
      EXPECT_EQ(uses[i].begin % kArenaAlignment, 0u) << model.name;
      for (std::size_t j = 0; j < i; ++j) ASSERT_FALSE(collide(uses[i], uses[j])) << model.name;
    }
  }
}

TEST(MemoryPlanTest, ReadersSeeTheirInputsAlive) {
  for (const ModelRow& model : kModels) {
    const LayerTable table = model.build({});
    const MemoryPlan plan = plan_memory(table);
    for (std::size_t row = 0; row < table.layers.size(); ++row)
      for (int input : table.layers[row].inputs)
        EXPECT_GE(plan.last_use[static_cast<std::size_t>(input)], static_cast<int>(row));
    EXPECT_EQ(plan.last_use.back(), static_cast<int>(table.layers.size())) << model.name;
  }
}

TEST(MemoryPlanTest, ReuseKeepsDeepModelsSmall) {
  // Given ResNet-101, whose activations add up to twenty times its largest one
  const LayerTable table = find_model("resnet101")->build({});
  std::int64_t all_floats = 0, largest = 0;
  for (const Layer& layer : table.layers) {
    all_floats += layer.out.count();
    largest = std::max(largest, layer.out.count());
  }
  ASSERT_GT(all_floats, 15 * largest);
  // Then the arena holds a block's input, its output and one between, with some loss to gaps
  EXPECT_LT(plan_memory(table).arena_bytes, static_cast<std::size_t>(4 * largest) * 4);
}

}  // namespace
}  // namespace gacer::kernels
