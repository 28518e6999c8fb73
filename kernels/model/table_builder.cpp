// SPDX-License-Identifier: Apache-2.0
#include "kernels/model/table_builder.h"

#include <algorithm>

namespace gacer::kernels {
namespace {

int window_positions(int size, int kernel, int stride, int pad) {
  return (size + 2 * pad - kernel) / stride + 1;
}

Layer windowed(LayerOp op, int x, const std::string& name, const Shape& in, const ConvSpec& spec) {
  Layer layer;
  layer.op = op;
  layer.name = name;
  layer.inputs = {x};
  layer.kernel = spec.kernel;
  layer.stride = spec.stride;
  layer.pad = spec.pad;
  layer.epilogue = spec.epilogue;
  layer.activation = spec.activation;
  if (spec.residual != kNoRow) layer.inputs.push_back(spec.residual);
  layer.out = {in.n, spec.channels, window_positions(in.h, spec.kernel, spec.stride, spec.pad),
               window_positions(in.w, spec.kernel, spec.stride, spec.pad)};
  return layer;
}

Layer plain(LayerOp op, const std::string& name, std::vector<int> inputs, Shape out) {
  Layer layer;
  layer.op = op;
  layer.name = name;
  layer.inputs = std::move(inputs);
  layer.out = out;
  return layer;
}

}  // namespace

TableBuilder::TableBuilder(std::string name, const ModelOptions& options) : options_(options) {
  table_.name = std::move(name);
  table_.batch = options.batch;
}

int TableBuilder::image_input(int default_pixels) {
  const int pixels = options_.image > 0 ? options_.image : default_pixels;
  return add(plain(LayerOp::kInput, "input", {}, {options_.batch, 3, pixels, pixels}));
}

int TableBuilder::conv(int x, const std::string& name, const ConvSpec& spec) {
  return add(windowed(LayerOp::kConv, x, name, shape(x), spec));
}

int TableBuilder::depthwise(int x, const std::string& name, const ConvSpec& spec) {
  ConvSpec same_channels = spec;
  same_channels.channels = shape(x).c;
  return add(windowed(LayerOp::kDepthwiseConv, x, name, shape(x), same_channels));
}

int TableBuilder::pool(int x, const std::string& name, const PoolSpec& spec) {
  const ConvSpec window{shape(x).c, spec.kernel, spec.stride, spec.pad, Epilogue::kNone};
  return add(windowed(spec.op, x, name, shape(x), window));
}

int TableBuilder::global_avg_pool(int x) {
  return add(plain(LayerOp::kGlobalAvgPool, "global_avg_pool", {x}, {shape(x).n, shape(x).c}));
}

int TableBuilder::linear(int x, const std::string& name, const LinearSpec& spec) {
  Layer layer = plain(LayerOp::kLinear, name, {x}, {shape(x).n, spec.features});
  layer.epilogue = Epilogue::kBias;
  layer.activation = spec.activation;
  if (spec.residual != kNoRow) layer.inputs.push_back(spec.residual);
  return add(std::move(layer));
}

int TableBuilder::batch_norm_relu(int x, const std::string& name) {
  Layer layer = plain(LayerOp::kBatchNorm, name, {x}, shape(x));
  layer.activation = kActRelu;
  return add(std::move(layer));
}

int TableBuilder::layer_norm(int x, const std::string& name) {
  return add(plain(LayerOp::kLayerNorm, name, {x}, shape(x)));
}

int TableBuilder::concat(int a, int b, const std::string& name) {
  Shape out = shape(a);
  out.c += shape(b).c;
  return add(plain(LayerOp::kConcat, name, {a, b}, out));
}

int TableBuilder::width(int full) const {
  return std::max(4, full / options_.width_divisor);
}

int TableBuilder::depth(int count) const {
  return options_.layers > 0 ? std::min(count, options_.layers) : count;
}

}  // namespace gacer::kernels
