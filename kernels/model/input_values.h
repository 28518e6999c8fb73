// SPDX-License-Identifier: Apache-2.0
// Seeded contents for a model's input row.
#pragma once

#include "kernels/model/layer_table.h"

namespace gacer::kernels {

// Writes layer.out.count() words to `memory`: floats in [-1, 1) or ids in [0, limit).
void fill_input(const Layer& layer, unsigned seed, void* memory);

}  // namespace gacer::kernels
