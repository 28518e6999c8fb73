// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/server/client.h"

namespace gacer::simdevice {

uint64_t PendingOps::add(PendingOp op) {
  if (free_.empty()) {
    ops_.push_back(std::move(op));
    return ops_.size() - 1;
  }
  const uint64_t cookie = free_.back();
  free_.pop_back();
  ops_[cookie] = std::move(op);
  return cookie;
}

void PendingOps::release(uint64_t cookie) {
  ops_[cookie] = {};
  free_.push_back(cookie);
}

void PendingOps::release_client(const Client* client) {
  for (uint64_t cookie = 0; cookie < ops_.size(); ++cookie)
    if (ops_[cookie].client == client) release(cookie);
}

}  // namespace gacer::simdevice
