// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/engine/fair_share.h"

#include <limits>

namespace gacer::simdevice {

double fair_level(std::span<const Demand> demands, double capacity) {
  double total = 0;
  double weights = 0;
  for (const Demand& demand : demands) {
    total += demand.amount;
    weights += demand.weight;
  }
  if (total <= capacity) return std::numeric_limits<double>::infinity();
  // Starting below the answer, each pass takes out the demands that the level already meets: it
  // only rises, and it stands still as soon as no further demand is met.
  double level = capacity / weights;
  for (size_t pass = 0; pass <= demands.size(); ++pass) {
    double left = capacity;
    double open = 0;
    for (const Demand& demand : demands) {
      if (demand.amount <= level * demand.weight) {
        left -= demand.amount;
      } else {
        open += demand.weight;
      }
    }
    if (open <= 0) return level;
    const double next = left / open;
    if (next <= level) return level;
    level = next;
  }
  return level;
}

}  // namespace gacer::simdevice
