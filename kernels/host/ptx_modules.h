// SPDX-License-Identifier: Apache-2.0
// The PTX of device/*.cu, embedded at build time.
#pragma once

#include <string_view>

namespace gacer::kernels {

// Text of a module named in the catalog, ended by a NUL that the view does not count; empty when
// there is none of that name.
std::string_view ptx_module(std::string_view name);

}  // namespace gacer::kernels
