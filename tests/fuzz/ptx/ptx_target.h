// SPDX-License-Identifier: Apache-2.0
// What every fuzzing driver does with one PTX text: parse, print, parse again, compile, run.
#pragma once

#include <string_view>

namespace gacer::fuzz {

// Aborts if print(parse(text)) does not parse to an equal tree. Runs each kernel that compiles on
// one warp with a small budget; faults are fine. True: it compiled.
bool run_ptx(std::string_view text);

}  // namespace gacer::fuzz
