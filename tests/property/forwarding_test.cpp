// SPDX-License-Identifier: Apache-2.0
// Every row of cuda_hooks.def: random arguments reach the driver bit for bit, once, and its answer
// comes back, detached and under each kind of gate.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <tuple>
#include <type_traits>

#include "interpose/driver.h"
#include "interpose/hook_declarations.h"
#include "runtime/base/log.h"
#include "tests/property/program.h"
#include "tests/property/shim_harness.h"

namespace gacer::property {
namespace {

enum class Row {
#define GACER_HOOK(symbol, base, version, stream, hook_class) symbol,
#include "interpose/cuda_hooks.def"
  kCount,
};
const char* const kNames[] = {
#define GACER_HOOK(symbol, base, version, stream, hook_class) #symbol,
#include "interpose/cuda_hooks.def"
};

// Memory behind every pointer argument: zeroed, so that counts in it are 0 and texts empty; enough
// for arrays as long as the numbers that make() gives.
constexpr size_t kBytes = 4096;
constexpr size_t kMostArguments = 16;
alignas(64) unsigned char memory[kMostArguments][kBytes];

// What the driver was called with by the test's own call; the shim's come beside it.
struct Seen {
  int row = -1;
  int times = 0;
  std::string arguments;
  CUresult answer = CUDA_SUCCESS;
};
Seen seen;
int expected_row = -1;

template <typename... Arguments>
std::string bits(const Arguments&... arguments) {
  std::string text;
  (text.append(reinterpret_cast<const char*>(&arguments), sizeof arguments), ...);
  return text;
}

template <int row, typename Type>
struct Driver;
template <int row, typename... Arguments>
struct Driver<row, CUresult(Arguments...)> {
  static CUresult call(Arguments... arguments) {
    if (row != expected_row) return CUDA_ERROR_NOT_SUPPORTED;
    const std::string now = bits(arguments...);
    // The shim may make the same call for itself, of other objects.
    if (now != seen.arguments) return CUDA_ERROR_NOT_SUPPORTED;
    ++seen.times;
    return seen.answer;
  }
};

void* symbol(void*, const char* name) {
#define GACER_HOOK(symbol, base, version, stream, hook_class) \
  if (strcmp(name, #symbol) == 0)                             \
    return reinterpret_cast<void*>(                           \
        &Driver<static_cast<int>(Row::symbol), decltype(::symbol)>::call);
#include "interpose/cuda_hooks.def"
  return nullptr;
}

template <typename Argument>
Argument make(Random& random) {
  Argument value{};
  if constexpr (std::is_pointer_v<Argument> &&
                !std::is_function_v<std::remove_pointer_t<Argument>>) {
    using Target = std::remove_cv_t<std::remove_pointer_t<Argument>>;
    if constexpr (std::is_void_v<Target> || std::is_scalar_v<Target>) {
      value = reinterpret_cast<Argument>(memory[random.below(kMostArguments)]);
    } else if constexpr (requires { sizeof(Target); }) {
      value = reinterpret_cast<Argument>(memory[random.below(kMostArguments)]);
    } else {  // a handle
      value = reinterpret_cast<Argument>(0x10'0000 + uint64_t{random.below(64)} * 0x100);
    }
    if (random.one_in(8)) value = nullptr;
  } else if constexpr (std::is_integral_v<Argument>) {
    value = static_cast<Argument>(random.below(5));
  } else if constexpr (std::is_enum_v<Argument>) {
    value = static_cast<Argument>(random.below(4));
  }
  return value;
}

bool answers_for_itself(const std::string& name) {
  return name.rfind("cuGetProcAddress", 0) == 0;  // lookup_test's
}

constexpr CUresult kAnswers[] = {CUDA_SUCCESS, CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE,
                                 CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_LAUNCH_FAILED};

template <int row, typename... Arguments>
void check(CUresult (*hook)(Arguments...), Random& random) {
  memset(memory, 0, sizeof memory);
  const std::tuple<Arguments...> arguments{make<Arguments>(random)...};
  expected_row = row;
  seen = {row, 0, std::apply([](const auto&... all) { return bits(all...); }, arguments),
          kAnswers[random.below(5)]};
  const CUresult answer = std::apply(hook, arguments);
  EXPECT_EQ(answer, seen.answer) << kNames[row];
  EXPECT_EQ(seen.times, 1) << kNames[row];
}

void check_all(Random& random) {
#define GACER_HOOK(symbol, base, version, stream, hook_class) \
  if (!answers_for_itself(#symbol))                           \
    check<static_cast<int>(Row::symbol)>(&gacer_hook_##symbol, random);
#include "interpose/cuda_hooks.def"
}

TEST(Forwarding, given_random_arguments_then_every_hook_hands_them_on_and_returns_the_answer) {
  set_log_level(LogLevel::kError);
  Model model(1);
  install_model(&model);
  ShimHarness shim(model, false);
  interpose::DriverTable table;
  interpose::fill_driver_table(table, &symbol, nullptr, CUDA_ERROR_NOT_SUPPORTED);
  interpose::install_driver(table, &symbol, nullptr);
  Random random(7);
  for (int round = 0; round < 40; ++round) {
    SCOPED_TRACE(round);
    uint32_t words[6];
    for (uint32_t& word : words) word = static_cast<uint32_t>(random.next() >> 32);
    words[2] = 0;  // the program's own stream priorities
    shim.decide(words);
    check_all(random);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace gacer::property
