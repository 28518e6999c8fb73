// SPDX-License-Identifier: Apache-2.0
// AlexNet and VGG-16: rows of convolutions and pools, then three linear layers.
// Sources: Krizhevsky 2014 (arXiv 1404.5997) as torchvision has it; Simonyan 2014 (arXiv
// 1409.1556).
#include "kernels/model/builders.h"
#include "kernels/model/table_builder.h"

namespace gacer::kernels {
namespace {

struct FeatureRow {
  int channels;  // 0: max pool
  int kernel, stride, pad;
};

constexpr FeatureRow kAlexNetFeatures[] = {
    {64, 11, 4, 2}, {0, 3, 2, 0},   {192, 5, 1, 2}, {0, 3, 2, 0},
    {384, 3, 1, 1}, {256, 3, 1, 1}, {256, 3, 1, 1}, {0, 3, 2, 0},
};

constexpr FeatureRow kVgg16Features[] = {
    {64, 3, 1, 1},  {64, 3, 1, 1},  {0, 2, 2, 0},   {128, 3, 1, 1}, {128, 3, 1, 1}, {0, 2, 2, 0},
    {256, 3, 1, 1}, {256, 3, 1, 1}, {256, 3, 1, 1}, {0, 2, 2, 0},   {512, 3, 1, 1}, {512, 3, 1, 1},
    {512, 3, 1, 1}, {0, 2, 2, 0},   {512, 3, 1, 1}, {512, 3, 1, 1}, {512, 3, 1, 1}, {0, 2, 2, 0},
};

template <std::size_t N>
int add_features(TableBuilder& table, int x, const FeatureRow (&rows)[N]) {
  for (std::size_t i = 0; i < N; ++i) {
    const FeatureRow& row = rows[i];
    const std::string name = "features." + std::to_string(i);
    if (row.channels == 0)
      x = table.pool(x, name, {LayerOp::kMaxPool, row.kernel, row.stride, row.pad});
    else
      x = table.conv(
          x, name,
          {table.width(row.channels), row.kernel, row.stride, row.pad, Epilogue::kBias, kActRelu});
  }
  return x;
}

template <std::size_t N>
LayerTable build_classic(const char* name, const ModelOptions& options,
                         const FeatureRow (&rows)[N]) {
  TableBuilder table(name, options);
  int x = add_features(table, table.image_input(224), rows);
  x = table.linear(x, "classifier.1", {table.width(4096), kActRelu});
  x = table.linear(x, "classifier.2", {table.width(4096), kActRelu});
  table.linear(x, "classifier.3", {1000});
  return table.take();
}

}  // namespace

LayerTable build_alexnet(const ModelOptions& options) {
  return build_classic("alexnet", options, kAlexNetFeatures);
}

LayerTable build_vgg16(const ModelOptions& options) {
  return build_classic("vgg16", options, kVgg16Features);
}

}  // namespace gacer::kernels
