// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/engine/cost_file.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace gacer::simdevice {
namespace {

constexpr size_t kLongestName = 4096;

std::string trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t\r") - first + 1));
}

// Fields between commas; a quoted one may hold commas.
std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  for (std::string& field : fields) field = trimmed(field);
  return fields;
}

std::optional<double> number(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end != text.c_str() + text.size() || !std::isfinite(value) || value < 0 || value > 1e15)
    return std::nullopt;
  return value;
}

Error bad(const std::string& what) {
  return Error{0, what};
}

}  // namespace

Status CostFile::set_field(Row& row, const std::string& column, const std::string& value) {
  if (value.empty()) return {};
  if (column == "kernel") {
    row.name = value.substr(0, kLongestName);
    if (value.size() < 3 || value.front() != '/' || value.back() != '/') return {};
    try {
      row.pattern.emplace(value.substr(1, value.size() - 2), std::regex::ECMAScript);
    } catch (const std::regex_error&) {
      return bad("kernel: not a regular expression: " + value);
    }
    return {};
  }
  const auto given = number(value);
  if (!given) return bad(column + ": not a number: " + value);
  const auto whole = static_cast<uint64_t>(*given);
  if (column == "duration_us") row.duration_us = *given;
  if (column == "dram_fraction") row.dram_fraction = *given;
  if (column == "issue_fraction") row.issue_fraction = *given;
  if (column == "grid") row.grid = whole;
  if (column == "block") row.block = whole;
  if (column == "sms") row.sms = whole;
  if (column == "registers") row.registers = whole;
  if (column == "smem_bytes") row.smem_bytes = whole;
  if (column.find("fraction") != std::string::npos && *given > 1)
    return bad(column + ": more than 1: " + value);
  return {};
}

Status CostFile::add_row(const std::vector<std::string>& columns,
                         const std::vector<std::string>& fields) {
  if (fields.size() > columns.size()) return bad("more fields than columns");
  Row row;
  for (size_t i = 0; i < fields.size(); ++i)
    if (Status set = set_field(row, columns[i], fields[i]); !set.ok()) return set;
  if (row.name.empty()) return bad("kernel: missing");
  if (row.duration_us <= 0) return bad("duration_us: missing or 0");
  rows_.push_back(std::move(row));
  return {};
}

Result<CostFile> CostFile::parse(std::string_view text, const std::string& name) {
  static constexpr std::string_view kColumns[] = {"kernel",         "grid",      "block",
                                                  "duration_us",    "sms",       "dram_fraction",
                                                  "issue_fraction", "registers", "smem_bytes"};
  CostFile file;
  std::vector<std::string> columns;
  for (size_t line_number = 1; !text.empty(); ++line_number) {
    const size_t end = text.find('\n');
    const std::string line = trimmed(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty() || line.front() == '#') continue;
    const std::string where = name + ":" + std::to_string(line_number) + ": ";
    const auto fields = fields_of(line);
    if (columns.empty()) {
      columns = fields;
      for (const std::string& column : columns)
        if (std::find(std::begin(kColumns), std::end(kColumns), column) == std::end(kColumns))
          return Error{0, where + "unknown column '" + column + "'"};
      continue;
    }
    if (Status added = file.add_row(columns, fields); !added.ok())
      return Error{0, where + added.error().message};
  }
  return file;
}

Result<CostFile> CostFile::read(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Error{0, path + ": cannot be read"};
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return parse(text, path);
}

bool CostFile::Row::fits(std::string_view kernel, const KernelShape& shape) const {
  if (grid && *grid != shape.blocks) return false;
  if (block && *block != shape.threads_per_block) return false;
  if (!pattern) return name == kernel;
  return std::regex_match(kernel.begin(), kernel.end(), *pattern);
}

std::optional<CostFile::Found> CostFile::find(const DeviceModel& device, std::string_view kernel,
                                              const KernelShape& shape) const {
  for (const Row& row : rows_) {
    if (!row.fits(kernel.substr(0, kLongestName), shape)) continue;
    TracedKernel traced{row.duration_us * 1000, shape, row.dram_fraction, row.issue_fraction};
    if (row.sms) traced.shape = shape_of_sms(device.spec, *row.sms);
    if (row.registers) traced.shape.regs_per_thread = static_cast<uint32_t>(*row.registers);
    if (row.smem_bytes) traced.shape.smem_bytes_per_block = static_cast<uint32_t>(*row.smem_bytes);
    const KernelCost cost = traced_cost(device, traced);
    return Found{cost, traced.shape.blocks};
  }
  return std::nullopt;
}

}  // namespace gacer::simdevice
