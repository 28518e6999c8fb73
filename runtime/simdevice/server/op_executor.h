// SPDX-License-Identifier: Apache-2.0
// Does the effect of operations when the engine starts them, and publishes their end.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/simdevice/engine/engine.h"
#include "runtime/simdevice/server/client.h"
#include "runtime/simdevice/server/kernel_runner.h"
#include "runtime/simdevice/server/model_clock.h"
#include "runtime/simdevice/server/timeline.h"

namespace gacer::simdevice {

class OpExecutor final : public EngineHost {
 public:
  OpExecutor(KernelRunner& kernels, ModelClock& clock, Timeline& timeline)
      : kernels_(kernels), clock_(clock), timeline_(timeline) {}

  StartResult op_started(const Op& op, uint64_t now_ns) override;
  void op_ended(const Op& op, uint64_t start_ns, uint64_t end_ns) override;

  PendingOps& pending() { return pending_; }
  // Waits for values or for other devices that are not met yet, and what ends them. To be polled by
  // the owner of the engines.
  void poll_waits(uint64_t now_ns);
  bool has_waits() const { return !waits_.empty(); }
  void forget_client(const Client& client);
  // Sets the sticky error of the client, once, and logs it.
  void fail(Client& client, int cuda_error, std::string_view text);

 private:
  StartResult start_kernel(Client& client, const KernelPayload& kernel, uint64_t now_ns);
  StartResult start_effect(Client& client, const std::string& failure);
  StartResult start_wait(PendingOp& pending, const Op& op, const WaitValuePayload& wait);
  StartResult start_remote_wait(PendingOp& pending, const Op& op, const RemoteWaitPayload& wait);
  StartResult start_host_function(PendingOp& pending, const Op& op, const HostFunctionOp& function);
  void record_span(const Op& op, const PendingOp& pending, uint64_t start_ns, uint64_t end_ns);

  KernelRunner& kernels_;
  ModelClock& clock_;
  Timeline& timeline_;
  PendingOps pending_;
  struct Wait {
    Client* client;
    EngineOp op;
    std::variant<ValueOp, EngineOp> until;
  };
  static bool over(const Wait& wait);
  std::vector<Wait> waits_;
};

}  // namespace gacer::simdevice
