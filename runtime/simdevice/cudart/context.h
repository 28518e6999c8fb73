// SPDX-License-Identifier: Apache-2.0
// Which context a runtime call works in: the one that is current (the program may have pushed it
// with the driver API), else the primary context of the thread's device, retained on first use.
#pragma once

#include "runtime/simdevice/cudart/driver_api.h"
#include "runtime/simdevice/cudart/outcome.h"

namespace gacer::cudart {

// Makes a context current if none is, or if the current one was reset by cudaDeviceReset.
Outcome ensure_context();

// The driver present and initialised, no context needed.
Outcome ensure_driver();

// The device that the calling thread's next call will use; needs no context.
int current_device();

// Whether `device` is an ordinal of this machine; cudaErrorInvalidDevice otherwise.
Outcome check_device(int device);

// cudaSetDevice: the device's primary context becomes current.
Outcome use_device(int device);

// cudaDeviceReset.
Outcome reset_device();

// The primary context of a device, retained once for the process.
Outcome primary_context(int device, CUcontext& out);

// A device's context current for as long as the object lives.
class DeviceScope {
 public:
  explicit DeviceScope(int device);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;
  Outcome status() const { return status_; }

 private:
  Outcome status_;
};

}  // namespace gacer::cudart
