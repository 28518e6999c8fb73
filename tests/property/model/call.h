// SPDX-License-Identifier: Apache-2.0
// One call on its way through the model: who makes it, and what implementations share.
#pragma once

#include "tests/property/model/model.h"

namespace gacer::property {

template <typename Handle>
uint64_t number(Handle handle) {
  return reinterpret_cast<uint64_t>(handle);
}
template <typename Handle>
void answer(Handle* out, uint64_t number) {
  *out = reinterpret_cast<Handle>(number);
}
template <typename Map>
uint64_t lowest_free(const Map& map, uint64_t base) {
  while (map.count(base) != 0) base += 0x100;
  return base;
}

inline constexpr uint64_t kEventBase = 0x300'0000;
inline constexpr uint64_t kShimEventBase = 0x380'0000;
inline bool is_shim_event(CUevent event) {
  return number(event) >= kShimEventBase && number(event) < kShimEventBase + 0x80'0000;
}

struct Call {
  Model& model;
  DriverState& s;
  ThreadState& thread;
  Symbol symbol;
  bool per_thread;
  bool program;  // false: the shim's own
  // An error answer is no sign of a mistake.
  bool harmless = false;

  // Top of the thread's stack; 0: none.
  uint64_t context() const { return thread.contexts.empty() ? 0 : thread.contexts.back(); }
  bool has_context() const { return s.contexts.count(context()) != 0; }

  // NULL: `error` says why.
  Stream* stream(CUstream handle, CUresult& error);
  Event* event(CUevent handle);
  // Queues the work, or captures it.
  CUresult submit(CUstream handle, const Work& work);
  CUresult submit_to(Stream& stream, const Work& work, const std::vector<uint64_t>& after = {});
  CUresult submit_and_wait(const Work& work);

  // Not SUCCESS: a capture forbids this call, and has been invalidated by it.
  CUresult unsafe();
  void invalidate(uint64_t capture);
  bool has_blocking_capture(uint64_t of_context) const;
  bool break_blocking_capture(uint64_t of_context);  // invalidates what there is
  void wait_for(uint64_t operation);
  void wait_for_context(uint64_t of_context);
  void drop_context(uint64_t handle);
  uint64_t add_node(uint64_t graph, const Node& node);
  void destroy_graph(uint64_t graph);

  // Not SUCCESS: what the call answers without doing anything.
  CUresult before();
  void after(CUresult result);

 private:
  Stream& default_stream(bool legacy);
  CUresult capture_work(Stream& stream, const Work& work);
};

struct KernelShape {
  uint64_t function;  // CUfunction or CUkernel
  unsigned grid;
  unsigned block;
};
CUresult describe_kernel(Call& c, const KernelShape& shape, void** parameters, void** extra,
                         Work& work);
std::shared_ptr<const WorkList> work_of(const DriverState& s, uint64_t graph);

template <typename Function>
struct WithCall;
template <typename... Arguments>
struct WithCall<CUresult(Arguments...)> {
  using Type = CUresult(Call&, Arguments...);
};

// Defined in calls_*.cpp: the driver's own parameters behind the Call.
namespace implementation {
#define GACER_MODEL(symbol, implementation, per_thread, helper) \
  WithCall<decltype(::symbol)>::Type implementation;
#include "tests/property/model/symbols.def"
}  // namespace implementation

}  // namespace gacer::property
