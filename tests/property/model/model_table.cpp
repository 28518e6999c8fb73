// SPDX-License-Identifier: Apache-2.0
// The model's functions with the driver's own types.
#include <cstring>
#include <string_view>
#include <type_traits>
#include <unordered_map>

#include "tests/property/model/call.h"

namespace gacer::property {
namespace {

Model* the_model = nullptr;
thread_local ThreadState* bound_thread = nullptr;

struct Row {
  const char* name;
  bool helper;
};
constexpr bool yes = true;
constexpr bool no = false;
constexpr Row kRows[] = {
#define GACER_MODEL(symbol, implementation, per_thread, helper) {#symbol, helper},
#include "tests/property/model/symbols.def"
};

// The shim may ask for another way to the same thing.
bool stands_for(Symbol made, Symbol expected) {
  return made == expected ||
         (made == Symbol::cuStreamCreateWithPriority && expected == Symbol::cuStreamCreate);
}

ThreadState& this_thread() {
  static thread_local ThreadState stranger;
  return bound_thread != nullptr ? *bound_thread : stranger;
}

bool is_programs(ThreadState& thread, Symbol symbol) {
  if (thread.reached || thread.expected == Symbol::kCount) return false;
  if (!stands_for(symbol, thread.expected)) return false;
  thread.reached = true;
  return true;
}

// These may answer with an error of earlier work, and have done what they were asked for.
bool destroys(Symbol symbol) {
  const std::string_view name = name_of(symbol);
  return name.find("Destroy") != name.npos || name.find("Unload") != name.npos;
}

// The shim may make a call of the very kind that the program is making: its objects tell them
// apart.
template <typename Argument>
bool is_shims(const Model& model, Argument argument) {
  if constexpr (std::is_same_v<Argument, CUevent>) return is_shim_event(argument);
  if constexpr (std::is_same_v<Argument, CUdeviceptr>)
    return argument >= model.shim_memory && argument < model.shim_memory + model.shim_memory_bytes;
  return false;
}

template <Symbol symbol, auto function, bool per_thread, typename Type>
struct Wrapper;
template <Symbol symbol, auto function, bool per_thread, typename... Arguments>
struct Wrapper<symbol, function, per_thread, CUresult(Arguments...)> {
  static CUresult call(Arguments... arguments) {
    const std::lock_guard guard(the_model->mutex);
    ThreadState& thread = this_thread();
    const bool shims = (is_shims(*the_model, arguments) || ...);
    Call call{*the_model, the_model->state, thread,
              symbol,     per_thread,       !shims && is_programs(thread, symbol)};
    CUresult result = call.before();
    if (result == CUDA_SUCCESS || destroys(symbol)) {
      const CUresult own = function(call, arguments...);
      if (result == CUDA_SUCCESS) result = own;
    }
    call.after(result);
    if (call.program) thread.answered = result;
    return result;
  }
};

ModelTable make_table() {
  ModelTable table;
#define GACER_MODEL(symbol, function, per_thread, helper) \
  table.symbol =                                          \
      &Wrapper<Symbol::symbol, &implementation::function, per_thread, decltype(::symbol)>::call;
#include "tests/property/model/symbols.def"
  return table;
}

}  // namespace

const char* name_of(Symbol symbol) {
  return symbol == Symbol::kCount ? "none" : kRows[static_cast<size_t>(symbol)].name;
}

void ThreadState::bind(ThreadState* state) {
  bound_thread = state;
}

void install_model(Model* model) {
  the_model = model;
}

const ModelTable& model_table() {
  static const ModelTable table = make_table();
  return table;
}

void* model_symbol(void*, const char* symbol) {
  static const std::unordered_map<std::string, void*> addresses = {
#define GACER_MODEL(symbol, function, per_thread, helper) \
  {#symbol, reinterpret_cast<void*>(model_table().symbol)},
#include "tests/property/model/symbols.def"
  };
  const auto found = addresses.find(symbol);
  return found == addresses.end() ? nullptr : found->second;
}

namespace {

// Questions about a handle that the program has just given, good or bad.
bool asks_about_programs(Symbol symbol) {
  switch (symbol) {
    case Symbol::cuStreamIsCapturing:
    case Symbol::cuStreamIsCapturing_ptsz:
    case Symbol::cuStreamGetFlags:
    case Symbol::cuStreamGetFlags_ptsz:
    case Symbol::cuFuncGetAttribute:
    case Symbol::cuKernelGetFunction:
      return true;
    default:
      return false;
  }
}

}  // namespace

CUresult Call::before() {
  if (program) return thread.injected;
  ++model.extra_calls[static_cast<size_t>(symbol)];
  if (!kRows[static_cast<size_t>(symbol)].helper)
    model.violation(std::string("the shim made a call of its own: ") + name_of(symbol) +
                    " during " + name_of(thread.expected));
  return CUDA_SUCCESS;
}

// What the driver would not have let pass, or would have answered by breaking a capture.
void Call::after(CUresult result) {
  model.drain();
  if (program || harmless) return;
  const bool wrong = result == CUDA_ERROR_INVALID_HANDLE ||
                     result == CUDA_ERROR_CONTEXT_IS_DESTROYED ||
                     (result >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
                      result <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  const bool forwarded = result == CUDA_ERROR_INVALID_HANDLE && asks_about_programs(symbol);
  if (wrong && !forwarded)
    model.violation(std::string("the shim's ") + name_of(symbol) + " during " +
                    name_of(thread.expected) + " was answered " + std::to_string(result));
}

}  // namespace gacer::property
