// SPDX-License-Identifier: Apache-2.0
// cuUserObject*, cuGraph{Retain,Release}UserObject
#include <algorithm>
#include <climits>

#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/graph_handles.h"
#include "runtime/simdevice/driver/user_object.h"

namespace gacer::simdriver {
namespace {

HandleTable<CUuserObject, UserObject>& user_objects() {
  static auto& table = *new HandleTable<CUuserObject, UserObject>;
  return table;
}

bool count_is_valid(unsigned count) {
  return count > 0 && count <= INT_MAX;
}

CUresult find_object(CUuserObject handle, unsigned count, std::shared_ptr<UserObject>& out) {
  SIM_TRY(Driver::get().initialized());
  out = user_objects().find(handle);
  return out == nullptr || !count_is_valid(count) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

}  // namespace

void UserObject::retain(unsigned count) {
  const std::lock_guard lock(mutex_);
  references_ += count;
}

bool UserObject::release(unsigned count) {
  {
    const std::lock_guard lock(mutex_);
    if (count > references_) return false;
    references_ -= count;
    if (references_ > 0) return true;
  }
  user_objects().remove(HandleTable<CUuserObject, UserObject>::to_handle(this));
  destroy_(object_);
  return true;
}

UserObjectHold::~UserObjectHold() {
  object_->release(1);
}

}  // namespace gacer::simdriver

using namespace gacer::simdriver;

CUresult cuUserObjectCreate(CUuserObject* out, void* object, CUhostFn destroy, unsigned references,
                            unsigned flags) {
  SIM_TRY(Driver::get().initialized());
  if (out == nullptr || destroy == nullptr || !count_is_valid(references) ||
      flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
    return CUDA_ERROR_INVALID_VALUE;
  *out = user_objects().add(std::make_shared<UserObject>(object, destroy, references));
  return CUDA_SUCCESS;
}

CUresult cuUserObjectRetain(CUuserObject handle, unsigned count) {
  std::shared_ptr<UserObject> object;
  SIM_TRY(find_object(handle, count, object));
  object->retain(count);
  return CUDA_SUCCESS;
}

CUresult cuUserObjectRelease(CUuserObject handle, unsigned count) {
  std::shared_ptr<UserObject> object;
  SIM_TRY(find_object(handle, count, object));
  return object->release(count) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphRetainUserObject(CUgraph graph_handle, CUuserObject handle, unsigned count,
                                 unsigned flags) {
  const std::lock_guard lock(graph_lock());
  std::shared_ptr<Graph> graph;
  std::shared_ptr<UserObject> object;
  SIM_TRY(find_graph(graph_handle, graph));
  SIM_TRY(find_object(handle, count, object));
  if ((flags & ~unsigned{CU_GRAPH_USER_OBJECT_MOVE}) != 0) return CUDA_ERROR_INVALID_VALUE;
  if ((flags & CU_GRAPH_USER_OBJECT_MOVE) == 0) object->retain(count);
  for (unsigned i = 0; i < count; ++i)
    graph->user_objects.push_back(std::make_shared<UserObjectHold>(object));
  return CUDA_SUCCESS;
}

CUresult cuGraphReleaseUserObject(CUgraph graph_handle, CUuserObject handle, unsigned count) {
  std::vector<std::shared_ptr<UserObjectHold>> released;  // destructors run after the lock
  const std::lock_guard lock(graph_lock());
  std::shared_ptr<Graph> graph;
  std::shared_ptr<UserObject> object;
  SIM_TRY(find_graph(graph_handle, graph));
  SIM_TRY(find_object(handle, count, object));
  auto& holds = graph->user_objects;
  const auto of_object = [&](const auto& hold) { return hold->object() == object.get(); };
  if (std::count_if(holds.begin(), holds.end(), of_object) < static_cast<long>(count))
    return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count; ++i) {
    const auto hold = std::find_if(holds.begin(), holds.end(), of_object);
    released.push_back(std::move(*hold));
    holds.erase(hold);
  }
  return CUDA_SUCCESS;
}
