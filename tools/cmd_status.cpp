// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "tools/cli_parse.h"
#include "tools/control_client.h"
#include "tools/coverage_table.h"
#include "tools/size_text.h"
#include "tools/text_table.h"

namespace gacer::tools {
namespace {

using nlohmann::json;

std::string number(const json& value) {
  return value.dump();
}

std::string milliseconds(const json& value) {
  return fmt::format("{:.1f}", value.get<double>());
}

std::string memory(const json& tenant) {
  const std::string used = format_size(tenant.at("memory_used_bytes"));
  const uint64_t limit = tenant.at("memory_limit_bytes");
  return limit == 0 ? used : used + " of " + format_size(limit);
}

std::string gate(const json& gate) {
  std::string mode = gate.at("mode");
  if (mode == "window") return fmt::format("window {} us", gate.at("window_us").get<uint64_t>());
  if (mode == "closed") return "closed: " + gate.at("reason").get<std::string>();
  return mode;
}

// The reasons that cost time, greatest first by the order of the list: "latency 12.0, quantum 3.1".
std::string reasons(const json& tenant) {
  std::string text;
  for (const auto& [reason, wait_ms] : tenant.at("wait_ms_by_reason").items())
    if (wait_ms.get<double>() > 0)
      text += fmt::format("{}{} {:.1f}", text.empty() ? "" : ", ", reason, wait_ms.get<double>());
  return text.empty() ? "-" : text;
}

TextRow tenant_row(const json& tenant) {
  return {tenant.at("name"),
          tenant.at("class"),
          std::to_string(tenant.value("pids", json::array()).size()),
          gate(tenant.at("gate")),
          number(tenant.at("launches")),
          number(tenant.at("waits")),
          milliseconds(tenant.at("wait_ms")),
          number(tenant.at("deadline_releases")),
          milliseconds(tenant.at("in_flight_ms")),
          number(tenant.at("unregulated")),
          number(tenant.at("dropped_records")),
          memory(tenant),
          reasons(tenant)};
}

void print_enforcement(const json& tenant, const char* what) {
  const json& state = tenant.at("enforcement").at(what);
  if (!state.at("enforced").get<bool>())
    fmt::print("{}: {} not enforced: {}\n", tenant.at("name").get<std::string>(), what,
               state.at("why").get<std::string>());
}

// Values that an honest shim cannot have written.
void print_forged(const json& tenant) {
  for (const json& process : tenant.value("processes", json::array()))
    if (const uint64_t forged = process.at("forged_values"); forged != 0)
      fmt::print(
          "{}: {} values in the shared page of process {} make no sense: damaged or tampered "
          "with\n",
          tenant.at("name").get<std::string>(), forged, process.at("pid").get<int>());
}

// Nothing configured is inactive without a word.
void print_enforcement(const json& tenants) {
  for (const json& tenant : tenants) {
    print_enforcement(tenant, "compute");
    print_forged(tenant);
    if (tenant.at("memory_limit_bytes") != 0) print_enforcement(tenant, "memory");
  }
}

void print_unmanaged(const json& processes) {
  for (const json& process : processes)
    fmt::print(
        "not managed: process {} ({}), started under tenant {}, uses CUDA without the shim\n",
        process.at("pid").get<int>(), process.at("executable").get<std::string>(),
        process.at("tenant").get<std::string>());
}

void print_tables(const json& status) {
  const auto& tenants = status.at("tenants");
  fmt::print("gacerd {} at {}, policy {}, generation {}, {} tenant{}\n",
             status.at("pid").get<int>(), status.at("socket").get<std::string>(),
             status.at("policy").get<std::string>(), status.at("generation").get<uint64_t>(),
             tenants.size(), tenants.size() == 1 ? "" : "s");
  print_unmanaged(status.at("unmanaged"));
  if (tenants.empty()) return;
  std::vector<TextRow> rows{{"TENANT", "CLASS", "PROCS", "GATE", "LAUNCHES", "WAITS", "WAIT_MS",
                             "DEADLINE", "IN_FLIGHT_MS", "UNREG", "DROPPED", "MEMORY",
                             "WAIT_MS_BY_REASON"}};
  for (const json& tenant : tenants) rows.push_back(tenant_row(tenant));
  fmt::print("{}", format_table(rows));
  print_enforcement(tenants);
}

}  // namespace

int run_status(const Arguments& arguments) {
  CLI::App app("Shows policy, tenants, their gates, waits by reason, and memory.", "gacer status");
  std::string socket_path;
  bool as_json = false;
  bool coverage = false;
  add_socket_option(app, socket_path);
  app.add_flag("--coverage", coverage,
               "Launches and allocations that reached the driver unregulated, by function and kind "
               "of stream");
  app.add_flag("--json", as_json, "The daemon's whole answer, knobs included");
  if (!parse(app, arguments)) return kExitOk;
  const json status = json::parse(ControlClient(socket_path).request("status"));
  if (as_json)
    fmt::print("{}\n", status.dump(2));
  else if (coverage)
    fmt::print("{}", coverage_table(status));
  else
    print_tables(status);
  return kExitOk;
}

}  // namespace gacer::tools
