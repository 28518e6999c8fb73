// SPDX-License-Identifier: Apache-2.0
#include "tools/watch/watcher.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>

#include "runtime/base/unique_fd.h"
#include "tools/command.h"
#include "tools/control_client.h"
#include "tools/watch/process_tree.h"

namespace gacer::tools {
namespace {

constexpr int kFirstPauseMs = 20;
constexpr int kLongestPauseMs = 1000;
// A program has its libraries long before; only then is a missing shim a fact.
constexpr int kSettledMs = 500;
constexpr size_t kMaxLines = 8;

// As a file shows in a process's map.
std::string without_links(const std::string& path) {
  std::error_code failed;
  const auto resolved = std::filesystem::canonical(path, failed);
  return failed ? path : resolved.string();
}

class Watch {
 public:
  Watch(const WatchOptions& options, pid_t root, int root_pidfd)
      : options_(options),
        shim_file_(without_links(options.shim_path)),
        root_(root),
        root_pidfd_(root_pidfd) {}

  void run() {
    int watched_ms = 0;
    for (int pause_ms = kFirstPauseMs; !root_ended(pause_ms);
         pause_ms = std::min(pause_ms * 3 / 2, kLongestPauseMs)) {
      watched_ms += pause_ms;
      look(watched_ms >= kSettledMs);
    }
  }

 private:
  bool root_ended(int pause_ms) const {
    pollfd entry{root_pidfd_, POLLIN, 0};
    return poll(&entry, 1, pause_ms) > 0;
  }

  enum class Finding { kNone, kNoShim, kUnmanaged };

  static const char* text_of(Finding finding) {
    return finding == Finding::kUnmanaged
               ? "uses CUDA but is not managed: LD_PRELOAD was reset, or has no effect on it"
               : "runs without the shim: LD_PRELOAD was reset, or has no effect on it";
  }

  Finding judge(pid_t pid, const ProcessView& view, bool settled) const {
    if (view.executable.empty() || view.has_shim) return Finding::kNone;
    if (view.has_cuda) return Finding::kUnmanaged;
    const bool worth_a_line = settled && pid == root_ && options_.expect_shim;
    return worth_a_line ? Finding::kNoShim : Finding::kNone;
  }

  void look(bool settled) {
    std::map<pid_t, Report> seen;  // those that have ended are forgotten
    for (const pid_t pid : process_tree(root_)) {
      const ProcessView view = view_process(pid, shim_file_);
      const auto before = reported_.find(pid);
      Report report{view.start_ticks, Finding::kNone};
      if (before != reported_.end() && before->second.start_ticks == view.start_ticks)
        report = before->second;
      if (const Finding finding = judge(pid, view, settled); finding > report.finding) {
        report.finding = finding;
        flag(pid, view, finding);
      }
      seen[pid] = report;
    }
    reported_.swap(seen);
  }

  void flag(pid_t pid, const ProcessView& view, Finding finding) {
    const bool ends = options_.strict && finding == Finding::kUnmanaged;
    if (++lines_ <= kMaxLines)
      fmt::print(stderr, "gacer run: process {} ({}) {}{}\n", pid, view.executable,
                 text_of(finding), ends ? "; ended (--strict)" : "");
    if (ends)
      kill(pid, SIGKILL);
    else if (finding == Finding::kUnmanaged)
      tell_daemon(pid, view);
  }

  void tell_daemon(pid_t pid, const ProcessView& view) const {
    std::string name = std::filesystem::path(view.executable).filename().string();
    for (char& c : name)
      if (c <= ' ' || c > '~') c = '?';
    try {
      if (auto daemon = ControlClient::try_connect(options_.socket_path))
        daemon->request(fmt::format("unmanaged {} {} {}", pid, name, options_.tenant));
    } catch (const ToolError&) {  // the line above has been written
    }
  }

  const WatchOptions& options_;
  const std::string shim_file_;
  pid_t root_;
  int root_pidfd_;
  struct Report {
    uint64_t start_ticks = 0;  // against reused numbers
    Finding finding = Finding::kNone;
  };
  std::map<pid_t, Report> reported_;
  size_t lines_ = 0;
};

void keep_standard_error_only(int pidfd) {
  const int null = open("/dev/null", O_RDWR);
  dup2(null, STDIN_FILENO);
  dup2(null, STDOUT_FILENO);
  const int kept = fcntl(pidfd, F_DUPFD_CLOEXEC, 16);
  dup2(kept, 3);
  close_range(4, ~0u, 0);
}

// True once the caller is another program, or gone: the pipe's end in it is closed by exec.
bool wait_for_exec(int reader) {
  char byte = 0;
  return read(reader, &byte, 1) == 0;
}

[[noreturn]] void watch(const WatchOptions& options, pid_t root, int pidfd, int exec_reader) {
  setsid();
  if (fork() != 0) _exit(0);
  prctl(PR_SET_NAME, "gacer-watch");
  wait_for_exec(exec_reader);
  keep_standard_error_only(pidfd);
  Watch(options, root, 3).run();
  _exit(0);
}

}  // namespace

void start_watcher(const WatchOptions& options) {
  const pid_t root = getpid();
  const UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, root, 0)));
  int ends[2];
  if (!pidfd.valid() || pipe2(ends, O_CLOEXEC) != 0) return;
  const UniqueFd reader(ends[0]);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[1]);
    watch(options, root, pidfd.get(), reader.get());
  }
  if (child > 0) waitpid(child, nullptr, 0);
  // The writing end stays open on purpose: the program's exec closes it.
  if (child < 0) close(ends[1]);
}

}  // namespace gacer::tools
