// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/host_function.h"

#include <pthread.h>
#include <signal.h>

#include <mutex>
#include <unordered_map>

#include "runtime/simdevice/driver/driver.h"

namespace gacer::simdriver {
namespace {

struct PendingCall {
  HostWork work;
  simdevice::HostFunctionOp op;
};

struct Calls {
  std::mutex mutex;
  bool started = false;
  uint64_t next_token = 1;
  std::unordered_map<uint64_t, PendingCall> pending;
};

Calls& calls() {
  static Calls& state = *new Calls;
  return state;
}

thread_local bool calls_forbidden = false;

// Callbacks must not call the driver.
struct NoCallsHere {
  NoCallsHere() { calls_forbidden = true; }
  ~NoCallsHere() { calls_forbidden = false; }
};

void run(const HostWork& work) {
  if (work.internal != nullptr) {
    (*work.internal)();
    return;
  }
  const NoCallsHere guard;
  if (work.callback != nullptr) {
    work.callback(work.stream, Driver::get().link().sticky_error(), work.user_data);
  } else if (work.function != nullptr) {
    work.function(work.user_data);
  }
}

void run_token(uint64_t token) {
  PendingCall call;
  {
    const std::lock_guard lock(calls().mutex);
    const auto found = calls().pending.find(token);
    if (found == calls().pending.end()) return;
    call = found->second;
    calls().pending.erase(found);
  }
  run(call.work);
  call.op.op.header.type = static_cast<uint16_t>(simdevice::SimType::kHostFunctionDone);
  Driver::get().link().send(call.op);
}

void* serve(void*) {
  while (const auto token = Driver::get().link().next_host_function()) run_token(*token);
  return nullptr;
}

// The thread inherits the mask of its creator.
bool start_thread() {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const bool started = pthread_create(&thread, nullptr, &serve, nullptr) == 0;
  if (started) pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

}  // namespace

bool inside_host_function() {
  return calls_forbidden;
}

CUresult register_host_function(const HostWork& work, simdevice::HostFunctionOp& op) {
  const std::lock_guard lock(calls().mutex);
  if (!calls().started && !start_thread()) return CUDA_ERROR_OPERATING_SYSTEM;
  calls().started = true;
  op.token = calls().next_token++;
  calls().pending[op.token] = PendingCall{work, op};
  return CUDA_SUCCESS;
}

}  // namespace gacer::simdriver
