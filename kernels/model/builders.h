// SPDX-License-Identifier: Apache-2.0
// Layer tables of the models in models.def.
#pragma once

#include "kernels/model/model_list.h"

namespace gacer::kernels {

#define GACER_MODEL(name, builder, items, purpose) LayerTable builder(const ModelOptions& options);
#include "kernels/model/models.def"
#undef GACER_MODEL

}  // namespace gacer::kernels
