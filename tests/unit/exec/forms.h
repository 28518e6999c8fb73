// SPDX-License-Identifier: Apache-2.0
// The rows of forms.inc, expanded.
#pragma once

#include <vector>

#include "tests/unit/exec/reference/reference.h"

namespace gacer::simdevice::test {

// Every form of the table; operands still as register letters.
const std::vector<Form>& all_forms();

// "add.u32 r1, r2, r3;": letters numbered, with its semicolon.
std::string with_registers(const Form& form);

// A module with the variables that the forms name and `instructions` (one a line) in a kernel.
std::string module_of(const std::string& instructions, int sm);

}  // namespace gacer::simdevice::test
