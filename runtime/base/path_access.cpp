// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/path_access.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

namespace gacer {
namespace {

constexpr mode_t kSearch = 1;
constexpr mode_t kWrite = 2;
constexpr int kMostLinks = 40;  // as the kernel

struct User {
  uid_t uid;
  std::span<const gid_t> gids;

  // `wanted`: bits of one class.
  bool may(const struct stat& info, mode_t wanted) const {
    if (uid == 0) return true;
    unsigned shift = 0;
    if (info.st_uid == uid)
      shift = 6;
    else if (std::ranges::find(gids, info.st_gid) != gids.end())
      shift = 3;
    return ((info.st_mode >> shift) & wanted) == wanted;
  }
};

BlockedPath missing(const std::string& component, int code) {
  return {component, code == ENOENT ? "does not exist" : strerror(code), code};
}

BlockedPath forbidden(const std::string& component, const User& user, const struct stat& info,
                      const char* what) {
  char reason[160];
  snprintf(reason, sizeof reason, "uid %u may not %s it (mode %04o, owner %u:%u)", user.uid, what,
           info.st_mode & 07777U, info.st_uid, info.st_gid);
  return {component, reason, EACCES};
}

// Takes the first name off `rest`.
std::string next_name(std::string& rest) {
  const size_t start = std::min(rest.find_first_not_of('/'), rest.size());
  const size_t end = std::min(rest.find('/', start), rest.size());
  std::string name = rest.substr(start, end - start);
  rest.erase(0, end);
  return name;
}

bool only_slashes(const std::string& text) {
  return text.find_first_not_of('/') == std::string::npos;
}

std::string joined(const std::string& folder, const std::string& name) {
  if (name == "..") return folder.substr(0, std::max<size_t>(folder.find_last_of('/'), 1));
  return folder == "/" ? folder + name : folder + "/" + name;
}

std::string working_folder() {
  char folder[PATH_MAX];
  return getcwd(folder, sizeof folder) != nullptr ? folder : "/";
}

std::string target_of(const std::string& link) {
  char target[PATH_MAX];
  const ssize_t bytes = readlink(link.c_str(), target, sizeof target);
  return bytes > 0 ? std::string(target, static_cast<size_t>(bytes)) : std::string();
}

std::optional<BlockedPath> blocked_folder(const std::string& folder, const User& user) {
  struct stat info {};
  if (lstat(folder.c_str(), &info) != 0) return missing(folder, errno);
  if (!S_ISDIR(info.st_mode)) return BlockedPath{folder, "is not a folder", ENOTDIR};
  if (!user.may(info, kSearch)) return forbidden(folder, user, info, "search");
  return std::nullopt;
}

}  // namespace

std::optional<BlockedPath> first_blocked_component(const std::string& path, uid_t uid,
                                                   std::span<const gid_t> gids) {
  const User user{uid, gids};
  std::string rest = path;
  std::string at = path.starts_with('/') ? "/" : working_folder();
  for (int links = 0; !only_slashes(rest);) {
    if (auto blocked = blocked_folder(at, user)) return blocked;
    const std::string name = next_name(rest);
    if (name == ".") continue;
    const std::string next = joined(at, name);
    struct stat info {};
    if (lstat(next.c_str(), &info) != 0) return missing(next, errno);
    if (S_ISLNK(info.st_mode)) {
      if (++links > kMostLinks) return missing(next, ELOOP);
      rest.insert(0, target_of(next));
      if (rest.starts_with('/')) at.assign(1, '/');
      continue;
    }
    if (only_slashes(rest) && !user.may(info, kWrite)) return forbidden(next, user, info, "write");
    at = next;
  }
  return std::nullopt;
}

std::vector<gid_t> own_groups() {
  std::vector<gid_t> groups(static_cast<size_t>(std::max(getgroups(0, nullptr), 0)));
  const int count = getgroups(static_cast<int>(groups.size()), groups.data());
  groups.resize(static_cast<size_t>(std::max(count, 0)));
  groups.push_back(getegid());
  return groups;
}

}  // namespace gacer
