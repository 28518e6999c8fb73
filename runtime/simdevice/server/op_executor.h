// SPDX-License-Identifier: Apache-2.0
// Does the effect of operations when the engine starts them, and publishes their end.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/simdevice/engine/engine.h"
#include "runtime/simdevice/server/client.h"
#include "runtime/simdevice/server/device_usage.h"
#include "runtime/simdevice/server/fault_rules.h"
#include "runtime/simdevice/server/kernel_runner.h"
#include "runtime/simdevice/server/model_clock.h"
#include "runtime/simdevice/server/timeline.h"

namespace gacer::simdevice {

inline constexpr const char* kDeviceLost =
    "the device is lost until all processes that had it are gone";

class OpExecutor final : public EngineHost {
 public:
  OpExecutor(KernelRunner& kernels, ModelClock& clock, Timeline& timeline)
      : kernels_(kernels), clock_(clock), timeline_(timeline) {}

  StartResult op_started(const Op& op, uint64_t now_ns) override;
  void op_ended(const Op& op, uint64_t start_ns, uint64_t end_ns) override;

  PendingOps& pending() { return pending_; }
  // Of the device that the engine is.
  DeviceUsage& usage(const Engine* engine) { return usage_[engine]; }
  // Waits for values or for other devices that are not met yet, and what ends them. To be polled by
  // the owner of the engines.
  void poll_waits(uint64_t now_ns);
  bool has_waits() const { return !waits_.empty(); }
  void forget_client(const Client& client);
  // Sets the sticky error of the client, once, and logs it.
  void fail(Client& client, int cuda_error, std::string_view text);
  // The same for an error of the device in the client's work, which under MPS is everybody's.
  void fail_on_device(Client& client, int cuda_error, std::string_view text);

  FaultRules& faults() { return faults_; }
  // From now on no client can do anything; the owner of the clients tells them.
  void lose_device() { device_lost_ = true; }
  bool device_lost() const { return device_lost_; }

 private:
  StartResult start_payload(PendingOp& pending, const Op& op, uint64_t now_ns);
  void note_start(PendingOp& pending, const Op& op, const StartResult& result, uint64_t now_ns);
  void note_end(PendingOp& pending, uint64_t start_ns, uint64_t end_ns);
  uint64_t host_offset_ns(uint64_t model_ns);
  StartResult start_kernel(Client& client, const KernelPayload& kernel, uint64_t now_ns);
  // What a launch is asked to suffer; true: it does not run.
  bool suffer(Client& client, const LaunchFault& asked, StartResult& result);
  // Nothing more of a client whose process has ended: what follows would meet results that are
  // missing, and no fault of the device comes of a client's end.
  static StartResult end_work(Client& client);
  StartResult start_effect(Client& client, const std::string& failure);
  StartResult start_wait(PendingOp& pending, const Op& op, const WaitValuePayload& wait);
  StartResult start_remote_wait(PendingOp& pending, const Op& op, const RemoteWaitPayload& wait);
  StartResult start_host_function(PendingOp& pending, const Op& op, const HostFunctionOp& function);
  void record_span(const Op& op, const PendingOp& pending, uint64_t start_ns, uint64_t end_ns);

  KernelRunner& kernels_;
  ModelClock& clock_;
  Timeline& timeline_;
  PendingOps pending_;
  FaultRules faults_;
  bool device_lost_ = false;
  std::unordered_map<const Engine*, DeviceUsage> usage_;
  uint64_t host_offset_ns_ = 0;
  struct Wait {
    Client* client;
    EngineOp op;
    std::variant<ValueOp, EngineOp> until;
  };
  static bool over(const Wait& wait);
  std::vector<Wait> waits_;
};

}  // namespace gacer::simdevice
