// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include "tools/cli_parse.h"
#include "tools/control_client.h"

namespace gacer::tools {

int run_stop(const Arguments& arguments) {
  CLI::App app("Ends gacerd. Tenants go on unregulated and attach again when a new one answers.",
               "gacer stop");
  std::string socket_path;
  add_socket_option(app, socket_path);
  if (!parse(app, arguments)) return kExitOk;
  ControlClient client(socket_path);
  client.request("shutdown");
  client.wait_closed();
  fmt::print("stopped\n");
  return kExitOk;
}

}  // namespace gacer::tools
