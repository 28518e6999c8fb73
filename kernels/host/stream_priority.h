// SPDX-License-Identifier: Apache-2.0
// Which of the device's stream priorities to ask for.
#pragma once

namespace gacer::kernels {

enum class StreamPriority { kDefault, kHigh, kLow };

}  // namespace gacer::kernels
