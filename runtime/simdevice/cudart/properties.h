// SPDX-License-Identifier: Apache-2.0
// cudaDeviceProp of either toolkit, from the driver's attributes.
#pragma once

#include <cstring>

#include "runtime/simdevice/cudart/driver_api.h"
#include "runtime/simdevice/cudart/outcome.h"

namespace gacer::cudart {

// An attribute that the driver does not know is 0, as on older devices.
inline int device_attribute(CUdevice device, CUdevice_attribute attribute) {
  int value = 0;
  (void)legacy_driver().cuDeviceGetAttribute(&value, attribute, device);
  return value;
}

// What is not an attribute: name, identifiers, memory.
template <typename Properties>
Outcome fill_identity(CUdevice device, Properties& out) {
  const Driver& driver = legacy_driver();
  RT_TRY(driver.cuDeviceGetName(out.name, static_cast<int>(sizeof(out.name)), device));
  CUuuid uuid{};
  RT_TRY(driver.cuDeviceGetUuid(&uuid, device));
  static_assert(sizeof(uuid) == sizeof(out.uuid));
  std::memcpy(&out.uuid, &uuid, sizeof(uuid));
  return driver.cuDeviceTotalMem(&out.totalGlobalMem, device);
}

}  // namespace gacer::cudart
