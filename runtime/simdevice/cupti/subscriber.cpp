// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/cupti/subscriber.h"

#include "runtime/simdevice/cupti/dispatch.h"

namespace gacer::simcupti {

static_assert(CUPTI_DRIVER_TRACE_CBID_SIZE <= 1024 && CUPTI_RUNTIME_TRACE_CBID_SIZE <= 1024);

Subscriptions& Subscriptions::get() {
  static Subscriptions& subscriptions = *new Subscriptions;
  return subscriptions;
}

uint32_t Subscriptions::ids_in(CUpti_CallbackDomain domain) {
  switch (domain) {
    case CUPTI_CB_DOMAIN_DRIVER_API:
      return CUPTI_DRIVER_TRACE_CBID_SIZE;
    case CUPTI_CB_DOMAIN_RUNTIME_API:
      return CUPTI_RUNTIME_TRACE_CBID_SIZE;
    case CUPTI_CB_DOMAIN_RESOURCE:
      return CUPTI_CBID_RESOURCE_SIZE;
    case CUPTI_CB_DOMAIN_SYNCHRONIZE:
      return CUPTI_CBID_SYNCHRONIZE_SIZE;
    case CUPTI_CB_DOMAIN_NVTX:
      return kMostIds;
    case CUPTI_CB_DOMAIN_STATE:
      return CUPTI_CBID_STATE_SIZE;
    default:
      return 0;
  }
}

CUptiResult Subscriptions::subscribe(CUpti_SubscriberHandle* out, CUpti_CallbackFunc callback,
                                     void* user_data, const char* name) {
  if (out == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  if (driver_hooks() == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
  const std::lock_guard lock(mutex_);
  if (current_.load(std::memory_order_relaxed) != nullptr)
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  // Never deleted: a callback may be under way in another thread.
  auto* subscriber = new CUpti_Subscriber_st{callback, user_data, name == nullptr ? "" : name};
  current_.store(subscriber, std::memory_order_release);  // pairs with call()
  *out = subscriber;
  return CUPTI_SUCCESS;
}

CUptiResult Subscriptions::unsubscribe(CUpti_SubscriberHandle subscriber) {
  const std::lock_guard lock(mutex_);
  if (subscriber == nullptr || current_.load(std::memory_order_relaxed) != subscriber)
    return CUPTI_ERROR_INVALID_PARAMETER;
  current_.store(nullptr, std::memory_order_release);  // pairs with call()
  for (auto& domain : enabled_)
    for (auto& id : domain) id.store(0, std::memory_order_relaxed);
  wanted_.store(0, std::memory_order_relaxed);
  update_hooks();
  return CUPTI_SUCCESS;
}

bool Subscriptions::is_current(CUpti_CallbackDomain domain,
                               CUpti_SubscriberHandle subscriber) const {
  return subscriber != nullptr && current_.load(std::memory_order_relaxed) == subscriber &&
         ids_in(domain) != 0;
}

void Subscriptions::set(CUpti_CallbackDomain domain, uint32_t id, bool on) {
  const uint8_t before = enabled_[domain][id].exchange(on ? 1 : 0, std::memory_order_relaxed);
  if (on && before == 0) wanted_.fetch_add(1, std::memory_order_relaxed);
  if (!on && before != 0) wanted_.fetch_sub(1, std::memory_order_relaxed);
}

CUptiResult Subscriptions::enable(CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain,
                                  CUpti_CallbackId id, bool on) {
  const std::lock_guard lock(mutex_);
  if (!is_current(domain, subscriber) || id == 0 || id >= ids_in(domain))
    return CUPTI_ERROR_INVALID_PARAMETER;
  set(domain, id, on);
  update_hooks();
  return CUPTI_SUCCESS;
}

CUptiResult Subscriptions::enable_domain(CUpti_SubscriberHandle subscriber,
                                         CUpti_CallbackDomain domain, bool on) {
  const std::lock_guard lock(mutex_);
  if (!is_current(domain, subscriber)) return CUPTI_ERROR_INVALID_PARAMETER;
  for (uint32_t id = 1; id < ids_in(domain); ++id) set(domain, id, on);
  update_hooks();
  return CUPTI_SUCCESS;
}

CUptiResult Subscriptions::enable_all(CUpti_SubscriberHandle subscriber, bool on) {
  for (int domain = CUPTI_CB_DOMAIN_DRIVER_API; domain < CUPTI_CB_DOMAIN_SIZE; ++domain) {
    const CUptiResult result =
        enable_domain(subscriber, static_cast<CUpti_CallbackDomain>(domain), on);
    if (result != CUPTI_SUCCESS) return result;
  }
  return CUPTI_SUCCESS;
}

CUptiResult Subscriptions::state(uint32_t* out, CUpti_SubscriberHandle subscriber,
                                 CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  if (out == nullptr || !is_current(domain, subscriber) || id >= ids_in(domain))
    return CUPTI_ERROR_INVALID_PARAMETER;
  *out = enabled_[domain][id].load(std::memory_order_relaxed);
  return CUPTI_SUCCESS;
}

bool Subscriptions::wants(CUpti_CallbackDomain domain, CUpti_CallbackId id) const {
  return id < ids_in(domain) && enabled_[domain][id].load(std::memory_order_relaxed) != 0;
}

void Subscriptions::call(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  // Acquire pairs with subscribe().
  const CUpti_SubscriberHandle subscriber = current_.load(std::memory_order_acquire);
  if (subscriber == nullptr || subscriber->callback == nullptr || !wants(domain, id)) return;
  subscriber->callback(subscriber->user_data, domain, id, data);
}

std::string Subscriptions::current_name() {
  const std::lock_guard lock(mutex_);
  const CUpti_SubscriberHandle subscriber = current_.load(std::memory_order_relaxed);
  return subscriber == nullptr ? "" : "CUPTI for " + subscriber->name;
}

}  // namespace gacer::simcupti
