// SPDX-License-Identifier: Apache-2.0
// A value, or one line that says why there is none. kernels/ stands alone, so it has its own.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace gacer::kernels {

template <class T>
struct Outcome {
  std::optional<T> value;
  std::string error;

  static Outcome success(T result) { return {std::move(result), {}}; }
  static Outcome failure(std::string why) { return {std::nullopt, std::move(why)}; }
  explicit operator bool() const { return value.has_value(); }
};

}  // namespace gacer::kernels
