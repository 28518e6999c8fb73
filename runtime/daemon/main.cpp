// SPDX-License-Identifier: Apache-2.0
// gacerd: options, signals, exit codes.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "runtime/base/log.h"
#include "runtime/base/socket_path.h"
#include "runtime/daemon/daemon.h"

namespace gacer::daemon {
namespace {

constexpr int kExitUsage = 2;
constexpr int kExitRefused = 4;
constexpr int kNice = -10;

struct Options {
  std::string socket_path = default_socket_path();
  std::string policy = "priority";
  std::vector<std::string> settings;
  std::string pid_file;
  std::string log_file;
  int ready_fd = -1;
};

// For the signal handler; set before the handler is installed, the object outlives run().
Daemon* running_daemon = nullptr;

void on_signal(int) {
  running_daemon->request_stop();
}

void install_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaction(signal, &action, nullptr);
}

// Two descriptors a tenant: the usual soft limit of 1024 would be met early.
void raise_fd_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// On a busy machine a late round is a late gate. Needs a privilege; without it the default must do.
void ask_for_the_cpu() {
  setpriority(PRIO_PROCESS, 0, kNice);
}

Status apply_setting(regulator::Regulator& core, const std::string& setting) {
  const size_t equals = setting.find('=');
  if (equals == std::string::npos) return Error{0, "--set needs KEY=VALUE, got '" + setting + "'"};
  return core.tune(setting.substr(0, equals), setting.substr(equals + 1));
}

std::string list_of_policies() {
  std::string names;
  for (const std::string_view name : regulator::policy_names())
    names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

Result<std::unique_ptr<regulator::Regulator>> make_core(const Options& options) {
  auto core = regulator::Regulator::create(options.policy);
  if (core == nullptr)
    return Error{0, "unknown policy '" + options.policy + "'; known: " + list_of_policies()};
  for (const std::string& setting : options.settings)
    if (const Status applied = apply_setting(*core, setting); !applied) return applied.error();
  return core;
}

Status write_pid_file(const std::string& path) {
  if (path.empty()) return {};
  FILE* file = fopen(path.c_str(), "we");
  if (file == nullptr) return Error{errno, "cannot write pid file " + path};
  fprintf(file, "%d\n", getpid());
  fclose(file);
  return {};
}

// From here on what we log goes there; the folder is the socket's and exists by now.
Status redirect_log(const std::string& path) {
  if (path.empty()) return {};
  const UniqueFd log(
      open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!log.valid() || dup2(log.get(), STDERR_FILENO) < 0)
    return Error{errno, "cannot write log " + path + ": " + strerror(errno)};
  return {};
}

// Tells the program that started us that the socket answers.
void announce_ready(int fd) {
  if (fd < 0) return;
  [[maybe_unused]] const ssize_t written = write(fd, "ready\n", 6);
  close(fd);
}

int fail(const Options& options, const Error& error, int code) {
  // A program that started us in the background shows this line to its user.
  if (options.ready_fd >= 0) dprintf(options.ready_fd, "%s\n", error.message.c_str());
  fprintf(stderr, "gacerd: %s\n", error.message.c_str());
  return code;
}

int serve(const Options& options) {
  auto core = make_core(options);
  if (!core) return fail(options, core.error(), kExitUsage);
  raise_fd_limit();
  ask_for_the_cpu();
  auto daemon = Daemon::create(options.socket_path, std::move(core).value());
  if (!daemon) return fail(options, daemon.error(), kExitRefused);
  if (const Status written = write_pid_file(options.pid_file); !written)
    return fail(options, written.error(), kExitRefused);
  if (const Status redirected = redirect_log(options.log_file); !redirected)
    return fail(options, redirected.error(), kExitRefused);
  running_daemon = daemon->get();
  install_signals();
  log_line(LogLevel::kInfo, "gacerd", "serving %s", options.socket_path.c_str());
  announce_ready(options.ready_fd);
  (*daemon)->run();
  if (!options.pid_file.empty()) unlink(options.pid_file.c_str());
  return 0;
}

void declare(CLI::App& app, Options& options) {
  app.add_option(
      "--socket", options.socket_path,
      "Control socket (default: $GACER_SOCKET, $XDG_RUNTIME_DIR/gacer.sock (not for root), "
      "/run/gacer/gacer.sock)");
  app.add_option("--policy", options.policy, "Policy at start: " + list_of_policies())
      ->capture_default_str();
  app.add_option("--set", options.settings, "Set a knob at start, KEY=VALUE; may be repeated")
      ->take_all();
  app.add_option("--pid-file", options.pid_file, "Write the process id there while serving");
  app.add_option("--log", options.log_file, "Append the log there instead of stderr");
  app.add_option("--ready-fd", options.ready_fd, "Descriptor to write 'ready' to once serving")
      ->group("");
}

int parse_and_serve(int argc, char** argv) {
  CLI::App app("gacerd: the GPU sharing regulator. Runs in the foreground until SIGTERM.",
               "gacerd");
  Options options;
  declare(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : kExitUsage;
  }
  return serve(options);
}

int run(int argc, char** argv) noexcept {
  try {
    return parse_and_serve(argc, argv);
  } catch (const std::exception& error) {  // out of memory: nothing else here throws
    fputs("gacerd: ", stderr);
    fputs(error.what(), stderr);
    fputs("\n", stderr);
    return kExitRefused;
  }
}

}  // namespace
}  // namespace gacer::daemon

int main(int argc, char** argv) {
  return gacer::daemon::run(argc, argv);
}
