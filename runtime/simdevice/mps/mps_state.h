// SPDX-License-Identifier: Apache-2.0
// What the control daemon knows and how it answers; no I/O but the signal that ends a client, so it
// can be tested directly. Commands and their meaning: NVIDIA "Multi-Process Service", Tools and
// Interface Reference. Lines of ours, with which simgpu-server and the simulated driver take part:
//   server_started SERVER [UID]       client_started SERVER CLIENT DEVICE...   client_ended SERVER
//   CLIENT server_status SERVER WORD         client_settings -> "PERCENT PRIORITY DEVICE=BYTES..."
// Any input is survived; numbers are checked.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gacer::simdevice {

// What clients of a server start with.
struct MpsSettings {
  double percentage = 100.0;
  int priority = 0;                            // 0 normal, 1 below
  std::map<uint32_t, uint64_t> memory_limits;  // bytes by device; none: no limit
};

// "1G", "512MB", "100M", "2048": the syntax of CUDA_MPS_PINNED_DEVICE_MEM_LIMIT; nullopt otherwise.
std::optional<uint64_t> parse_memory_size(std::string_view text);
// "0=1G,1=512MB"; nullopt when any part is malformed.
std::optional<std::map<uint32_t, uint64_t>> parse_memory_limits(std::string_view text);
// Of client_settings; nullopt: no such line.
std::optional<MpsSettings> parse_settings(std::string_view line);

class MpsState {
 public:
  // Answers as the real tool prints them.
  std::string answer(std::string_view line);
  bool quit_requested() const { return quit_; }

 private:
  struct Server {
    int pid = 0;
    unsigned uid = 0;
    std::string status = "ACTIVE";
    MpsSettings settings;
    std::map<int, std::vector<uint32_t>> clients;  // devices by pid
  };
  using Words = std::span<const std::string_view>;
  using Handler = std::string (MpsState::*)(Words);
  struct Command {
    std::string_view word;
    size_t least, most;  // arguments
    Handler handler;
    std::string_view usage;
  };
  static std::span<const Command> commands();

  std::string server_list(Words words);
  std::string server_status(Words words);
  std::string client_list(Words words);
  std::string device_client_list(Words words);
  std::string processes(Words words);
  std::string start_server(Words words);
  std::string shutdown_server(Words words);
  std::string terminate_client(Words words);
  std::string default_percentage(Words words);
  std::string set_default_percentage(Words words);
  std::string percentage(Words words);
  std::string set_percentage(Words words);
  std::string default_memory_limit(Words words);
  std::string set_default_memory_limit(Words words);
  std::string memory_limit(Words words);
  std::string set_memory_limit(Words words);
  std::string default_priority(Words words);
  std::string set_default_priority(Words words);
  std::string quit(Words words);
  std::string server_started(Words words);
  std::string note_status(Words words);
  std::string client_started(Words words);
  std::string client_ended(Words words);
  std::string client_settings(Words words);

  void forget_dead();
  // The server a word names; nullptr: none, and `answer` says so.
  Server* server(std::string_view word, std::string& answer);

  MpsSettings defaults_;
  std::map<int, Server> servers_;
  bool quit_ = false;
};

}  // namespace gacer::simdevice
