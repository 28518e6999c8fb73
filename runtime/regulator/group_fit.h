// SPDX-License-Identifier: Apache-2.0
// Lays launches that were seen to complete between two polls out on the time line by their
// estimated durations, and says by how much the durations must change for the ends to fall between
// the polls. Pure arithmetic.
#pragma once

#include <vector>

namespace gacer::regulator {

// All times in ns after the end of the launch before the group. In double: forged submit times must
// not wrap.
struct GroupTimes {
  struct Launch {
    double submit_ns = 0;  // 0: submitted before the previous end
    double duration_ns = 0;
  };
  std::vector<Launch> launches;  // not empty
  double since_ns = 0;           // the poll that saw none of them complete
  double until_ns = 0;           // the poll that saw all of them complete
  bool each_end_seen = false;    // the first one's end, too, is later than since_ns
};

struct GroupFit {
  double start_ns = 0;  // of the first launch
  double end_ns = 0;    // of the last one, within the polls
  double first_ratio = 1;
  double rest_ratio = 1;
};

GroupFit fit_group(const GroupTimes& group);

}  // namespace gacer::regulator
