// SPDX-License-Identifier: Apache-2.0
// Every model at its tiny size on the CPU: the tables run, and the seeded weights keep values
// sensible.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/model/model_list.h"
#include "tests/unit/kernels/host_model.h"

namespace gacer::kernels {
namespace {

class TinyModelTest : public testing::TestWithParam<const char*> {
 protected:
  static std::vector<float> output(int batch, unsigned seed) {
    return HostModel(find_model(GetParam())->build(tiny_options(batch)), seed).forward();
  }
};

TEST_P(TinyModelTest, OutputIsFiniteAndNotConstant) {
  double sum = 0.0, squares = 0.0;
  const std::vector<float> values = output(1, 1);
  for (float value : values) {
    ASSERT_TRUE(std::isfinite(value));
    sum += value;
    squares += static_cast<double>(value) * value;
  }
  const double mean = sum / static_cast<double>(values.size());
  const double deviation = std::sqrt(squares / static_cast<double>(values.size()) - mean * mean);
  EXPECT_GT(deviation, 1e-3);
  EXPECT_LT(deviation, 1e3);
}

TEST_P(TinyModelTest, SeedDecidesTheOutput) {
  EXPECT_EQ(output(1, 1), output(1, 1));
  EXPECT_NE(output(1, 1), output(1, 2));
}

INSTANTIATE_TEST_SUITE_P(Models, TinyModelTest, testing::ValuesIn([] {
                           std::vector<const char*> names;
                           for (const ModelRow& row : kModels) names.push_back(row.name);
                           return names;
                         }()));

}  // namespace
}  // namespace gacer::kernels
