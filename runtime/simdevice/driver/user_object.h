// SPDX-License-Identifier: Apache-2.0
// User objects: a pointer with a destructor and a count of references, some of which graphs hold.
#pragma once

#include <memory>
#include <mutex>

#include "runtime/simdevice/driver/cuda_api.h"

namespace gacer::simdriver {

class UserObject : public std::enable_shared_from_this<UserObject> {
 public:
  UserObject(void* object, CUhostFn destroy, unsigned references)
      : object_(object), destroy_(destroy), references_(references) {}

  void retain(unsigned count);
  // The last reference runs the destructor, here and now. False: fewer are held.
  bool release(unsigned count);

 private:
  void* const object_;
  const CUhostFn destroy_;
  std::mutex mutex_;
  uint64_t references_;
};

// One reference that a graph holds; clones and executable graphs share it.
class UserObjectHold {
 public:
  explicit UserObjectHold(std::shared_ptr<UserObject> object) : object_(std::move(object)) {}
  UserObjectHold(const UserObjectHold&) = delete;
  UserObjectHold& operator=(const UserObjectHold&) = delete;
  ~UserObjectHold();
  const UserObject* object() const { return object_.get(); }

 private:
  const std::shared_ptr<UserObject> object_;
};

}  // namespace gacer::simdriver
