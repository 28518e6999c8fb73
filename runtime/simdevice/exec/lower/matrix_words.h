// SPDX-License-Identifier: Apache-2.0
// The words of mma and wmma instructions, whatever their order.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "runtime/ptx/ast.h"
#include "runtime/simdevice/exec/matrix_forms.h"

namespace gacer::simdevice {

struct MatrixWords {
  MatrixSpec spec;  // shape, product, finite, rounding, sparse
  std::vector<MatrixType> types;
  std::vector<std::string_view> layouts;  // "row", "col"
  bool rounding = false;                  // a rounding mode is given
  std::optional<bool> is_shared;          // .shared or .global
};

// False: a word is unknown, or there is no shape.
bool read_matrix_words(const ptx::Instruction& in, MatrixWords& out);

}  // namespace gacer::simdevice
