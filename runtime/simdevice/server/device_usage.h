// SPDX-License-Identifier: Apache-2.0
// What an observer is told of one device: when kernels ran, whose, and how much memory moved. Fed
// by the op executor as operations start and end. Model time; not thread-safe.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "runtime/simdevice/server/busy_meter.h"

namespace gacer::simdevice {

struct Client;

class DeviceUsage {
 public:
  void kernel_started(const Client* client, uint64_t now_ns);
  void kernel_ended(const Client* client, uint64_t now_ns);
  // An operation from `start_ns` to `end_ns` has moved `bytes` to or from device memory, evenly.
  void memory_moved(uint64_t start_ns, uint64_t end_ns, uint64_t bytes);
  // Its kernels run no longer.
  void forget_client(const Client* client, uint64_t now_ns);

  uint64_t busy_ns(uint64_t now_ns) { return all_.busy_ns(now_ns); }
  uint64_t busy_ns(const Client* client, uint64_t now_ns);
  uint64_t memory_bytes(uint64_t now_ns);
  // Of the answers above, after them.
  uint64_t window_ns() const { return all_.window_ns(); }

 private:
  BusyMeter all_;
  WindowedTotal memory_;
  uint64_t memory_bytes_ = 0;
  std::unordered_map<const Client*, BusyMeter> clients_;
};

}  // namespace gacer::simdevice
