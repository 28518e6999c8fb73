// SPDX-License-Identifier: Apache-2.0
#include "runtime/regulator/group_fit.h"

#include <algorithm>

namespace gacer::regulator {
namespace {

struct Line {
  double start_ns = 0;
  double first_ns = 0;  // duration of the first launch
  double rest_ns = 0;   // sum of the others
  double end_ns = 0;
};

// A first launch that the estimates end before since_ns is stretched up to it.
Line lay_out(const GroupTimes& group) {
  const GroupTimes::Launch& first = group.launches.front();
  Line line;
  line.start_ns = first.submit_ns;
  line.first_ns = first.duration_ns;
  if (group.each_end_seen) line.first_ns = std::max(line.first_ns, group.since_ns - line.start_ns);
  line.end_ns = line.start_ns + line.first_ns;
  for (size_t i = 1; i < group.launches.size(); ++i) {
    const GroupTimes::Launch& launch = group.launches[i];
    line.end_ns = std::max(line.end_ns, launch.submit_ns) + launch.duration_ns;
    line.rest_ns += launch.duration_ns;
  }
  return line;
}

// Takes `over_ns` off: half off the first launch as far as it still ends after since_ns, the
// remainder off the others, all of which must fit between the polls.
void shrink(const GroupTimes& group, double over_ns, Line& line) {
  const double slack_ns = line.first_ns - std::max(0.0, group.since_ns - line.start_ns);
  const double off_first_ns = std::clamp(over_ns / 2, 0.0, std::max(0.0, slack_ns));
  line.first_ns -= off_first_ns;
  line.rest_ns -= over_ns - off_first_ns;
}

void scale(double change_ns, Line& line) {
  const double ratio = 1 + change_ns / (line.first_ns + line.rest_ns);
  line.first_ns *= ratio;
  line.rest_ns *= ratio;
}

}  // namespace

GroupFit fit_group(const GroupTimes& group) {
  const Line predicted = lay_out(group);
  Line line = predicted;
  const double end_ns = std::clamp(line.end_ns, group.since_ns, group.until_ns);
  if (group.each_end_seen && line.end_ns > end_ns && line.rest_ns > 0) {
    shrink(group, line.end_ns - end_ns, line);
  } else {
    scale(end_ns - line.end_ns, line);
  }
  GroupFit fit;
  fit.start_ns = line.start_ns;
  fit.end_ns = end_ns;
  fit.first_ratio = line.first_ns / group.launches.front().duration_ns;
  if (predicted.rest_ns > 0) fit.rest_ratio = line.rest_ns / predicted.rest_ns;
  return fit;
}

}  // namespace gacer::regulator
