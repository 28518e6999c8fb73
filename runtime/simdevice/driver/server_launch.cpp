// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/server_launch.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/simdevice/server_place.h"

namespace gacer::simdriver {
namespace {

constexpr int kLifelineFd = 3;
constexpr uint64_t kStartLimitNs = 10'000'000'000;

Error system_error(const std::string& what) {
  return Error{errno, what + ": " + strerror(errno)};
}

Status make_directory(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return system_error("cannot create " + path);
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return system_error("cannot read " + path);
  if (!S_ISDIR(info.st_mode) || info.st_uid != geteuid())
    return Error{EPERM, path + " is not a directory of this user; set SIMGPU_DIR to one"};
  return {};
}

// All that the child needs, built before the fork: afterwards only async-signal-safe calls are
// allowed.
struct ServerCommand {
  std::string program;
  std::string log_path;
  std::vector<std::string> arguments;
  std::vector<std::string> environment;
  std::vector<char*> argument_pointers;
  std::vector<char*> environment_pointers;
};

// The server changes to "/", so nothing it gets may be relative.
std::string absolute(const std::string& path) {
  char* resolved = realpath(path.c_str(), nullptr);
  std::string result = resolved == nullptr ? path : resolved;
  free(resolved);
  return result;
}

std::string absolute_output(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return absolute(".") + "/" + path;
  return absolute(path.substr(0, slash + 1)) + path.substr(slash);
}

void add_option(ServerCommand& command, const char* option, const char* variable) {
  const char* value = getenv(variable);
  if (value == nullptr || *value == '\0') return;
  command.arguments.emplace_back(option);
  command.arguments.emplace_back(value);
}

void add_options(ServerCommand& command, const std::string& socket_path) {
  command.arguments = {command.program, "--socket", socket_path};
  add_option(command, "--device", "SIMGPU_DEVICE");
  add_option(command, "--devices", "SIMGPU_DEVICES");
  add_option(command, "--time-scale", "SIMGPU_TIME_SCALE");
  add_option(command, "--exec", "SIMGPU_EXEC");
  add_option(command, "--threads", "SIMGPU_THREADS");
  add_option(command, "--linger-s", "SIMGPU_LINGER_S");
  add_option(command, "--timeline", "SIMGPU_TIMELINE");
  if (command.arguments[command.arguments.size() - 2] == "--timeline")
    command.arguments.back() = absolute_output(command.arguments.back());
}

// LD_PRELOAD would put the shim into the server; SIMGPU_LOG is a level here and a file there.
void add_environment(ServerCommand& command) {
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (!text.starts_with("LD_PRELOAD=") && !text.starts_with("SIMGPU_LOG="))
      command.environment.emplace_back(text);
  }
  command.environment.push_back("SIMGPU_LOG=" + command.log_path);
}

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (std::string& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// The pointers are taken last: the strings stay where they are.
void make_command(const std::string& given_directory, ServerCommand& command) {
  const std::string directory = absolute(given_directory);
  command.program = absolute(server_program());
  command.log_path = directory + "/server.log";
  add_options(command, directory + "/device.sock");
  add_environment(command);
  command.argument_pointers = pointers_to(command.arguments);
  command.environment_pointers = pointers_to(command.environment);
}

void reset_signals() {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int number = 1; number < 32; ++number) signal(number, SIG_DFL);
}

// `lifeline` stays open in the server: whoever holds the other end sees it end.
[[noreturn]] void run_server(ServerCommand& command, int lifeline) {
  reset_signals();
  const int in = open("/dev/null", O_RDONLY);
  const int out = open(command.log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  dup2(in, 0);
  dup2(out < 0 ? in : out, 1);
  dup2(out < 0 ? in : out, 2);
  dup2(lifeline, kLifelineFd);
  fcntl(kLifelineFd, F_SETFD, 0);  // dup2 onto itself keeps close-on-exec
  syscall(SYS_close_range, static_cast<unsigned>(kLifelineFd) + 1, ~0U, 0U);
  [[maybe_unused]] const int moved = chdir("/");
  execve(command.program.c_str(), command.argument_pointers.data(),
         command.environment_pointers.data());
  _exit(127);
}

// Two forks so that the server is nobody's child. _Fork: no atfork handlers of the host program
// run.
Result<UniqueFd> spawn(ServerCommand& command) {
  if (access(command.program.c_str(), X_OK) != 0)
    return system_error("cannot run the device server " + command.program +
                        " (SIMGPU_SERVER names it)");
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return system_error("cannot start the device server");
  UniqueFd watch(ends[0]);
  const UniqueFd lifeline(ends[1]);
  const pid_t child = _Fork();
  if (child < 0) return system_error("cannot start the device server");
  if (child == 0) {
    setsid();
    const pid_t grandchild = _Fork();
    if (grandchild == 0) run_server(command, lifeline.get());
    _exit(grandchild < 0 ? 1 : 0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return {std::move(watch)};
}

bool ended(const UniqueFd& watch) {
  pollfd state{watch.get(), POLLIN, 0};
  return poll(&state, 1, 0) > 0 && (state.revents & POLLHUP) != 0;
}

// The newest complaint in the server's log; usage lines that follow it say nothing.
std::string last_complaint(const std::string& path) {
  std::ifstream log(path);
  std::string line, last;
  while (std::getline(log, line))
    if (line.starts_with("simgpu-server: ")) last = line;
  return last.empty() ? "see " + path : last;
}

Result<UniqueFd> wait_for_server(const UniqueFd& watch, const std::string& socket_path,
                                 const std::string& log_path) {
  const uint64_t give_up_ns = monotonic_now_ns() + kStartLimitNs;
  for (;;) {
    auto fd = simdevice::connect_socket(socket_path);
    if (fd.ok()) return fd;
    if (ended(watch)) return Error{ECHILD, "the device server ended: " + last_complaint(log_path)};
    if (monotonic_now_ns() > give_up_ns)
      return Error{fd.error().code, "the device server does not answer: " + fd.error().message +
                                        "; see " + log_path};
    usleep(2000);
  }
}

}  // namespace

std::string server_directory() {
  return simdevice::server_directory();
}

std::string server_program() {
  if (const char* own = getenv("SIMGPU_SERVER"); own != nullptr && *own != '\0') return own;
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&server_directory), &info) == 0 || info.dli_fname == nullptr)
    return "simgpu-server";
  const std::string library = info.dli_fname;
  const size_t slash = library.rfind('/');
  return (slash == std::string::npos ? std::string(".") : library.substr(0, slash)) +
         "/simgpu-server";
}

Result<UniqueFd> connect_to_server() {
  const std::string directory = server_directory();
  if (const Status made = make_directory(directory); !made.ok()) return made.error();
  const std::string socket_path = directory + "/device.sock";
  if (auto fd = simdevice::connect_socket(socket_path); fd.ok()) return fd;
  const UniqueFd lock(
      open((directory + "/start.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.valid()) return system_error("cannot open " + directory + "/start.lock");
  while (flock(lock.get(), LOCK_EX) != 0 && errno == EINTR) {
  }
  if (auto fd = simdevice::connect_socket(socket_path); fd.ok()) return fd;
  ServerCommand command;
  make_command(directory, command);
  const Result<UniqueFd> watch = spawn(command);
  if (!watch.ok()) return watch.error();
  return wait_for_server(*watch, socket_path, command.log_path);
}

}  // namespace gacer::simdriver
