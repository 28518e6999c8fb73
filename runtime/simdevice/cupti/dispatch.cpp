// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/cupti/dispatch.h"

#include "runtime/simdevice/cupti/activity.h"
#include "runtime/simdevice/cupti/resources.h"
#include "runtime/simdevice/cupti/subscriber.h"

namespace gacer::simcupti {
namespace {

using simdevice::ToolsActivity;
using simdevice::ToolsCall;
using simdevice::ToolsDomain;

int& runtime_depth() {
  thread_local int depth = 0;
  return depth;
}

CUpti_CallbackDomain domain_of(const ToolsCall& call) {
  return call.domain == ToolsDomain::kDriver ? CUPTI_CB_DOMAIN_DRIVER_API
                                             : CUPTI_CB_DOMAIN_RUNTIME_API;
}

void call_back(ToolsCall& call, bool enter) {
  Subscriptions& subscriptions = Subscriptions::get();
  if (!subscriptions.wants(domain_of(call), call.cbid)) return;
  CUpti_CallbackData data{};
  data.callbackSite = enter ? CUPTI_API_ENTER : CUPTI_API_EXIT;
  data.functionName = call.function;
  data.functionParams = call.params;
  data.functionReturnValue = enter ? nullptr : call.result;
  data.symbolName = call.symbol;
  data.context = static_cast<CUcontext>(call.context);
  data.contextUid = context_id(data.context);
  data.correlationData = &call.correlation_data;
  data.correlationId = call.correlation_id;
  subscriptions.call(domain_of(call), call.cbid, &data);
}

void on_call(ToolsCall& call, bool enter) {
  if (Unreported::active()) return;
  const bool runtime = call.domain == ToolsDomain::kRuntime;
  if (enter) {
    if (runtime) ++runtime_depth();
    call_back(call, true);
    if (!runtime) resources_before(call);
    return;
  }
  if (!runtime) resources_after(call);
  Activities::get().record_call(call, !runtime && in_runtime_call());
  call_back(call, false);
  if (runtime && runtime_depth() > 0) --runtime_depth();
}

void on_activity(const ToolsActivity& activity) {
  Activities::get().record(activity);
}

}  // namespace

bool in_runtime_call() {
  return runtime_depth() > 0;
}

void update_hooks() {
  simdevice::ToolsHooks* hooks = driver_hooks();
  if (hooks == nullptr) return;
  const bool records = Activities::get().any_enabled();
  const bool calls = records || Subscriptions::get().wants_something();
  const bool device = records && Activities::get().device_work_enabled();
  // Release pairs with the driver's acquire: all that the handlers use is there.
  hooks->on_call.store(calls ? &on_call : nullptr, std::memory_order_release);
  hooks->on_activity.store(device ? &on_activity : nullptr, std::memory_order_release);
}

}  // namespace gacer::simcupti
