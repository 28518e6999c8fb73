// SPDX-License-Identifier: Apache-2.0
// Which part of a path keeps a user from connecting to the socket at its end: for the one line that
// says what to change. Reads owners and modes only, as whoever calls; access lists (acl(5)) count
// as far as they show in the group bits. Source: path_resolution(7), unix(7) "write permission".
#pragma once

#include <sys/types.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gacer {

struct BlockedPath {
  std::string component;  // the first part of the path that blocks, from the root on
  std::string reason;     // "uid 1000 may not search it (mode 0700, owner 0:0)"
  int code = 0;           // errno that connect() would give: ENOENT, ENOTDIR, EACCES, ELOOP
};

// Empty: nothing in the way. Folders must be searchable, the last part writable; uid 0 may do all.
// Symbolic links are followed, their targets' folders included. A relative path starts at the
// working folder. `gids`: every group of that user, the effective one included.
std::optional<BlockedPath> first_blocked_component(const std::string& path, uid_t uid,
                                                   std::span<const gid_t> gids);

// Effective and supplementary groups of this process.
std::vector<gid_t> own_groups();

}  // namespace gacer
