// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/daemon_checks.h"

#include <fmt/core.h>
#include <pwd.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "runtime/abi/version.h"
#include "runtime/base/path_access.h"
#include "runtime/shm/handshake.h"
#include "tools/command.h"
#include "tools/control_client.h"

namespace gacer::tools::doctor {
namespace {

constexpr uint32_t kTimeoutMs = 2000;

std::string user_text(uid_t uid) {
  const passwd* entry = getpwuid(uid);
  return entry == nullptr ? fmt::format("uid {}", uid)
                          : fmt::format("{} (uid {})", entry->pw_name, uid);
}

Check socket_check(const std::string& path) {
  if (path.size() >= sizeof(sockaddr_un::sun_path))
    return fail("socket", path + " is longer than a socket path may be; choose another --socket");
  const auto gids = own_groups();
  const auto blocked = first_blocked_component(path, geteuid(), gids);
  if (!blocked) return ok("socket", path + " can be reached");
  if (blocked->code == ENOENT)
    return warn("socket", fmt::format("{}: {} does not exist yet; 'gacer run' starts gacerd", path,
                                      blocked->component));
  return fail("socket", fmt::format("{} cannot be reached: {}: {}", path, blocked->component,
                                    blocked->reason));
}

Check owner_check(const std::string& path) {
  const auto socket = shm::connect_socket(path, kTimeoutMs);
  if (!socket)
    return warn("daemon", fmt::format("no gacerd answers at {} ({}); 'gacer run' starts one", path,
                                      strerror(socket.error().code)));
  const auto peer = shm::peer_identity(socket->get());
  if (!peer) return fail("daemon", peer.error().message);
  const std::string who = fmt::format("pid {} of {}", peer->pid, user_text(peer->uid));
  if (peer->uid != geteuid() && geteuid() != 0)
    return fail("daemon", fmt::format("{} serves {}, not {}: start a gacerd of your own", who,
                                      user_text(peer->uid), user_text(geteuid())));
  return ok("daemon", who + " serves it");
}

Check version_check(const std::string& path) {
  try {
    const auto status = nlohmann::json::parse(ControlClient(path).request("status"));
    return ok("daemon-version", fmt::format("version {} as this gacer, policy {}",
                                            status.at("protocol_version").get<uint32_t>(),
                                            status.at("policy").get<std::string>()));
  } catch (const std::exception& error) {
    return fail("daemon-version", error.what());
  }
}

}  // namespace

Checks daemon_checks(const std::string& socket_path) {
  Checks checks{socket_check(socket_path)};
  if (checks.back().level != Level::kOk) return checks;
  checks.push_back(owner_check(socket_path));
  if (checks.back().level == Level::kOk) checks.push_back(version_check(socket_path));
  return checks;
}

}  // namespace gacer::tools::doctor
