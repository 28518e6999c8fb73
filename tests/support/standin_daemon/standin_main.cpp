// SPDX-License-Identifier: Apache-2.0
// gacer_standin --socket PATH [--mode ungated|window|closed] [--window NS] [--record] [--mark N]
// [--mem BYTES]
//               [--max-wait NS] [--fault NAME]
// Prints "ready", serves until its standard input ends, then prints one JSON object of what it has
// seen.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "tests/support/standin_daemon/standin_daemon.h"

namespace {

using gacer::test::StandInClient;
using gacer::test::StandInDaemon;
using gacer::test::StandInFault;
using gacer::test::StandInOptions;

const std::map<std::string, gacer::abi::GateMode> kModes = {
    {"ungated", gacer::abi::GateMode::kUngated},
    {"window", gacer::abi::GateMode::kWindow},
    {"closed", gacer::abi::GateMode::kClosed},
};
const std::map<std::string, StandInFault> kFaults = {
    {"refuse", StandInFault::kRefuse},
    {"segment-version", StandInFault::kSegmentVersion},
    {"unsealed", StandInFault::kUnsealed},
    {"short-segment", StandInFault::kShortSegment},
    {"welcome-version", StandInFault::kWelcomeVersion},
    {"no-fds", StandInFault::kNoFds},
    {"silent", StandInFault::kSilent},
    {"hang-up", StandInFault::kHangUp},
};

struct Arguments {
  std::string socket;
  StandInOptions options;
};

bool take(Arguments& arguments, const std::string& name, const std::string& value) {
  StandInOptions& options = arguments.options;
  if (name == "--socket")
    arguments.socket = value;
  else if (name == "--mode" && kModes.count(value) != 0)
    options.mode = kModes.at(value);
  else if (name == "--fault" && kFaults.count(value) != 0)
    options.fault = kFaults.at(value);
  else if (name == "--window")
    options.window_ns = strtoull(value.c_str(), nullptr, 10);
  else if (name == "--mark")
    options.mark_every = static_cast<uint32_t>(strtoul(value.c_str(), nullptr, 10));
  else if (name == "--mem")
    options.memory_limit_bytes = strtoull(value.c_str(), nullptr, 10);
  else if (name == "--max-wait")
    options.max_wait_ns = strtoull(value.c_str(), nullptr, 10);
  else
    return false;
  return true;
}

bool parse(int argc, char** argv, Arguments& arguments) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--record") {
      arguments.options.record = true;
    } else if (i + 1 >= argc || !take(arguments, name, argv[++i])) {
      fprintf(stderr, "gacer_standin: unusable argument %s\n", name.c_str());
      return false;
    }
  }
  return !arguments.socket.empty();
}

void print_client(StandInClient& client, bool first) {
  const gacer::abi::ProgressWords& progress = client.segment().progress;
  printf(
      "%s{\"tenant\":\"%s\",\"launches\":%lu,\"records\":%lu,\"kernel_records\":%lu,\"dropped\":%"
      "lu,"
      "\"unregulated\":%lu,\"waits\":%lu,\"deadline_releases\":%lu,\"gone\":%s}",
      first ? "" : ",", client.hello.tenant,
      progress.launches.load() + progress.alone_launches.load(), client.records,
      client.kernel_records, progress.dropped_records.load(), progress.unregulated.load(),
      progress.waits.load(), progress.deadline_releases.load(), client.gone ? "true" : "false");
}

void report(StandInDaemon& daemon) {
  printf("{\"welcomed\":%d,\"memory_used\":%lu,\"clients\":[", daemon.welcomed(),
         daemon.memory_used());
  size_t index = 0;
  while (
      daemon.with_client(index, [&](StandInClient& client) { print_client(client, index == 0); }))
    ++index;
  printf("]}\n");
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (!parse(argc, argv, arguments)) return 2;
  StandInDaemon daemon(arguments.socket);
  if (!daemon.start(arguments.options)) {
    perror("gacer_standin");
    return 1;
  }
  printf("ready\n");
  fflush(stdout);
  char byte = 0;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
  daemon.stop();
  report(daemon);
  return 0;
}
