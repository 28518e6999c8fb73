// SPDX-License-Identifier: Apache-2.0
// What the name of a driver function says, for functions that no row knows: those of a newer
// driver.
#pragma once

#include <string_view>

namespace gacer::abi {

// "cuLaunchKernelNext", "cuMemAllocNear": yes. Host memory, host callbacks, queries: no.
constexpr bool sounds_like_launch_or_allocation(std::string_view name) {
  const auto has = [name](std::string_view part) { return name.find(part) != name.npos; };
  if (name.substr(0, 2) != "cu" || has("Host") || has("Attribute") || has("Allocation"))
    return false;
  if (has("Launch") || (has("Array") && has("Create"))) return true;
  return has("cuMem") && (has("Alloc") || has("cuMemCreate"));
}

}  // namespace gacer::abi
