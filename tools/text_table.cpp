// SPDX-License-Identifier: Apache-2.0
#include "tools/text_table.h"

#include <fmt/core.h>

#include <algorithm>

namespace gacer::tools {
namespace {

std::vector<size_t> widths_of(const std::vector<TextRow>& rows) {
  std::vector<size_t> widths;
  for (const TextRow& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  return widths;
}

bool is_number(const std::string& cell) {
  return !cell.empty() && cell.find_first_not_of("0123456789.-") == std::string::npos;
}

std::string pad(const std::string& cell, size_t width, bool last) {
  if (is_number(cell)) return fmt::format("{:>{}}", cell, width);
  return last ? cell : fmt::format("{:<{}}", cell, width);
}

}  // namespace

std::string format_table(const std::vector<TextRow>& rows) {
  const std::vector<size_t> widths = widths_of(rows);
  std::string text;
  for (const TextRow& row : rows) {
    for (size_t i = 0; i < row.size(); ++i)
      text += (i == 0 ? "" : "  ") + pad(row[i], widths[i], i + 1 == row.size());
    text += '\n';
  }
  return text;
}

}  // namespace gacer::tools
