// SPDX-License-Identifier: Apache-2.0
// A driver with real semantics in one process, for comparing a program with and without the shim.
//
// Handles are small numbers, the lowest free one of their kind, so that they are reused at once.
// Work is queued per stream and done only when the device is stepped: step(), or a call that waits.
// Which ready piece is done next follows from the seed and from how many were done, so two runs
// that ask for the same work do it in the same order, unless somebody adds a dependency.
//
// Marks, event records and waits take no time: they are done as soon as they can be.
//
// Calls that the shim makes on its own account are told from the program's by `expected` of
// ThreadState; a wrong one (unknown to be harmless, illegal during a capture, on a dead handle) is
// a violation. Thread-safe: one lock.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "interpose/cuda_api.h"

namespace gacer::property {

enum class Symbol : uint16_t {
#define GACER_MODEL(symbol, implementation, per_thread, helper) symbol,
#include "tests/property/model/symbols.def"
  kCount,
};
const char* name_of(Symbol symbol);

// One thread of a program. Bound to a real thread by ThreadState::bind().
struct ThreadState {
  int index = 0;
  Symbol expected = Symbol::kCount;  // the program's call under way
  bool reached = false;              // it has reached the driver
  CUresult answered = CUDA_SUCCESS;  // by the driver
  CUresult injected = CUDA_SUCCESS;  // what it answers without doing anything
  std::vector<uint64_t> contexts;    // stack
  CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  static void bind(ThreadState* state);
};

struct Work;
using WorkList = std::vector<Work>;

struct Work {
  enum class Kind : uint8_t {
    kKernel,
    kCopy,
    kSet,
    kWrite,
    kMark,
    kEvent,
    kWait,
    kHost,
    kFree,
    kGraph
  };
  Kind kind = Kind::kEvent;
  uint32_t function = 0;  // kernel: its number; host function: its tag
  uint64_t handle = 0;    // kernel: CUfunction or CUkernel
  uint64_t to = 0;
  uint64_t from = 0;
  uint64_t bytes = 0;  // of one row
  uint64_t rows = 1;
  uint64_t to_pitch = 0;
  uint64_t from_pitch = 0;
  uint64_t value = 0;
  uint32_t element = 1;  // set: bytes of one value
  uint32_t grid = 1;
  uint32_t block = 1;
  std::shared_ptr<const WorkList> graph;
  CUhostFn host = nullptr;
  void* host_data = nullptr;

  bool takes_time() const {
    return kind != Kind::kMark && kind != Kind::kEvent && kind != Kind::kWait;
  }
};

struct Operation {
  uint64_t id = 0;
  std::vector<uint64_t> after;
  Work work;
};

struct Stream {
  uint64_t context = 0;
  uint64_t handle = 0;  // 0, CU_STREAM_PER_THREAD: default streams
  uint64_t order = 0;   // among all streams, equal in both runs
  bool blocking = true;
  bool legacy = false;
  bool gone = false;
  unsigned flags = 0;
  uint64_t capture = 0;  // joined to
  bool joined = false;   // its capture's origin has waited for it since
  uint64_t last = 0;     // newest operation's id
  std::deque<Operation> queue;
};

struct Event {
  uint64_t context = 0;
  uint64_t operation = 0;  // 0: never recorded
  uint64_t capture = 0;    // recorded in a capture
  uint64_t stream = 0;     // order of the one it was last recorded on
};

struct Capture {
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  int thread = 0;
  uint64_t origin = 0;  // order of the stream
  uint64_t graph = 0;
  bool invalid = false;
};

struct Node {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  uint64_t graph = 0;
  uint64_t child = 0;
  Work work;
};

struct Graph {
  std::vector<uint64_t> nodes;
  bool owned = false;     // a child: goes with its node
  bool captured = false;  // still being captured
};
struct Exec {
  std::shared_ptr<const WorkList> work;
  std::vector<uint64_t> nodes;
};
struct Context {
  uint64_t serial = 0;
  bool primary = false;
};
struct Module {
  uint64_t context = 0;
  uint64_t library = 0;  // derived from it
  std::map<std::string, uint64_t> functions;
};
struct Function {
  uint32_t number = 0;
  uint64_t module = 0;
  std::string name;
};
struct Library {
  std::map<std::string, uint64_t> kernels;
  uint64_t module = 0;
};
struct Kernel {
  uint32_t number = 0;
  uint64_t library = 0;
  std::string name;
};
struct Allocation {
  uint64_t context = 0;
  std::vector<uint8_t> bytes;
  bool async = false;
  bool freed = false;  // in stream order, not yet done
  bool mapped = false;
  uint64_t physical = 0;  // mapped: of what
};
// Of cuMemCreate.
struct Physical {
  uint64_t bytes = 0;
  bool on_device = false;
  int maps = 0;
  bool released = false;
};

// An effect of one finished piece of work.
struct Effect {
  uint64_t stream;  // its order
  Work::Kind kind;  // kGraph: of a node
  uint32_t function;
  uint64_t to;
  uint64_t digest;
  auto operator<=>(const Effect&) const = default;
};

struct Faults {  // of the shim's own calls
  bool no_register = false;
  bool no_write = false;
  bool no_event = false;
  bool no_record = false;
};

struct ModelTable {
#define GACER_MODEL(symbol, implementation, per_thread, helper) \
  decltype(&::symbol) symbol = nullptr;
#include "tests/property/model/symbols.def"
};

// All that the driver knows. Maps are by handle and ordered, so that nothing depends on chance.
struct DriverState {
  uint64_t next_operation = 1;
  uint64_t next_serial = 1;
  uint64_t used_bytes = 0;
  int primary_users = 0;
  uint64_t primary = 0;
  std::set<uint64_t> pending;  // operations
  std::map<uint64_t, Context> contexts;
  std::map<uint64_t, Stream> streams;          // by order
  std::map<uint64_t, uint64_t> stream_orders;  // live handles
  std::map<uint64_t, Event> events;
  std::map<uint64_t, Event> shim_events;
  std::map<uint64_t, Capture> captures;  // by id
  std::map<uint64_t, Graph> graphs;
  std::map<uint64_t, Node> nodes;
  std::map<uint64_t, Exec> execs;
  std::map<uint64_t, Module> modules;
  std::map<uint64_t, Function> functions;
  std::map<uint64_t, Library> libraries;
  std::map<uint64_t, Kernel> kernels;
  std::map<uint64_t, Allocation> memory;  // by address
  std::map<uint64_t, uint64_t> pools;     // handle -> context
  std::map<uint64_t, Physical> physical;
  std::map<uint64_t, uint64_t> reservations;  // address -> bytes
  std::set<uint64_t> registered;              // host ranges of the program
};

class Model {
 public:
  explicit Model(uint64_t seed) : seed_(seed) {}

  // Each does at most one piece of work that takes time. False: nothing is left to do.
  bool step();
  // What is ready and takes no time.
  void drain();
  // Everything queued is done.
  void finish();

  // Digest of memory and of the program's live objects.
  std::vector<uint64_t> digest() const;
  void violation(const std::string& text) { violations.push_back(text); }

  DriverState state;
  std::vector<Effect> effects;
  std::vector<std::string> violations;
  Faults faults;
  // Where the shim's segments lie.
  uint64_t shim_memory = 0;
  uint64_t shim_memory_bytes = 0;
  uint64_t extra_calls[static_cast<size_t>(Symbol::kCount)] = {};
  std::recursive_mutex mutex;

  // Memory of the program that the device can reach.
  static constexpr size_t kHostBytes = 4096;
  static uint8_t* host_memory();
  static constexpr uint64_t kDeviceBytes = 1 << 20;

 private:
  bool ready(const Stream& stream) const;
  void complete(Stream& stream);
  void perform(const Stream& stream, const Work& work);
  void perform_graph(const Stream& stream, const Work& work);
  uint64_t work_on_memory(const Work& work);
  uint8_t* memory_at(uint64_t address, uint64_t bytes);

  const uint64_t seed_;
  uint64_t done_ = 0;
};

// The model that calls reach now, and its functions. Swapped between runs only.
void install_model(Model* model);
const ModelTable& model_table();
// For install_driver(): NULL for what the model lacks.
void* model_symbol(void* context, const char* symbol);

}  // namespace gacer::property
