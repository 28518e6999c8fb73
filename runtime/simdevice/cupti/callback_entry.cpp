// SPDX-License-Identifier: Apache-2.0
// The callback API: cuptiSubscribe, cuptiEnable*, cuptiGetCallback*
#include <algorithm>
#include <cstring>

#include "runtime/simdevice/cupti/callback_names.h"
#include "runtime/simdevice/cupti/subscriber.h"

using namespace gacer::simcupti;  // NOLINT: entry points are global by nature

namespace {

CUpti_CallbackDomain kDomains[] = {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RUNTIME_API,
                                   CUPTI_CB_DOMAIN_RESOURCE,   CUPTI_CB_DOMAIN_SYNCHRONIZE,
                                   CUPTI_CB_DOMAIN_NVTX,       CUPTI_CB_DOMAIN_STATE};

void copy_name(const std::string& name, char* out, size_t size) {
  if (out == nullptr || size == 0) return;
  const size_t length = std::min(name.size(), size - 1);
  memcpy(out, name.data(), length);
  out[length] = '\0';
}

}  // namespace

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                           void* user_data) {
  return Subscriptions::get().subscribe(subscriber, callback, user_data, nullptr);
}

CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                              void* user_data, CUpti_SubscriberParams* params) {
  if (params != nullptr && params->structSize < CUpti_SubscriberParams_STRUCT_SIZE)
    return CUPTI_ERROR_INVALID_PARAMETER;
  const std::string before = Subscriptions::get().current_name();
  const CUptiResult result = Subscriptions::get().subscribe(
      subscriber, callback, user_data, params == nullptr ? nullptr : params->subscriberName);
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && params != nullptr)
    copy_name(before, params->oldSubscriberName, params->oldSubscriberSize);
  return result;
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) {
  return Subscriptions::get().unsubscribe(subscriber);
}
CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  return Subscriptions::get().enable(subscriber, domain, id, enable != 0);
}
CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber,
                              CUpti_CallbackDomain domain) {
  return Subscriptions::get().enable_domain(subscriber, domain, enable != 0);
}
CUptiResult cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle subscriber) {
  return Subscriptions::get().enable_all(subscriber, enable != 0);
}
CUptiResult cuptiGetCallbackState(uint32_t* enable, CUpti_SubscriberHandle subscriber,
                                  CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  return Subscriptions::get().state(enable, subscriber, domain, id);
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id, const char** name) {
  if (name == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *name = callback_name(domain, id);
  return *name == nullptr ? CUPTI_ERROR_INVALID_PARAMETER : CUPTI_SUCCESS;
}

CUptiResult cuptiSupportedDomains(size_t* count, CUpti_DomainTable* domains) {
  if (count == nullptr || domains == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *count = std::size(kDomains);
  *domains = kDomains;
  return CUPTI_SUCCESS;
}
