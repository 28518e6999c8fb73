// SPDX-License-Identifier: Apache-2.0
// Rows of text with aligned columns.
#pragma once

#include <string>
#include <vector>

namespace gacer::tools {

using TextRow = std::vector<std::string>;

// Every column as wide as its longest cell; the last one is not padded. Cells that look like
// numbers go right.
std::string format_table(const std::vector<TextRow>& rows);

}  // namespace gacer::tools
