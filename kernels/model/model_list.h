// SPDX-License-Identifier: Apache-2.0
// The models by name.
#pragma once

#include <string>
#include <string_view>

#include "kernels/model/layer_table.h"

namespace gacer::kernels {

// 0 means the model's published value; a value that a model has no use for is ignored.
struct ModelOptions {
  int batch = 1;
  int image = 0;          // pixels a side
  int layers = 0;         // transformer or LSTM layers, residual blocks per stage
  int sequence = 0;       // tokens, time steps
  int context = 0;        // cached tokens of a decode step
  int width_divisor = 1;  // channels, hidden size and vocabulary are divided by this
};

// A model of a few million multiply-adds with every layer kind of the full one, for full execution
// on a simulated device.
ModelOptions tiny_options(int batch);

using ModelBuilder = LayerTable (*)(const ModelOptions&);

struct ModelRow {
  const char* name;
  ModelBuilder build;
  const char* items;
  const char* purpose;
};

// nullptr when there is no model of that name.
const ModelRow* find_model(std::string_view name);

// "alexnet, vgg16, ..."
std::string model_names();

// What is wrong with `options` for this model, as one line; empty when nothing is.
std::string check_options(const ModelRow& model, const ModelOptions& options);

struct ModelRows {
  const ModelRow* begin() const;
  const ModelRow* end() const;
};
inline constexpr ModelRows kModels{};

}  // namespace gacer::kernels
