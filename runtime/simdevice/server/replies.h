// SPDX-License-Identifier: Apache-2.0
// Answers to requests. Each returns "" or why the client must be disconnected.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/result.h"
#include "runtime/simdevice/server/client.h"

namespace gacer::simdevice {

struct Answer {
  uint64_t value = 0;
  uint64_t value2 = 0;
  uint32_t detail = 0;
  std::string_view text = {};
  int fd = -1;
};

std::string reply(Client& client, uint32_t request_id, int error, const Answer& answer = {});
std::string reply_text(Client& client, uint32_t request_id, int error, std::string_view text);
std::string reply_status(Client& client, uint32_t request_id, const Status& status);

}  // namespace gacer::simdevice
