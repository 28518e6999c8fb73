// SPDX-License-Identifier: Apache-2.0
// Parsing a verb's words with CLI11, in the order people type them.
#pragma once

#include <CLI/CLI.hpp>
#include <iostream>

#include "runtime/base/socket_path.h"
#include "tools/command.h"

namespace gacer::tools {

// False: help was asked for and printed, nothing else to do. Throws CLI::ParseError on a usage
// error.
inline bool parse(CLI::App& app, const Arguments& arguments) {
  Arguments reversed(arguments.rbegin(), arguments.rend());  // CLI11 takes them from the back
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    return false;
  }
  return true;
}

inline void add_socket_option(CLI::App& app, std::string& path) {
  path = default_socket_path();
  app.add_option(
      "--socket", path,
      "Control socket (default: $GACER_SOCKET, $XDG_RUNTIME_DIR/gacer.sock (not for root), "
      "/run/gacer/gacer.sock)");
}

}  // namespace gacer::tools
