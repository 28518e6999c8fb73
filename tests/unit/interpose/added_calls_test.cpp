// SPDX-License-Identifier: Apache-2.0
// Runs every hooked entry point and looks at what else reaches the driver: nothing that
// synchronises, and what a capture forbids only in the relaxed mode. Each of the program's calls
// reaches the driver once.
#include <cstring>
#include <set>
#include <string>

#include "interpose/driver.h"
#include "tests/unit/interpose/launch_fixture.h"

namespace gacer::interpose {
namespace {

using abi::GateMode;
using test::fake;

// -- a driver that writes down what it is asked
// --------------------------------------------------------

std::vector<const char*>& calls() {
  static std::vector<const char*> list;
  return list;
}

// With NULL for every argument the fake driver is left out: it would follow the pointers. The shim
// must not, even when such a call succeeds.
bool answer_blindly = false;
const char* running_hook = "";

// The program's call, or the form of it that takes a priority.
bool is_own_call(const std::string& call) {
  const std::string hook = running_hook;
  return call == hook || (hook == "cuStreamCreate" && call == "cuStreamCreateWithPriority");
}

template <typename Row, typename Function>
struct Recorder;
template <typename Row, typename... Args>
struct Recorder<Row, CUresult (*)(Args...)> {
  static CUresult call(Args... args) {
    calls().push_back(Row::kName);
    if (answer_blindly && is_own_call(Row::kName)) return CUDA_SUCCESS;
    using Function = CUresult (*)(Args...);
    return reinterpret_cast<Function>(test::fake_symbol(nullptr, Row::kName))(args...);
  }
};

namespace rows {
#define GACER_ROW(symbol)                         \
  struct symbol##_row {                           \
    static constexpr const char* kName = #symbol; \
  };
#define GACER_HOOK(symbol, base, version, stream, hook_class) GACER_ROW(symbol)
#include "interpose/cuda_hooks.def"
#define GACER_DRIVER_FUNCTION(symbol) GACER_ROW(symbol)
#include "interpose/driver_functions.def"
}  // namespace rows

void* recording_symbol(void*, const char* name) {
  struct Symbol {
    const char* name;
    void* address;
  };
#define GACER_RECORDER(symbol) \
  {#symbol, reinterpret_cast<void*>(&Recorder<rows::symbol##_row, decltype(&::symbol)>::call)},
  static const Symbol symbols[] = {
#define GACER_HOOK(symbol, base, version, stream, hook_class) GACER_RECORDER(symbol)
#include "interpose/cuda_hooks.def"
#define GACER_DRIVER_FUNCTION(symbol) GACER_RECORDER(symbol)
#include "interpose/driver_functions.def"
  };
  for (const Symbol& symbol : symbols)
    if (strcmp(symbol.name, name) == 0) return symbol.address;
  return nullptr;
}

// -- arguments
// ---------------------------------------------------------------------------------------

enum class Arguments { kNull, kSomething };

// Structures that the driver reads or fills in; zero, so that counts in them are.
alignas(64) char buffer[1 << 16];

template <typename T>
constexpr bool kIsHandle = false;  // a pointer to a type that nobody but the driver knows
template <typename T>
constexpr bool kIsHandle<T*> = !std::is_void_v<T> && !std::is_function_v<T> && !requires {
  sizeof(T);
};

template <typename T>
T argument([[maybe_unused]] Arguments kind) {
  if (kind == Arguments::kNull) return T{};
  if constexpr (kIsHandle<T>) {
    return reinterpret_cast<T>(test::stream_number(1));
  } else if constexpr (std::is_pointer_v<T>) {
    if constexpr (std::is_function_v<std::remove_pointer_t<T>>) return nullptr;
    return reinterpret_cast<T>(const_cast<char*>(buffer));  // NOLINT: T may be const
  } else if constexpr (std::is_same_v<T, CUdeviceptr>) {
    return reinterpret_cast<CUdeviceptr>(buffer);
  } else if constexpr (std::is_integral_v<T>) {
    return T{1};
  }
  return T{};
}

template <typename... Args>
CUresult call_with(CUresult (*hook)(Args...), [[maybe_unused]] Arguments kind) {
  return hook(argument<Args>(kind)...);
}

struct Hook {
  const char* name;
  CUresult (*run)(Arguments);
};
const std::vector<Hook>& all_hooks() {
  static const std::vector<Hook> hooks = {
#define GACER_HOOK(symbol, base, version, stream, hook_class) \
  {#symbol, [](Arguments kind) { return call_with(&gacer_hook_##symbol, kind); }},
#include "interpose/cuda_hooks.def"
  };
  return hooks;
}

// -- what may be added
// -------------------------------------------------------------------------------

bool is_one_of(const std::string& name, const std::set<std::string>& names) {
  return names.count(name) != 0;
}

// Answered from the driver's own tables: no work is ordered, waited for or looked at.
const std::set<std::string> kLooksOnly = {"cuArrayGetMemoryRequirements",
                                          "cuCtxGetCurrent",
                                          "cuCtxGetDevice",
                                          "cuCtxGetStreamPriorityRange",
                                          "cuDeviceGet",
                                          "cuDeviceGetAttribute",
                                          "cuDeviceGetMemPool",
                                          "cuDeviceGetUuid_v2",
                                          "cuDevicePrimaryCtxGetState",
                                          "cuDeviceTotalMem_v2",
                                          "cuFuncGetAttribute",
                                          "cuFuncGetName",
                                          "cuGraphChildGraphNodeGetGraph",
                                          "cuGraphGetNodes",
                                          "cuGraphKernelNodeGetParams",
                                          "cuGraphKernelNodeGetParams_v2",
                                          "cuGraphMemcpyNodeGetParams",
                                          "cuGraphMemsetNodeGetParams",
                                          "cuGraphNodeGetType",
                                          "cuKernelGetFunction",
                                          "cuKernelGetName",
                                          "cuMemPoolGetAttribute",
                                          "cuMipmappedArrayGetMemoryRequirements",
                                          "cuStreamGetCtx",
                                          "cuStreamGetPriority",
                                          "cuStreamIsCapturing",
                                          "cuStreamIsCapturing_ptsz",
                                          "cuThreadExchangeStreamCaptureMode"};
// Ordered by a stream that does not capture.
const std::set<std::string> kOrdered = {"cuStreamWriteValue64_v2", "cuStreamWriteValue64_v2_ptsz",
                                        "cuEventRecord", "cuEventRecord_ptsz"};
// Counted by the fake driver when made in another mode than relaxed.
const std::set<std::string> kRelaxedOnly = {"cuEventCreate", "cuEventQuery", "cuEventDestroy_v2",
                                            "cuMemHostRegister_v2", "cuMemHostGetDevicePointer_v2"};

// An allocation that the quota refuses after the driver has made it is taken back.
bool is_roll_back(const std::string& hook, const std::string& call) {
  return hook.find("Alloc") != std::string::npos && call.rfind("cuMemFree", 0) == 0;
}

class AddedCallsTest : public test::LaunchFixture {
 protected:
  AddedCallsTest() {
    DriverTable table;
    EXPECT_EQ(fill_driver_table(table, &recording_symbol, nullptr, CUDA_ERROR_NOT_SUPPORTED), 0);
    install_driver(table, &recording_symbol, nullptr);
    segment().gate.stream_priority = abi::kPriorityHighest;
  }
  ~AddedCallsTest() override { test::reset_shim(); }

  // A state in which there is something to mark, to poll and to ask.
  void prepare(bool capture_elsewhere) {
    test::decide(segment(), GateMode::kWindow, 1'000'000'000, true, 1000);
    launch(one_);
    launch(two_);
    if (capture_elsewhere)
      gacer_hook_cuStreamBeginCapture_v2(test::stream_number(3), CU_STREAM_CAPTURE_MODE_GLOBAL);
    calls().clear();
  }
  void clean_up() {
    shim().captures.reset();
    fake().capturing.clear();
    memset(buffer, 0, sizeof buffer);
    shim().session.publish(attachment_);
  }

  void expect_harmless(const Hook& hook) {
    int own = 0;
    for (const std::string name : calls()) {
      if (is_own_call(name)) {
        ++own;
        continue;
      }
      added_.insert(name);
      EXPECT_TRUE(is_one_of(name, kLooksOnly) || is_one_of(name, kOrdered) ||
                  is_one_of(name, kRelaxedOnly) || is_roll_back(hook.name, name))
          << hook.name << " added " << name;
    }
    EXPECT_LE(own - (is_one_of(hook.name, kOrdered) ? 2 : 0), 1) << hook.name;
  }

  void run_all(bool capture_elsewhere) {
    for (const Arguments kind : {Arguments::kNull, Arguments::kSomething})
      for (const Hook& hook : all_hooks()) {
        SCOPED_TRACE(hook.name);
        prepare(capture_elsewhere);
        const uint64_t unsafe_calls = fake().unsafe_calls;
        running_hook = hook.name;
        answer_blindly = kind == Arguments::kNull;
        hook.run(kind);
        expect_harmless(hook);
        EXPECT_EQ(fake().unsafe_calls, unsafe_calls) << hook.name;
        running_hook = "";
        clean_up();
      }
  }

  std::set<std::string> added_;  // by all entry points together
};

// Else the tests below could not fail.
TEST_F(AddedCallsTest, given_a_call_that_captures_forbid_then_it_is_noticed_unless_relaxed) {
  driver().cuEventQuery(nullptr);
  EXPECT_EQ(fake().unsafe_calls, 1u);
  const RelaxedCapture relaxed;
  driver().cuEventQuery(nullptr);
  EXPECT_EQ(fake().unsafe_calls, 1u);
}

TEST_F(AddedCallsTest, STR_01_given_every_entry_point_then_no_synchronisation_is_added) {
  run_all(false);
  EXPECT_TRUE(is_one_of("cuStreamWriteValue64_v2", added_));
  EXPECT_FALSE(is_one_of("cuEventQuery", added_));
}

TEST_F(AddedCallsTest, STR_10_given_a_global_capture_in_another_thread_then_the_same) {
  run_all(true);
}

TEST_F(AddedCallsTest, STR_10_given_completion_by_events_then_the_same) {
  fake().register_result = CUDA_ERROR_NOT_SUPPORTED;
  fake().finish_at_once = false;
  run_all(true);
  EXPECT_TRUE(is_one_of("cuEventQuery", added_));
  EXPECT_TRUE(is_one_of("cuThreadExchangeStreamCaptureMode", added_));
}

}  // namespace
}  // namespace gacer::interpose
