// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "runtime/base/clock.h"
#include "runtime/base/unique_fd.h"

namespace gacer::tools::doctor {
namespace {

constexpr uint64_t kNsPerMs = 1'000'000;
constexpr size_t kMaxErrors = 4096;
constexpr size_t kMaxOutput = 64u << 20;
constexpr int kExecFailed = 127;

struct Pipe {
  UniqueFd reader;
  UniqueFd writer;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Error{errno, std::string("pipe: ") + strerror(errno)};
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

void set_variables(const Variables& variables) {
  for (const auto& [name, value] : variables)
    value.empty() ? unsetenv(name.c_str()) : setenv(name.c_str(), value.c_str(), 1);
}

// The tool has one thread, so that the child may do more than call the kernel.
[[noreturn]] void become(const std::vector<std::string>& words, const Variables& variables,
                         bool report_stdout, const Pipe& report, const Pipe& errors) {
  const int null = open("/dev/null", O_RDWR);
  // First out of the way of the numbers that are about to be taken.
  const int report_fd = fcntl(report.writer.get(), F_DUPFD, 16);
  const int errors_fd = fcntl(errors.writer.get(), F_DUPFD, 16);
  dup2(null, STDIN_FILENO);
  dup2(report_stdout ? report_fd : null, STDOUT_FILENO);
  dup2(errors_fd, STDERR_FILENO);
  dup2(report_fd, kReportFd);
  close_range(kReportFd + 1, ~0u, 0);
  set_variables(variables);
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  dprintf(STDERR_FILENO, "cannot execute %s: %s\n", argv[0], strerror(errno));
  _exit(kExecFailed);
}

// False at the end of the pipe.
bool read_some(int fd, std::string& text, size_t limit) {
  char buffer[65536];
  const ssize_t bytes = read(fd, buffer, sizeof buffer);
  if (bytes <= 0) return false;
  text.append(buffer, std::min(static_cast<size_t>(bytes), limit - std::min(limit, text.size())));
  return true;
}

// Reads until both pipes have ended or the time is over.
void read_all(int report, int errors, uint64_t deadline_ns, ChildResult& result) {
  pollfd entries[2] = {{report, POLLIN, 0}, {errors, POLLIN, 0}};
  while (entries[0].fd >= 0 || entries[1].fd >= 0) {
    const uint64_t now_ns = monotonic_now_ns();
    result.timed_out = now_ns >= deadline_ns;
    if (result.timed_out) return;
    if (poll(entries, 2, static_cast<int>((deadline_ns - now_ns) / kNsPerMs) + 1) <= 0) continue;
    if (entries[0].revents != 0 && !read_some(report, result.output, kMaxOutput))
      entries[0].fd = -1;
    if (entries[1].revents != 0 && !read_some(errors, result.errors, kMaxErrors))
      entries[1].fd = -1;
  }
}

}  // namespace

Result<ChildResult> run_child(const std::vector<std::string>& words, const Variables& variables,
                              bool report_stdout, int limit_ms) {
  auto report = make_pipe();
  auto errors = make_pipe();
  if (!report || !errors) return (report ? errors : report).error();
  const pid_t child = fork();
  if (child < 0) return Error{errno, std::string("fork: ") + strerror(errno)};
  if (child == 0) become(words, variables, report_stdout, *report, *errors);
  report->writer.reset();
  errors->writer.reset();
  ChildResult result;
  const uint64_t deadline_ns = monotonic_now_ns() + static_cast<uint64_t>(limit_ms) * kNsPerMs;
  read_all(report->reader.get(), errors->reader.get(), deadline_ns, result);
  if (result.timed_out) kill(child, SIGKILL);
  waitpid(child, &result.status, 0);
  return result;
}

}  // namespace gacer::tools::doctor
