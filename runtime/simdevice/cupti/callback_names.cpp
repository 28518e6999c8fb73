// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/cupti/callback_names.h"

#include <algorithm>
#include <span>

namespace gacer::simcupti {
namespace {

struct Row {
  uint32_t id;
  const char* name;
};

// Made from cupti_driver_cbid.h, cupti_runtime_cbid.h and cupti_callbacks.h, in ascending order.
constexpr Row kDriver[] = {
#define GACER_DRIVER_CALL(id, name) {id, #name},
#define GACER_RUNTIME_CALL(id, name)
#define GACER_RESOURCE(id, name)
#define GACER_SYNCHRONIZE(id, name)
#include "callback_rows.inc"
#undef GACER_DRIVER_CALL
#undef GACER_RUNTIME_CALL
};
constexpr Row kRuntime[] = {
#define GACER_DRIVER_CALL(id, name)
#define GACER_RUNTIME_CALL(id, name) {id, #name},
#include "callback_rows.inc"
#undef GACER_RUNTIME_CALL
#undef GACER_RESOURCE
};
constexpr Row kResource[] = {
#define GACER_RUNTIME_CALL(id, name)
#define GACER_RESOURCE(id, name) {id, #name},
#include "callback_rows.inc"
#undef GACER_RESOURCE
#undef GACER_SYNCHRONIZE
};
constexpr Row kSynchronize[] = {
#define GACER_RESOURCE(id, name)
#define GACER_SYNCHRONIZE(id, name) {id, #name},
#include "callback_rows.inc"
};

std::span<const Row> rows_of(CUpti_CallbackDomain domain) {
  switch (domain) {
    case CUPTI_CB_DOMAIN_DRIVER_API:
      return kDriver;
    case CUPTI_CB_DOMAIN_RUNTIME_API:
      return kRuntime;
    case CUPTI_CB_DOMAIN_RESOURCE:
      return kResource;
    case CUPTI_CB_DOMAIN_SYNCHRONIZE:
      return kSynchronize;
    default:
      return {};
  }
}

}  // namespace

const char* callback_name(CUpti_CallbackDomain domain, uint32_t id) {
  const auto rows = rows_of(domain);
  const auto found =
      std::lower_bound(rows.begin(), rows.end(), id,
                       [](const Row& row, uint32_t wanted) { return row.id < wanted; });
  return found == rows.end() || found->id != id ? nullptr : found->name;
}

}  // namespace gacer::simcupti
