// SPDX-License-Identifier: Apache-2.0
// The page through which a client sees its operations complete; the server writes it.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "runtime/simdevice/sim_messages.h"

namespace gacer::simdevice {

class ClientPageOwner {
 public:
  static Result<ClientPageOwner> create();
  ClientPageOwner(ClientPageOwner&& other) noexcept;
  ClientPageOwner& operator=(ClientPageOwner&&) = delete;
  ~ClientPageOwner();

  int fd() const { return fd_.get(); }
  void stream_completed(uint32_t stream, uint64_t seq);
  // An event record that was operation `seq` of `stream`: the event and the stream.
  void record_completed(uint32_t event, uint64_t generation, uint64_t device_ns, uint32_t stream,
                        uint64_t seq);
  // The first error stays.
  void set_sticky_error(int cuda_error, std::string_view text);
  void set_device_ns(uint64_t device_ns);

 private:
  ClientPageOwner(UniqueFd fd, ClientPage* page) : fd_(std::move(fd)), page_(page) {}

  UniqueFd fd_;
  ClientPage* page_;
};

}  // namespace gacer::simdevice
