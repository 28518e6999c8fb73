// SPDX-License-Identifier: Apache-2.0
// Whole models at their tiny size: kernels with planned, shared activation memory against the CPU
// references with memory of their own for each row.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/host/device_ops.h"
#include "kernels/model/memory_plan.h"
#include "kernels/model/model_list.h"
#include "tests/unit/kernels/device/test_device.h"
#include "tests/unit/kernels/host_model.h"

namespace gacer::kernels {
namespace {

std::size_t bytes_of(std::int64_t floats) {
  return static_cast<std::size_t>(floats) * sizeof(float);
}

class ModelDeviceTest : public testing::TestWithParam<const char*> {
 protected:
  ~ModelDeviceTest() override { device_.release_all(); }

  ModelBuffers place(const LayerTable& table) {
    const MemoryPlan plan = plan_memory(table);
    char* arena = static_cast<char*>(device_.allocate(plan.arena_bytes));
    ModelBuffers buffers;
    for (std::size_t row = 0; row < table.layers.size(); ++row) {
      buffers.output.push_back(reinterpret_cast<float*>(arena + plan.output_offset[row]));
      buffers.scratch.push_back(reinterpret_cast<float*>(arena + plan.scratch_offset[row]));
      auto& parameters = buffers.parameters.emplace_back();
      for (const Parameter& parameter : parameters_of(table, table.layers[row]))
        parameters.push_back(static_cast<float*>(device_.allocate(bytes_of(parameter.count))));
    }
    return buffers;
  }

  std::vector<float> run_on_device(const LayerTable& table, unsigned seed) {
    const ModelBuffers buffers = place(table);
    DeviceOps ops(device_.launcher());
    LayerRunner runner(table, buffers, ops);
    runner.initialise(seed);
    const Layer& first = table.layers.front();
    std::vector<float> input(static_cast<std::size_t>(first.out.count()));
    fill_input(first, seed, input.data());
    device_.upload(buffers.output.front(), input.data(), bytes_of(first.out.count()));
    runner.forward();
    std::vector<float> output(static_cast<std::size_t>(table.layers.back().out.count()));
    device_.download(output.data(), buffers.output.back(), output.size() * sizeof(float));
    return output;
  }

  TestDevice& device_ = device_under_test();
};

TEST_P(ModelDeviceTest, OutputEqualsTheReferenceModel) {
  // Given the same seeded weights and input on both sides
  HostModel reference(find_model(GetParam())->build(tiny_options(2)), 11);
  const std::vector<float> expected = reference.forward();
  // When the kernels run the table
  const std::vector<float> found = run_on_device(reference.table(), 11);
  ASSERT_EQ(device_.error(), "");
  // Then the largest difference is small beside the outputs' own size
  double size = 0.0, difference = 0.0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_TRUE(std::isfinite(found[i])) << i;
    size = std::max(size, std::abs(static_cast<double>(expected[i])));
    difference = std::max(difference, std::abs(static_cast<double>(found[i]) - expected[i]));
  }
  EXPECT_LT(difference, 1e-4 * size);
}

INSTANTIATE_TEST_SUITE_P(Models, ModelDeviceTest, testing::ValuesIn([] {
                           std::vector<const char*> names;
                           for (const ModelRow& row : kModels) names.push_back(row.name);
                           return names;
                         }()));

}  // namespace
}  // namespace gacer::kernels
