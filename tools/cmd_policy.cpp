// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include "tools/cli_parse.h"
#include "tools/control_client.h"

namespace gacer::tools {

int run_policy(const Arguments& arguments) {
  CLI::App app("Changes the policy while tenants run; 'gacer status' shows the known ones.",
               "gacer policy");
  std::string socket_path;
  std::string name;
  add_socket_option(app, socket_path);
  app.add_option("NAME", name, "Name of the policy")->required();
  if (!parse(app, arguments)) return kExitOk;
  ControlClient(socket_path).request("policy " + name);
  fmt::print("policy {}\n", name);
  return kExitOk;
}

}  // namespace gacer::tools
