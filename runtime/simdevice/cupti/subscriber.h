// SPDX-License-Identifier: Apache-2.0
// The one subscriber, and which callbacks it wants. Thread-safe.
#pragma once

#include <atomic>
#include <mutex>
#include <string>

#include "runtime/simdevice/cupti/cupti_api.h"

struct CUpti_Subscriber_st {
  CUpti_CallbackFunc callback = nullptr;
  void* user_data = nullptr;
  std::string name;
};

namespace gacer::simcupti {

class Subscriptions {
 public:
  static Subscriptions& get();

  CUptiResult subscribe(CUpti_SubscriberHandle* out, CUpti_CallbackFunc callback, void* user_data,
                        const char* name);
  CUptiResult unsubscribe(CUpti_SubscriberHandle subscriber);
  CUptiResult enable(CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain,
                     CUpti_CallbackId id, bool on);
  CUptiResult enable_domain(CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain,
                            bool on);
  CUptiResult enable_all(CUpti_SubscriberHandle subscriber, bool on);
  CUptiResult state(uint32_t* out, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain,
                    CUpti_CallbackId id);

  bool wants(CUpti_CallbackDomain domain, CUpti_CallbackId id) const;
  // Any callback at all.
  bool wants_something() const { return wanted_.load(std::memory_order_relaxed) != 0; }
  // Calls the subscriber when it wants this callback.
  void call(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data);
  // "" : nobody has subscribed.
  std::string current_name();

  // One more than the largest id; 0: no such domain.
  static uint32_t ids_in(CUpti_CallbackDomain domain);

 private:
  static constexpr uint32_t kMostIds = 1024;
  void set(CUpti_CallbackDomain domain, uint32_t id, bool on);
  bool is_current(CUpti_CallbackDomain domain, CUpti_SubscriberHandle subscriber) const;

  std::mutex mutex_;
  std::atomic<CUpti_SubscriberHandle> current_{nullptr};
  std::atomic<uint8_t> enabled_[CUPTI_CB_DOMAIN_SIZE][kMostIds] = {};
  std::atomic<uint32_t> wanted_{0};
};

}  // namespace gacer::simcupti
