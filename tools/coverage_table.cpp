// SPDX-License-Identifier: Apache-2.0
#include "tools/coverage_table.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "tools/text_table.h"

namespace gacer::tools {
namespace {

using nlohmann::json;

constexpr const char* kNotes =
    "CALLS were made while attached to gacerd, BEFORE_ATTACH while detached. A function that the\n"
    "shim does not know (stream '?') is newer than it; HANDED_OUT is how often a lookup gave the\n"
    "program the driver's own pointer, whose calls nobody counts: install a newer gacer.\n";

void add_rows(const std::string& tenant, const json& coverage, std::vector<TextRow>& rows) {
  for (const json& row : coverage.at("functions"))
    rows.push_back({tenant, row.at("name"), row.at("kind"), row.at("stream"),
                    row.at("calls").dump(), row.at("before_attach").dump(), "0"});
  for (const json& row : coverage.at("unknown"))
    rows.push_back({tenant, row.at("name"), "unknown", "?", row.at("calls").dump(), "0",
                    row.at("handed_out").dump()});
  if (const uint64_t beyond = coverage.at("unknown_beyond"); beyond != 0)
    rows.push_back({tenant, "(others)", "unknown", "?", std::to_string(beyond), "0", "0"});
}

}  // namespace

std::string coverage_table(const json& status) {
  std::vector<TextRow> rows{
      {"TENANT", "FUNCTION", "KIND", "STREAM", "CALLS", "BEFORE_ATTACH", "HANDED_OUT"}};
  for (const json& tenant : status.at("tenants"))
    add_rows(tenant.at("name"), tenant.at("coverage"), rows);
  add_rows("(ended)", status.at("coverage_of_ended_tenants"), rows);
  if (rows.size() == 1) return "every launch and allocation that was seen is regulated\n";
  return format_table(rows) + kNotes;
}

}  // namespace gacer::tools
