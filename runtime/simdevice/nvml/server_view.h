// SPDX-License-Identifier: Apache-2.0
// The connection to the running server as an observer. Without a server there are no figures; it is
// looked for again at every question. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/unique_fd.h"
#include "runtime/simdevice/sim_messages.h"

namespace gacer::simnvml {

struct Figures {
  simdevice::FiguresReply device{};
  std::vector<simdevice::ProcessFigures> processes;
};

class ServerView {
 public:
  struct Devices {
    std::string key;
    uint32_t count = 0;
  };
  // What the running server simulates; nullopt: none runs.
  std::optional<Devices> devices();
  // nullopt: no server runs, or it simulates something other than `key`.
  std::optional<Figures> figures(const std::string& key, uint32_t device);

 private:
  bool connect();
  bool connected();
  bool send(simdevice::SimType type, uint32_t device);
  // The answer to the newest request; empty: the server is gone.
  std::vector<uint8_t> receive();
  std::optional<Figures> ask_figures(uint32_t device);

  UniqueFd socket_;
  pid_t pid_ = 0;  // a fork child must not read its parent's answers
  uint32_t request_id_ = 0;
  Devices devices_;
};

}  // namespace gacer::simnvml
