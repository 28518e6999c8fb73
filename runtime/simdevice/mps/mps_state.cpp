// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/mps/mps_state.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace gacer::simdevice {
namespace {

constexpr uint32_t kMostDevices = 64;
constexpr size_t kMostServers = 64;
constexpr size_t kMostClients = 4096;

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (true) {
    const size_t begin = line.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos) return words;
    const size_t end = std::min(line.find_first_of(" \t\r\n", begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    line.remove_prefix(end);
  }
}

template <typename T>
std::optional<T> whole_number(std::string_view text) {
  T value{};
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> percentage_of(std::string_view word) {
  const std::string text(word);
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value > 0.0 && value <= 100.0)) return std::nullopt;
  return value;
}

std::string percentage_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f\n", value);
  return text;
}

std::string bad_percentage(std::string_view word) {
  return "Invalid percentage \"" + std::string(word) + "\": a number above 0 and up to 100\n";
}

std::optional<uint32_t> device_of(std::string_view word) {
  const auto device = whole_number<uint32_t>(word);
  return device && *device < kMostDevices ? device : std::nullopt;
}

// As the real tool prints it: in MiB where that is exact.
std::string limit_text(const MpsSettings& settings, uint32_t device) {
  const auto found = settings.memory_limits.find(device);
  if (found == settings.memory_limits.end()) return "N/A\n";
  const uint64_t bytes = found->second;
  return bytes % (1 << 20) == 0 ? std::to_string(bytes >> 20) + "M\n"
                                : std::to_string(bytes) + "\n";
}

std::string set_limit(MpsSettings& settings, std::string_view device_word,
                      std::string_view size_word) {
  const auto device = device_of(device_word);
  const auto bytes = parse_memory_size(size_word);
  if (!device) return "Invalid device \"" + std::string(device_word) + "\"\n";
  if (!bytes)
    return "Invalid memory limit \"" + std::string(size_word) + "\": a number with K, M or G\n";
  settings.memory_limits[*device] = *bytes;
  return limit_text(settings, *device);
}

// A process that has ended but is not waited for yet is none.
bool alive(int pid) {
  if (::kill(pid, 0) != 0 && errno != EPERM) return false;
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string stat;
  std::getline(in, stat);
  const size_t name_end = stat.rfind(')');
  return name_end == std::string::npos || stat.substr(name_end, 3) != ") Z";
}

std::string command_line(int pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  std::getline(in, name);
  return name;
}

// Of the pid namespace, as `ps` shows it: the inode number in "pid:[4026531836]".
std::string namespace_of(int pid) {
  char text[64] = "";
  const std::string path = "/proc/" + std::to_string(pid) + "/ns/pid";
  const ssize_t length = ::readlink(path.c_str(), text, sizeof text - 1);
  const std::string_view link(text, length > 0 ? static_cast<size_t>(length) : 0);
  const size_t open = link.find('['), close = link.find(']');
  if (open == std::string_view::npos || close == std::string_view::npos) return "-";
  return std::string(link.substr(open + 1, close - open - 1));
}

std::string padded(std::string text, size_t width) {
  if (text.size() < width) text.resize(width, ' ');
  return text + " ";
}

}  // namespace

std::optional<uint64_t> parse_memory_size(std::string_view text) {
  uint64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || value == 0) return std::nullopt;
  std::string_view unit(parsed.ptr, static_cast<size_t>(text.data() + text.size() - parsed.ptr));
  if (unit.size() == 2 && (unit[1] == 'B' || unit[1] == 'b')) unit.remove_suffix(1);
  unsigned shift = 0;
  if (!unit.empty()) {
    const size_t at = std::string_view("KkMmGg").find(unit[0]);
    if (unit.size() != 1 || at == std::string_view::npos) return std::nullopt;
    shift = 10 * (static_cast<unsigned>(at) / 2 + 1);
  }
  if (value > (uint64_t{1} << 50) >> shift) return std::nullopt;
  return value << shift;
}

std::optional<std::map<uint32_t, uint64_t>> parse_memory_limits(std::string_view text) {
  std::map<uint32_t, uint64_t> limits;
  while (!text.empty()) {
    const size_t end = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, end);
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const auto device = device_of(part.substr(0, equals));
    const auto bytes = parse_memory_size(part.substr(equals + 1));
    if (!device || !bytes) return std::nullopt;
    limits[*device] = *bytes;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return limits;
}

std::optional<MpsSettings> parse_settings(std::string_view line) {
  const auto words = words_of(line);
  if (words.size() < 2) return std::nullopt;
  const auto percentage = percentage_of(words[0]);
  const auto priority = whole_number<int>(words[1]);
  if (!percentage || !priority) return std::nullopt;
  MpsSettings settings{*percentage, *priority, {}};
  for (size_t i = 2; i < words.size(); ++i) {
    const auto limits = parse_memory_limits(words[i]);
    if (!limits) return std::nullopt;
    settings.memory_limits.insert(limits->begin(), limits->end());
  }
  return settings;
}

std::span<const MpsState::Command> MpsState::commands() {
  using S = MpsState;
  static constexpr Command kCommands[] = {
      {"get_server_list", 0, 0, &S::server_list, ""},
      {"get_server_status", 1, 1, &S::server_status, "PID"},
      {"start_server", 2, 2, &S::start_server, "-uid UID"},
      {"shutdown_server", 1, 2, &S::shutdown_server, "PID [-f]"},
      {"get_client_list", 1, 1, &S::client_list, "PID"},
      {"get_device_client_list", 0, 1, &S::device_client_list, "[PID]"},
      {"ps", 0, 2, &S::processes, "[-p PID]"},
      {"terminate_client", 2, 2, &S::terminate_client, "SERVER-PID CLIENT-PID"},
      {"get_default_active_thread_percentage", 0, 0, &S::default_percentage, ""},
      {"set_default_active_thread_percentage", 0, 1, &S::set_default_percentage, "PERCENT"},
      {"get_active_thread_percentage", 1, 1, &S::percentage, "PID"},
      {"set_active_thread_percentage", 2, 2, &S::set_percentage, "PID PERCENT"},
      {"get_default_device_pinned_mem_limit", 1, 1, &S::default_memory_limit, "DEVICE"},
      {"set_default_device_pinned_mem_limit", 2, 2, &S::set_default_memory_limit, "DEVICE SIZE"},
      {"get_device_pinned_mem_limit", 2, 2, &S::memory_limit, "PID DEVICE"},
      {"set_device_pinned_mem_limit", 3, 3, &S::set_memory_limit, "PID DEVICE SIZE"},
      {"get_default_client_priority", 0, 0, &S::default_priority, ""},
      {"set_default_client_priority", 1, 1, &S::set_default_priority, "0|1"},
      {"quit", 0, 2, &S::quit, "[-t SECONDS]"},
      {"server_started", 1, 2, &S::server_started, {}},
      {"server_status", 2, 2, &S::note_status, {}},
      {"client_started", 2, 2 + kMostDevices, &S::client_started, {}},
      {"client_ended", 2, 2, &S::client_ended, {}},
      {"client_settings", 0, 0, &S::client_settings, {}},
  };
  return kCommands;
}

std::string MpsState::answer(std::string_view line) {
  const auto words = words_of(line);
  if (words.empty()) return {};
  forget_dead();
  const auto known = commands();
  const auto command = std::find_if(known.begin(), known.end(),
                                    [&](const Command& c) { return c.word == words[0]; });
  const Words arguments(words.data() + 1, words.size() - 1);
  if (command != known.end() && arguments.size() >= command->least &&
      arguments.size() <= command->most)
    return (this->*command->handler)(arguments);
  if (command != known.end())
    return "Invalid number of arguments: " + std::string(command->word) + " " +
           std::string(command->usage) + "\n";
  std::string text = "Unknown command \"" + std::string(words[0]) + "\"; known:";
  for (const Command& c : known)
    if (c.usage.data() != nullptr) text += " " + std::string(c.word);
  return text + "\n";
}

void MpsState::forget_dead() {
  std::erase_if(servers_, [](const auto& entry) { return !alive(entry.first); });
  for (auto& [pid, server] : servers_)
    std::erase_if(server.clients, [](const auto& entry) { return !alive(entry.first); });
}

MpsState::Server* MpsState::server(std::string_view word, std::string& answer) {
  const auto pid = whole_number<int>(word);
  const auto found = pid ? servers_.find(*pid) : servers_.end();
  if (found != servers_.end()) return &found->second;
  answer = "Server " + std::string(word) + " not found\n";
  return nullptr;
}

std::string MpsState::server_list(Words) {
  std::string list;
  for (const auto& [pid, server] : servers_) list += std::to_string(pid) + "\n";
  return list;
}

std::string MpsState::server_status(Words words) {
  std::string text;
  const Server* found = server(words[0], text);
  return found == nullptr ? text : found->status + "\n";
}

std::string MpsState::client_list(Words words) {
  std::string text;
  const Server* found = server(words[0], text);
  if (found == nullptr) return text;
  for (const auto& [pid, devices] : found->clients) text += std::to_string(pid) + "\n";
  return text;
}

std::string MpsState::device_client_list(Words words) {
  std::string text;
  const Server* only = words.empty() ? nullptr : server(words[0], text);
  if (!words.empty() && only == nullptr) return text;
  std::map<uint32_t, std::vector<int>> by_device;
  for (const auto& [pid, server] : servers_) {
    if (only != nullptr && only != &server) continue;
    for (const auto& [client, devices] : server.clients)
      for (const uint32_t device : devices) by_device[device].push_back(client);
  }
  for (const auto& [device, clients] : by_device) {
    text += "Device " + std::to_string(device) + ":\n";
    for (const int client : clients) text += std::to_string(client) + "\n";
  }
  return text;
}

std::string MpsState::processes(Words words) {
  std::string text;
  const bool one = words.size() == 2 && words[0] == "-p";
  if (!words.empty() && !one) return "Invalid arguments: ps [-p PID]\n";
  const Server* only = one ? server(words[1], text) : nullptr;
  if (one && only == nullptr) return text;
  text = padded("PID", 9) + padded("ID", 4) + padded("SERVER", 9) + padded("DEVICE", 8) +
         padded("NAMESPACE", 12) + "COMMAND\n";
  for (const auto& [pid, server] : servers_) {
    if (only != nullptr && only != &server) continue;
    for (const auto& [client, devices] : server.clients)
      for (const uint32_t device : devices)
        text += padded(std::to_string(client), 9) + padded("0", 4) +
                padded(std::to_string(pid), 9) + padded(std::to_string(device), 8) +
                padded(namespace_of(client), 12) + command_line(client) + "\n";
  }
  return text;
}

std::string MpsState::start_server(Words words) {
  if (words[0] != "-uid" || !whole_number<unsigned>(words[1]))
    return "Invalid arguments: start_server -uid UID\n";
  return "The simulated device starts its server with its first client\n";
}

// The server is the simulated device itself: it ends with its last client, or at once with -f.
std::string MpsState::shutdown_server(Words words) {
  std::string text;
  const Server* found = server(words[0], text);
  if (found == nullptr) return text;
  if (words.size() == 2 && words[1] != "-f") return "Invalid arguments: shutdown_server PID [-f]\n";
  if (words.size() == 2) ::kill(found->pid, SIGTERM);
  return {};
}

// With the pid in the signal's value, see server/server.cpp.
std::string MpsState::terminate_client(Words words) {
  std::string text;
  const Server* found = server(words[0], text);
  if (found == nullptr) return text;
  const auto client = whole_number<int>(words[1]);
  if (!client || !found->clients.contains(*client))
    return "Client " + std::string(words[1]) + " not found\n";
  sigval value{};
  value.sival_int = *client;
  return ::sigqueue(found->pid, SIGUSR2, value) == 0 ? "" : "The server cannot be reached\n";
}

std::string MpsState::default_percentage(Words) {
  return percentage_text(defaults_.percentage);
}

std::string MpsState::set_default_percentage(Words words) {
  const std::string_view word = words.empty() ? std::string_view() : words[0];
  const auto value = percentage_of(word);
  if (!value) return bad_percentage(word);
  defaults_.percentage = *value;
  return percentage_text(*value);
}

std::string MpsState::percentage(Words words) {
  std::string text;
  const Server* found = server(words[0], text);
  return found == nullptr ? text : percentage_text(found->settings.percentage);
}

std::string MpsState::set_percentage(Words words) {
  std::string text;
  Server* found = server(words[0], text);
  if (found == nullptr) return text;
  const auto value = percentage_of(words[1]);
  if (!value) return bad_percentage(words[1]);
  found->settings.percentage = *value;
  return percentage_text(*value);
}

std::string MpsState::default_memory_limit(Words words) {
  const auto device = device_of(words[0]);
  return device ? limit_text(defaults_, *device)
                : "Invalid device \"" + std::string(words[0]) + "\"\n";
}

std::string MpsState::set_default_memory_limit(Words words) {
  return set_limit(defaults_, words[0], words[1]);
}

std::string MpsState::memory_limit(Words words) {
  std::string text;
  const Server* found = server(words[0], text);
  if (found == nullptr) return text;
  const auto device = device_of(words[1]);
  return device ? limit_text(found->settings, *device)
                : "Invalid device \"" + std::string(words[1]) + "\"\n";
}

std::string MpsState::set_memory_limit(Words words) {
  std::string text;
  Server* found = server(words[0], text);
  return found == nullptr ? text : set_limit(found->settings, words[1], words[2]);
}

std::string MpsState::default_priority(Words) {
  return std::to_string(defaults_.priority) + "\n";
}

std::string MpsState::set_default_priority(Words words) {
  if (words[0] != "0" && words[0] != "1")
    return "Invalid priority \"" + std::string(words[0]) + "\": 0 (normal) or 1 (below normal)\n";
  defaults_.priority = words[0] == "1" ? 1 : 0;
  return default_priority({});
}

std::string MpsState::quit(Words words) {
  const bool timeout = words.size() == 2 && words[0] == "-t" && whole_number<unsigned>(words[1]);
  if (!words.empty() && !timeout) return "Invalid arguments: quit [-t SECONDS]\n";
  quit_ = true;
  return {};
}

// A server has what the defaults were when it started.
std::string MpsState::server_started(Words words) {
  const auto pid = whole_number<int>(words[0]);
  if (!pid || *pid <= 0) return "Invalid pid\n";
  if (servers_.contains(*pid)) return {};
  if (servers_.size() >= kMostServers) return "Too many servers\n";
  Server started;
  started.pid = *pid;
  started.uid = words.size() > 1 ? whole_number<unsigned>(words[1]).value_or(0) : 0;
  started.settings = defaults_;
  servers_[*pid] = std::move(started);
  return {};
}

std::string MpsState::note_status(Words words) {
  std::string text;
  Server* found = server(words[0], text);
  if (found != nullptr) found->status = words[1] == "FAULT" ? "FAULT" : "ACTIVE";
  return text;
}

std::string MpsState::client_started(Words words) {
  std::string text;
  Server* found = server(words[0], text);
  if (found == nullptr) return text;
  const auto pid = whole_number<int>(words[1]);
  if (!pid || *pid <= 0 || found->clients.size() >= kMostClients) return "Invalid pid\n";
  std::vector<uint32_t>& devices = found->clients[*pid];
  devices.clear();
  for (const std::string_view word : words.subspan(2))
    if (const auto device = device_of(word)) devices.push_back(*device);
  return {};
}

std::string MpsState::client_ended(Words words) {
  std::string text;
  Server* found = server(words[0], text);
  const auto pid = whole_number<int>(words[1]);
  if (found != nullptr && pid) found->clients.erase(*pid);
  return text;
}

// Of the server that the client will be one of; there is one at most.
std::string MpsState::client_settings(Words) {
  const MpsSettings& settings = servers_.empty() ? defaults_ : servers_.begin()->second.settings;
  std::string text = percentage_text(settings.percentage);
  text.back() = ' ';
  text += std::to_string(settings.priority);
  for (const auto& [device, bytes] : settings.memory_limits)
    text += " " + std::to_string(device) + "=" + std::to_string(bytes);
  return text + "\n";
}

}  // namespace gacer::simdevice
