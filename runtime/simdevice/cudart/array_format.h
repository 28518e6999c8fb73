// SPDX-License-Identifier: Apache-2.0
// Channel descriptors of the runtime and array formats of the driver.
#pragma once

#include "runtime/simdevice/cudart/driver_api.h"
#include "runtime/simdevice/cudart/outcome.h"

namespace gacer::cudart {

struct ArrayFormat {
  CUarray_format format = CU_AD_FORMAT_UNSIGNED_INT8;
  unsigned channels = 0;
};

// cudaErrorInvalidChannelDescriptor for what no array can hold.
Outcome array_format(const cudaChannelFormatDesc& desc, ArrayFormat& out);
cudaChannelFormatDesc channel_desc(const ArrayFormat& format);

// Bytes of one channel.
size_t format_bytes(CUarray_format format);

}  // namespace gacer::cudart
