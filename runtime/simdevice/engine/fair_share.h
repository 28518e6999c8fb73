// SPDX-License-Identifier: Apache-2.0
// Max-min fair division of one resource (water-filling): small demands are met, the rest share what
// is left in proportion to their weights.
#pragma once

#include <span>

namespace gacer::simdevice {

struct Demand {
  double amount = 0;
  double weight = 1;
};

// The level L with sum(min(amount, L * weight)) == capacity; +infinity when everything fits.
// A demand gets min(amount, L * weight). Precondition: weights > 0, amounts >= 0, capacity >= 0.
double fair_level(std::span<const Demand> demands, double capacity);

}  // namespace gacer::simdevice
