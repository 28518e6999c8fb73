// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "tools/cli_parse.h"
#include "tools/control_client.h"
#include "tools/text_table.h"

namespace gacer::tools {
namespace {

void check_form(const Arguments& settings) {
  for (const std::string& setting : settings)
    if (const size_t equals = setting.find('='); equals == std::string::npos || equals == 0)
      throw ToolError(kExitUsage, fmt::format("'{}' is not KEY=VALUE", setting));
}

void print_knobs(ControlClient& client) {
  const auto status = nlohmann::json::parse(client.request("status"));
  std::vector<TextRow> rows{{"KNOB", "VALUE", "UNIT", "RANGE", "MEANING"}};
  for (const auto& knob : status.at("knobs"))
    rows.push_back(
        {knob.at("key"), knob.at("value"), knob.at("unit"), knob.at("range"), knob.at("help")});
  fmt::print("{}", format_table(rows));
}

}  // namespace

int run_tune(const Arguments& arguments) {
  CLI::App app(
      "Changes knobs while tenants run, one after the other; without KEY=VALUE lists them.",
      "gacer tune");
  std::string socket_path;
  Arguments settings;
  add_socket_option(app, socket_path);
  app.add_option("KEY=VALUE", settings, "Knobs to set");
  if (!parse(app, arguments)) return kExitOk;
  check_form(settings);
  ControlClient client(socket_path);
  if (settings.empty()) print_knobs(client);
  for (const std::string& setting : settings) {
    client.request("tune " + setting);
    fmt::print("{}\n", setting);
  }
  return kExitOk;
}

}  // namespace gacer::tools
