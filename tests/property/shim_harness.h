// SPDX-License-Identifier: Apache-2.0
// The shim of this process over the model driver, and the daemon that it believes in.
#pragma once

#include <cstdint>

#include "interpose/attachment.h"
#include "tests/property/model/model.h"

namespace gacer::property {

// The shim's entry points; the driver's own where the shim has none.
const ModelTable& shim_table();

class ShimHarness {
 public:
  // As at program start, over the installed model; attached or not.
  ShimHarness(Model& model, bool attached);
  ~ShimHarness();
  ShimHarness(const ShimHarness&) = delete;
  ShimHarness& operator=(const ShimHarness&) = delete;

  // One decision of the daemon, made of random numbers; also attaching anew and leaving.
  void decide(const uint32_t (&random)[6]);
  void attach();
  void detach();
  abi::Segment& segment();

  static constexpr int kMostAttachments = 4;

 private:
  Model& model_;
  int attachments_ = 0;
};

}  // namespace gacer::property
