// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/server/timeline.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <set>

#include "runtime/simdevice/server/json_text.h"

namespace gacer::simdevice {
namespace {

constexpr size_t kMostNames = 20'000;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

void Timeline::add_client(uint32_t client, int pid, const std::string& label) {
  if (enabled()) clients_[client] = {pid, label};
}

uint32_t Timeline::name_id(const std::string& name) {
  const auto known = name_ids_.find(name);
  if (known != name_ids_.end()) return known->second;
  if (names_.size() >= kMostNames) return 0;
  names_.push_back(name);
  const auto id = static_cast<uint32_t>(names_.size() - 1);
  name_ids_[name] = id;
  return id;
}

void Timeline::push(const Event& event) {
  if (events_.size() >= kMostEvents) events_.pop_front();
  events_.push_back(event);
}

void Timeline::add_span(uint32_t client, uint32_t stream, const std::string& name,
                        uint64_t start_ns, uint64_t end_ns) {
  if (enabled()) push({start_ns, end_ns, client, stream, name_id(name), 0});
}

void Timeline::add_share(uint32_t client, uint64_t at_ns, double share) {
  if (enabled()) push({at_ns, at_ns, client, 0, kShareName, static_cast<float>(share)});
}

void Timeline::append_metadata(std::string& json) const {
  std::set<std::pair<uint32_t, uint32_t>> tracks;
  for (const Event& event : events_)
    if (event.name != kShareName) tracks.emplace(event.client, event.stream);
  for (const auto& [id, client] : clients_) {
    json += "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":" + std::to_string(id) +
            ",\"args\":{\"name\":";
    append_json_string(json, client.label + " (pid " + std::to_string(client.pid) + ")");
    json += "}},\n";
  }
  for (const auto& [client, stream] : tracks)
    json += "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":" + std::to_string(client) +
            ",\"tid\":" + std::to_string(stream) + ",\"args\":{\"name\":\"stream " +
            std::to_string(stream) + "\"}},\n";
}

void Timeline::append_event(std::string& json, const Event& event) const {
  char text[160];
  const double start_us = static_cast<double>(event.start_ns) / 1000.0;
  if (event.name == kShareName) {
    std::snprintf(
        text, sizeof text,
        "{\"ph\":\"C\",\"name\":\"SM share\",\"pid\":%u,\"ts\":%.3f,\"args\":{\"share\":%.4f}},\n",
        event.client, start_us, static_cast<double>(event.share));
    json += text;
    return;
  }
  json += "{\"ph\":\"X\",\"name\":";
  append_json_string(json, names_[event.name]);
  std::snprintf(text, sizeof text, ",\"pid\":%u,\"tid\":%u,\"ts\":%.3f,\"dur\":%.3f},\n",
                event.client, event.stream, start_us,
                static_cast<double>(event.end_ns - event.start_ns) / 1000.0);
  json += text;
}

Status Timeline::write() const {
  if (!enabled()) return {};
  const std::string temporary = path_ + ".tmp";
  std::string json = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  append_metadata(json);
  for (const Event& event : events_) append_event(json, event);
  json +=
      "{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":0,\"args\":{\"labels\":\"gacer "
      "simdevice\"}}]}\n";
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(temporary.c_str(), "w"));
  if (!file || std::fwrite(json.data(), 1, json.size(), file.get()) != json.size() ||
      std::fflush(file.get()) != 0 || std::rename(temporary.c_str(), path_.c_str()) != 0)
    return Error{errno, path_ + ": cannot write the timeline: " + std::strerror(errno)};
  return {};
}

}  // namespace gacer::simdevice
