// SPDX-License-Identifier: Apache-2.0
// ResNet-18, -50 and -101 with batch norm folded into the convolutions.
// Source: He 2015 (arXiv 1512.03385), stride in the 3x3 convolution as torchvision has it.
#include "kernels/model/builders.h"
#include "kernels/model/table_builder.h"

namespace gacer::kernels {
namespace {

struct ResNetRow {
  const char* name;
  bool bottleneck;
  int blocks[4];
};

constexpr ResNetRow kResNet18{"resnet18", false, {2, 2, 2, 2}};
constexpr ResNetRow kResNet50{"resnet50", true, {3, 4, 6, 3}};
constexpr ResNetRow kResNet101{"resnet101", true, {3, 4, 23, 3}};

struct BlockSpec {
  std::string name;
  int channels, out_channels, stride;
};

// The identity, or a 1x1 convolution where the shape changes.
int shortcut(TableBuilder& table, int x, const BlockSpec& block) {
  if (block.stride == 1 && table.shape(x).c == block.out_channels) return x;
  return table.conv(x, block.name + ".downsample", {block.out_channels, 1, block.stride, 0});
}

int basic_block(TableBuilder& table, int x, const BlockSpec& b) {
  const int residual = shortcut(table, x, b);
  x = table.conv(x, b.name + ".conv1",
                 {b.channels, 3, b.stride, 1, Epilogue::kScaleShift, kActRelu});
  return table.conv(x, b.name + ".conv2",
                    {b.out_channels, 3, 1, 1, Epilogue::kScaleShift, kActRelu, residual});
}

int bottleneck_block(TableBuilder& table, int x, const BlockSpec& b) {
  const int residual = shortcut(table, x, b);
  x = table.conv(x, b.name + ".conv1", {b.channels, 1, 1, 0, Epilogue::kScaleShift, kActRelu});
  x = table.conv(x, b.name + ".conv2",
                 {b.channels, 3, b.stride, 1, Epilogue::kScaleShift, kActRelu});
  return table.conv(x, b.name + ".conv3",
                    {b.out_channels, 1, 1, 0, Epilogue::kScaleShift, kActRelu, residual});
}

int add_stage(TableBuilder& table, int x, const ResNetRow& row, int stage) {
  const int channels = table.width(64 << stage);
  for (int i = 0; i < table.depth(row.blocks[stage]); ++i) {
    const std::string name = "layer" + std::to_string(stage + 1) + "." + std::to_string(i);
    const BlockSpec block{name, channels, row.bottleneck ? 4 * channels : channels,
                          stage > 0 && i == 0 ? 2 : 1};
    x = row.bottleneck ? bottleneck_block(table, x, block) : basic_block(table, x, block);
  }
  return x;
}

LayerTable build_resnet(const ResNetRow& row, const ModelOptions& options) {
  TableBuilder table(row.name, options);
  int x = table.image_input(224);
  x = table.conv(x, "conv1", {table.width(64), 7, 2, 3, Epilogue::kScaleShift, kActRelu});
  x = table.pool(x, "maxpool", {LayerOp::kMaxPool, 3, 2, 1});
  for (int stage = 0; stage < 4; ++stage) x = add_stage(table, x, row, stage);
  table.linear(table.global_avg_pool(x), "fc", {1000});
  return table.take();
}

}  // namespace

LayerTable build_resnet18(const ModelOptions& options) {
  return build_resnet(kResNet18, options);
}
LayerTable build_resnet50(const ModelOptions& options) {
  return build_resnet(kResNet50, options);
}
LayerTable build_resnet101(const ModelOptions& options) {
  return build_resnet(kResNet101, options);
}

}  // namespace gacer::kernels
