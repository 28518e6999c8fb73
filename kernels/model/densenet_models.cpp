// SPDX-License-Identifier: Apache-2.0
// DenseNet-121. The first norm of each layer sees a concatenation and cannot be folded; the second
// is. Source: Huang 2016 (arXiv 1608.06993), table 1.
#include "kernels/model/builders.h"
#include "kernels/model/table_builder.h"

namespace gacer::kernels {
namespace {

constexpr int kBlocks[] = {6, 12, 24, 16};
constexpr int kGrowth = 32;

int dense_layer(TableBuilder& table, int x, const std::string& name) {
  const int growth = table.width(kGrowth);
  int y = table.batch_norm_relu(x, name + ".norm1");
  y = table.conv(y, name + ".conv1", {4 * growth, 1, 1, 0, Epilogue::kScaleShift, kActRelu});
  y = table.conv(y, name + ".conv2", {growth, 3, 1, 1, Epilogue::kNone});
  return table.concat(x, y, name + ".concat");
}

int transition(TableBuilder& table, int x, const std::string& name) {
  x = table.batch_norm_relu(x, name + ".norm");
  x = table.conv(x, name + ".conv", {table.shape(x).c / 2, 1, 1, 0, Epilogue::kNone});
  return table.pool(x, name + ".pool", {LayerOp::kAvgPool, 2, 2, 0});
}

}  // namespace

LayerTable build_densenet121(const ModelOptions& options) {
  TableBuilder table("densenet121", options);
  int x = table.image_input(224);
  x = table.conv(x, "conv0", {table.width(64), 7, 2, 3, Epilogue::kScaleShift, kActRelu});
  x = table.pool(x, "pool0", {LayerOp::kMaxPool, 3, 2, 1});
  for (int block = 0; block < 4; ++block) {
    const std::string name = std::to_string(block + 1);
    for (int i = 0; i < table.depth(kBlocks[block]); ++i)
      x = dense_layer(table, x, "denseblock" + name + "." + std::to_string(i));
    if (block < 3) x = transition(table, x, "transition" + name);
  }
  x = table.batch_norm_relu(x, "norm5");
  table.linear(table.global_avg_pool(x), "classifier", {1000});
  return table.take();
}

}  // namespace gacer::kernels
