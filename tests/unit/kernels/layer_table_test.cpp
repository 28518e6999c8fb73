// SPDX-License-Identifier: Apache-2.0
// Layer tables against published sizes.
#include "kernels/model/layer_table.h"

#include <gtest/gtest.h>

#include "kernels/model/model_list.h"

namespace gacer::kernels {
namespace {

struct Published {
  const char* model;
  std::int64_t parameters;  // exact
  double giga_multiply_adds;
  double tolerance;  // of the published figure's last digit
};

// Vision: torchvision's weights table (parameters; GFLOPS, which counts multiply-adds).
// bert-base: the checkpoint's 109,482,240. gpt2: 124,439,808 with the tied head.
// lstm: torch.nn.LSTM(512, 512, 2): 2 * (4 * 512 * (512 + 512) + 2 * 4 * 512).
constexpr Published kPublished[] = {
    {"alexnet", 61100840, 0.71, 0.005},      {"vgg16", 138357544, 15.47, 0.005},
    {"resnet18", 11689512, 1.81, 0.006},     {"resnet50", 25557032, 4.09, 0.006},
    {"resnet101", 44549160, 7.80, 0.006},    {"mobilenetv2", 3504872, 0.30, 0.005},
    {"densenet121", 7978856, 2.83, 0.006},   {"bert-base", 109482240, 11.17, 0.01},
    {"gpt2-decode", 124439808, 0.13, 0.005}, {"lstm", 4202496, 0.105, 0.001},
};

LayerTable build(const char* name, const ModelOptions& options = {}) {
  return find_model(name)->build(options);
}

class PublishedSizeTest : public testing::TestWithParam<Published> {};

TEST_P(PublishedSizeTest, ParametersAndMultiplyAddsAgree) {
  const LayerTable table = build(GetParam().model);
  EXPECT_EQ(parameter_count(table), GetParam().parameters);
  EXPECT_NEAR(static_cast<double>(multiply_adds(table)) * 1e-9, GetParam().giga_multiply_adds,
              GetParam().tolerance);
}

INSTANTIATE_TEST_SUITE_P(Models, PublishedSizeTest, testing::ValuesIn(kPublished));

TEST(LayerTableTest, EveryModelHasAPublishedSizeHere) {
  for (const ModelRow& row : kModels) {
    const auto same = [&](const Published& p) { return std::string_view(p.model) == row.name; };
    EXPECT_TRUE(std::any_of(std::begin(kPublished), std::end(kPublished), same)) << row.name;
  }
}

TEST(LayerTableTest, BertEncoderAloneIs85Million) {
  const std::int64_t twelve = parameter_count(build("bert-base"));
  ModelOptions one_layer;
  one_layer.layers = 1;
  const std::int64_t one = parameter_count(build("bert-base", one_layer));
  EXPECT_EQ((twelve - one) / 11 * 12, 85054464);
}

TEST(LayerTableTest, RowsReadEarlierRowsOfFittingShape) {
  for (const ModelRow& model : kModels) {
    for (const ModelOptions& options : {ModelOptions{}, tiny_options(3)}) {
      const LayerTable table = model.build(options);
      ASSERT_GT(table.layers.size(), 1u) << model.name;
      for (std::size_t row = 0; row < table.layers.size(); ++row) {
        const Layer& layer = table.layers[row];
        for (int input : layer.inputs) EXPECT_LT(input, static_cast<int>(row)) << layer.name;
        EXPECT_EQ(layer.inputs.empty(), row == 0) << layer.name;
        EXPECT_GT(layer.out.count(), 0) << layer.name;
        const bool residual = layer.inputs.size() > 1 && layer.op != LayerOp::kConcat;
        if (residual) {
          EXPECT_EQ(table.input_of(layer, 1).out.count(), layer.out.count()) << layer.name;
        }
      }
    }
  }
}

TEST(LayerTableTest, BatchScalesWorkAndNotParameters) {
  for (const ModelRow& model : kModels) {
    ModelOptions four = tiny_options(4);
    const LayerTable one = model.build(tiny_options(1)), more = model.build(four);
    EXPECT_EQ(parameter_count(one), parameter_count(more)) << model.name;
    EXPECT_EQ(4 * multiply_adds(one), multiply_adds(more)) << model.name;
  }
}

TEST(LayerTableTest, KnownShapes) {
  const LayerTable table = build("resnet50");
  EXPECT_EQ(table.layers.back().out.c, 1000);
  const Layer& last_conv = table.layers[table.layers.size() - 3];
  EXPECT_EQ(last_conv.out.c, 2048);
  EXPECT_EQ(last_conv.out.h, 7);
}

TEST(ModelListTest, FindsByName) {
  EXPECT_EQ(find_model("vgg16")->name, std::string_view("vgg16"));
  EXPECT_EQ(find_model("vgg"), nullptr);
  EXPECT_EQ(find_model(""), nullptr);
}

}  // namespace
}  // namespace gacer::kernels
