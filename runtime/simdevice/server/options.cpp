// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/server/options.h"

#include <charconv>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "runtime/simdevice/sim_messages.h"

namespace gacer::simdevice {
namespace {

Status bad(std::string_view option, std::string_view value, const std::string& wanted) {
  return Error{0, std::string(option) + " " + std::string(value) + ": " + wanted};
}

template <typename T>
bool parse_number(std::string_view text, T& number) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
}

Status set_time_scale(ServerOptions& options, std::string_view value) {
  if (!parse_number(value, options.time_scale) || !(options.time_scale >= 1e-3) ||
      !(options.time_scale <= 1e6))
    return bad("--time-scale", value, "a number from 0.001 to 1000000");
  return {};
}

Status set_linger(ServerOptions& options, std::string_view value) {
  if (!parse_number(value, options.linger_s) || !(options.linger_s >= 0) ||
      !(options.linger_s <= 86400))
    return bad("--linger-s", value, "seconds from 0 to 86400");
  return {};
}

Status set_exec(ServerOptions& options, std::string_view value) {
  if (value == "full") {
    options.exec = ExecMode::kFull;
  } else if (value == "sample") {
    options.exec = ExecMode::kSample;
  } else if (value == "none") {
    options.exec = ExecMode::kNone;
  } else {
    return bad("--exec", value, "full, sample or none");
  }
  return {};
}

Status set_device(ServerOptions& options, std::string_view value) {
  options.device = find_device_model(value);
  if (options.device == nullptr) return bad("--device", value, "known are " + device_model_keys());
  return {};
}

Status set_devices(ServerOptions& options, std::string_view value) {
  if (!parse_number(value, options.devices) || options.devices == 0 ||
      options.devices > kMaxDevices)
    return bad("--devices", value, "a number from 1 to 8");
  return {};
}

Status set_costs(ServerOptions& options, const std::string& path) {
  auto costs = CostFile::read(path);
  if (!costs.ok()) return Error{0, "cost file " + costs.error().message};
  options.costs = std::move(*costs);
  return {};
}

Status set_option(ServerOptions& options, std::string_view name, std::string_view value) {
  if (name == "--socket") {
    options.socket_path = value;
  } else if (name == "--device") {
    return set_device(options, value);
  } else if (name == "--devices") {
    return set_devices(options, value);
  } else if (name == "--time-scale") {
    return set_time_scale(options, value);
  } else if (name == "--exec") {
    return set_exec(options, value);
  } else if (name == "--cost-file") {
    return set_costs(options, std::string(value));
  } else if (name == "--timeline") {
    options.timeline_path = value;
  } else if (name == "--linger-s") {
    return set_linger(options, value);
  } else if (name == "--threads") {
    if (!parse_number(value, options.threads) || options.threads > 256)
      return bad(name, value, "a number from 0 to 256");
  } else if (name == "--block-budget") {
    if (!parse_number(value, options.block_budget))
      return bad(name, value, "a number; 0: no bound");
  } else {
    return Error{0, std::string(name) + ": unknown option"};
  }
  return {};
}

}  // namespace

Result<ServerOptions> parse_options(std::span<char* const> arguments) {
  ServerOptions options;
  options.device = find_device_model("");
  // Clients start the server with their environment.
  if (const char* path = std::getenv("SIMGPU_COST_FILE"); path != nullptr && *path != '\0')
    if (Status status = set_costs(options, path); !status) return status.error();
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view name = arguments[i];
    if (name == "--foreground") {
      options.foreground = true;
      continue;
    }
    if (i + 1 == arguments.size()) return Error{0, std::string(name) + ": value or option missing"};
    if (Status status = set_option(options, name, arguments[++i]); !status) return status.error();
  }
  if (options.socket_path.empty()) return Error{0, "--socket PATH is required"};
  return options;
}

}  // namespace gacer::simdevice
