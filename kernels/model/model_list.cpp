// SPDX-License-Identifier: Apache-2.0
#include "kernels/model/model_list.h"

#include <iterator>

#include "kernels/model/builders.h"

namespace gacer::kernels {
namespace {

constexpr ModelRow kRows[] = {
#define GACER_MODEL(name, builder, items, purpose) {name, builder, items, purpose},
#include "kernels/model/models.def"
#undef GACER_MODEL
};

struct Bound {
  const char* option;
  int value, low, high;
};

// 0 stands for "not given" where the lower bound is positive.
std::string check_bound(const Bound& bound) {
  if (bound.value == 0 || (bound.value >= bound.low && bound.value <= bound.high)) return {};
  return std::string(bound.option) + " " + std::to_string(bound.value) + ": must be " +
         std::to_string(bound.low) + " to " + std::to_string(bound.high);
}

int smallest_image(std::string_view model) {
  return model == "alexnet" ? 63 : 32;
}
int longest_sequence(std::string_view model) {
  return model == "bert-base" ? 512 : 4096;
}

}  // namespace

ModelOptions tiny_options(int batch) {
  ModelOptions options;
  options.batch = batch;
  options.image = 64;
  options.layers = 1;
  options.sequence = 16;
  options.context = 24;
  options.width_divisor = 8;
  return options;
}

const ModelRow* ModelRows::begin() const {
  return std::begin(kRows);
}
const ModelRow* ModelRows::end() const {
  return std::end(kRows);
}

const ModelRow* find_model(std::string_view name) {
  for (const ModelRow& row : kRows)
    if (name == row.name) return &row;
  return nullptr;
}

std::string model_names() {
  std::string names;
  for (const ModelRow& row : kRows) names += (names.empty() ? "" : ", ") + std::string(row.name);
  return names;
}

std::string check_options(const ModelRow& model, const ModelOptions& options) {
  const Bound bounds[] = {
      {"--image", options.image, smallest_image(model.name), 1024},
      {"--layers", options.layers, 1, 1000},
      {"--seq", options.sequence, 1, longest_sequence(model.name)},
      {"--context", options.context, 1, 1024},
  };
  if (options.batch < 1 || options.batch > 1024)
    return "--batch " + std::to_string(options.batch) + ": must be 1 to 1024";
  if (options.width_divisor < 1 || options.width_divisor > 64)
    return "--width-divisor " + std::to_string(options.width_divisor) + ": must be 1 to 64";
  for (const Bound& bound : bounds)
    if (std::string wrong = check_bound(bound); !wrong.empty()) return wrong;
  return {};
}

}  // namespace gacer::kernels
