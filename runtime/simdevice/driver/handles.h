// SPDX-License-Identifier: Apache-2.0
// Driver handles are addresses of objects that a table keeps alive. A handle is looked up, never
// dereferenced, so a stale or invented one is found out, and an object in use by one thread
// survives its destruction by another.
#pragma once

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gacer::simdriver {

// Thread-safe. H: the opaque CU* pointer type.
template <typename H, typename T>
class HandleTable {
 public:
  // The object behind `handle`, or null.
  std::shared_ptr<T> find(H handle) const {
    const std::shared_lock lock(mutex_);
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }
  H add(std::shared_ptr<T> object) {
    const H handle = to_handle(object.get());
    const std::unique_lock lock(mutex_);
    objects_[handle] = std::move(object);
    return handle;
  }
  // Forgets the handle; the object, or null when it was not known.
  std::shared_ptr<T> remove(H handle) {
    const std::unique_lock lock(mutex_);
    const auto found = objects_.find(handle);
    if (found == objects_.end()) return nullptr;
    std::shared_ptr<T> object = std::move(found->second);
    objects_.erase(found);
    return object;
  }
  template <typename Predicate>
  void remove_if(const Predicate& predicate) {
    std::vector<std::shared_ptr<T>> removed;  // destroyed after the lock is released
    const std::unique_lock lock(mutex_);
    for (auto it = objects_.begin(); it != objects_.end();) {
      if (!predicate(*it->second)) {
        ++it;
        continue;
      }
      removed.push_back(std::move(it->second));
      it = objects_.erase(it);
    }
  }
  template <typename Visitor>
  void for_each(const Visitor& visit) {
    const std::shared_lock lock(mutex_);
    for (const auto& entry : objects_) visit(*entry.second);
  }
  static H to_handle(const T* object) { return reinterpret_cast<H>(const_cast<T*>(object)); }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<H, std::shared_ptr<T>> objects_;
};

}  // namespace gacer::simdriver
