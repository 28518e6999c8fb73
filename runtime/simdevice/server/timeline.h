// SPDX-License-Identifier: Apache-2.0
// What ran when, for Perfetto (Chrome trace JSON): one process a client, one track a stream, one
// counter of SM share a client. Keeps the newest kMostEvents events. Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/base/result.h"

namespace gacer::simdevice {

class Timeline {
 public:
  static constexpr size_t kMostEvents = 200'000;

  // Empty path: records nothing.
  explicit Timeline(std::string path) : path_(std::move(path)) {}

  bool enabled() const { return !path_.empty(); }
  void add_client(uint32_t client, int pid, const std::string& label);
  void add_span(uint32_t client, uint32_t stream, const std::string& name, uint64_t start_ns,
                uint64_t end_ns);
  void add_share(uint32_t client, uint64_t at_ns, double share);
  // Replaces the file atomically.
  Status write() const;

 private:
  struct Event {
    uint64_t start_ns = 0;
    uint64_t end_ns = 0;
    uint32_t client = 0;
    uint32_t stream = 0;
    uint32_t name = 0;  // kShareName: a counter
    float share = 0;
  };
  struct Client {
    int pid = 0;
    std::string label;
  };
  static constexpr uint32_t kShareName = UINT32_MAX;
  void push(const Event& event);
  uint32_t name_id(const std::string& name);
  void append_metadata(std::string& json) const;
  void append_event(std::string& json, const Event& event) const;

  std::string path_;
  std::deque<Event> events_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, uint32_t> name_ids_;
  std::unordered_map<uint32_t, Client> clients_;
};

}  // namespace gacer::simdevice
