// SPDX-License-Identifier: Apache-2.0
// MobileNet-V2 with batch norm folded. Source: Sandler 2018 (arXiv 1801.04381), table 2.
#include "kernels/model/builders.h"
#include "kernels/model/table_builder.h"

namespace gacer::kernels {
namespace {

struct InvertedRow {
  int expansion, channels, blocks, stride;
};

constexpr InvertedRow kRows[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                                 {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};

struct BlockSpec {
  std::string name;
  int expansion, channels, stride;
};

int inverted_block(TableBuilder& table, int x, const BlockSpec& b) {
  const bool same = b.stride == 1 && table.shape(x).c == b.channels;
  const int residual = same ? x : kNoRow;
  if (b.expansion != 1)
    x = table.conv(x, b.name + ".expand",
                   {b.expansion * table.shape(x).c, 1, 1, 0, Epilogue::kScaleShift, kActRelu6});
  x = table.depthwise(x, b.name + ".depthwise",
                      {0, 3, b.stride, 1, Epilogue::kScaleShift, kActRelu6});
  return table.conv(x, b.name + ".project",
                    {b.channels, 1, 1, 0, Epilogue::kScaleShift, kActNone, residual});
}

}  // namespace

LayerTable build_mobilenetv2(const ModelOptions& options) {
  TableBuilder table("mobilenetv2", options);
  int x = table.image_input(224);
  x = table.conv(x, "stem", {table.width(32), 3, 2, 1, Epilogue::kScaleShift, kActRelu6});
  int block = 0;
  for (const InvertedRow& row : kRows)
    for (int i = 0; i < table.depth(row.blocks); ++i)
      x = inverted_block(table, x,
                         {"block" + std::to_string(++block), row.expansion,
                          table.width(row.channels), i == 0 ? row.stride : 1});
  x = table.conv(x, "head", {table.width(1280), 1, 1, 0, Epilogue::kScaleShift, kActRelu6});
  table.linear(table.global_avg_pool(x), "classifier", {1000});
  return table.take();
}

}  // namespace gacer::kernels
