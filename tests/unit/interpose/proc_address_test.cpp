// SPDX-License-Identifier: Apache-2.0
#include "interpose/proc_address.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>

#include "interpose/driver.h"
#include "interpose/hook_declarations.h"
#include "tests/unit/interpose/fake_driver.h"

namespace gacer::interpose {
namespace {

constexpr uint64_t kLegacyFlag = CU_GET_PROC_ADDRESS_LEGACY_STREAM;
constexpr uint64_t kPerThreadFlag = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;

class ProcAddressTest : public testing::Test {
 protected:
  void SetUp() override { test::reset_shim(); }
  static void* in_driver(const char* symbol) { return test::fake_symbol(nullptr, symbol); }
  static void* unexported() { return reinterpret_cast<void*>(uintptr_t{0x1234}); }
};

TEST_F(ProcAddressTest,
       given_every_row_when_looked_up_by_name_version_and_stream_then_its_hook_is_answered) {
  const HookTable table = hook_table();
  for (uint32_t i = 0; i < table.count; ++i) {
    const HookRow& row = table.rows[i];
    const uint64_t flags = row.stream == StreamKind::kPerThread ? kPerThreadFlag : 0;
    EXPECT_EQ(hook_for(row.base, row.version, flags, in_driver(row.symbol)), row.hook)
        << row.symbol;
  }
}

TEST_F(ProcAddressTest, given_every_row_then_symbols_and_lookup_keys_are_unique) {
  const HookTable table = hook_table();
  std::set<std::string> symbols;
  std::set<std::tuple<std::string, int, StreamKind>> keys;
  for (uint32_t i = 0; i < table.count; ++i) {
    const HookRow& row = table.rows[i];
    EXPECT_TRUE(symbols.insert(row.symbol).second) << row.symbol;
    EXPECT_TRUE(keys.insert({row.base, row.version, row.stream}).second) << row.symbol;
    EXPECT_EQ(std::string(row.symbol).rfind(row.base, 0), 0u) << row.symbol;
  }
}

TEST_F(ProcAddressTest, given_a_pointer_that_is_not_exported_then_name_version_and_flag_decide) {
  EXPECT_EQ(hook_for("cuLaunchKernel", 12000, 0, unexported()),
            reinterpret_cast<void*>(&gacer_hook_cuLaunchKernel));
  EXPECT_EQ(hook_for("cuLaunchKernel", 12000, kLegacyFlag, unexported()),
            reinterpret_cast<void*>(&gacer_hook_cuLaunchKernel));
  EXPECT_EQ(hook_for("cuLaunchKernel", 12000, kPerThreadFlag, unexported()),
            reinterpret_cast<void*>(&gacer_hook_cuLaunchKernel_ptsz));
  EXPECT_EQ(hook_for("cuStreamBeginCapture", 10000, 0, unexported()),
            reinterpret_cast<void*>(&gacer_hook_cuStreamBeginCapture));
  EXPECT_EQ(hook_for("cuStreamBeginCapture", 12000, 0, unexported()),
            reinterpret_cast<void*>(&gacer_hook_cuStreamBeginCapture_v2));
}

TEST_F(ProcAddressTest, given_a_version_before_the_hooked_abi_then_the_drivers_pointer_stays) {
  EXPECT_EQ(hook_for("cuMemAllocManaged", 5050, 0, unexported()), unexported());
  EXPECT_EQ(hook_for("cuLaunchKernelEx", 11050, 0, unexported()), unexported());
}

TEST_F(ProcAddressTest, given_a_future_version_then_only_a_known_pointer_is_replaced) {
  EXPECT_EQ(hook_for("cuMemAlloc", CUDA_VERSION + 1000, 0, unexported()), unexported());
  EXPECT_EQ(hook_for("cuMemAlloc", CUDA_VERSION + 1000, 0, in_driver("cuMemAlloc_v2")),
            reinterpret_cast<void*>(&gacer_hook_cuMemAlloc_v2));
}

TEST_F(ProcAddressTest, given_a_name_that_means_two_abis_then_the_pointer_decides) {
  EXPECT_EQ(hook_for("cuGraphInstantiate", 12000, 0, in_driver("cuGraphInstantiateWithFlags")),
            reinterpret_cast<void*>(&gacer_hook_cuGraphInstantiateWithFlags));
  EXPECT_EQ(hook_for("cuGraphInstantiate", 12000, 0, in_driver("cuGraphInstantiate_v2")),
            reinterpret_cast<void*>(&gacer_hook_cuGraphInstantiate_v2));
  EXPECT_EQ(hook_for("cuGraphInstantiate", 12000, 0, unexported()), unexported());
}

TEST_F(ProcAddressTest,
       given_get_proc_address_itself_then_four_arguments_before_12_and_five_from_12_on) {
  EXPECT_EQ(hook_for("cuGetProcAddress", 11080, 0, unexported()),
            reinterpret_cast<void*>(&gacer_hook_cuGetProcAddress));
  EXPECT_EQ(hook_for("cuGetProcAddress", 12000, 0, unexported()),
            reinterpret_cast<void*>(&gacer_hook_cuGetProcAddress_v2));
}

TEST_F(ProcAddressTest, given_other_names_then_nothing_is_replaced) {
  EXPECT_EQ(hook_for("cuCtxGetCurrent", 12000, 0, unexported()), unexported());
  EXPECT_EQ(hook_for("cudnnCreate", 12000, 0, unexported()), unexported());
  EXPECT_EQ(hook_for(nullptr, 12000, 0, unexported()), unexported());
}

// A driver whose cuGetProcAddress answers what the test wants.
void* answered = nullptr;
CUresult answer_result = CUDA_SUCCESS;
CUresult answering(const char*, void** function, int, cuuint64_t,
                   CUdriverProcAddressQueryResult* status) {
  *function = answered;
  if (status != nullptr) *status = CU_GET_PROC_ADDRESS_SUCCESS;
  return answer_result;
}

class AnsweringDriverTest : public ProcAddressTest {
 protected:
  void SetUp() override {
    ProcAddressTest::SetUp();
    DriverTable table = driver();
    table.cuGetProcAddress_v2 = &answering;
    install_driver(table, &test::fake_symbol, nullptr);
  }
  CUresult ask(const char* name) {
    return gacer_hook_cuGetProcAddress_v2(name, &got_, 12000, 0, nullptr);
  }
  void* got_ = nullptr;
};

TEST_F(AnsweringDriverTest, given_success_with_null_then_the_program_is_told_not_found) {
  answered = nullptr;
  answer_result = CUDA_SUCCESS;
  EXPECT_EQ(ask("cuLaunchKernel"), CUDA_ERROR_NOT_FOUND);
}

TEST_F(AnsweringDriverTest, given_a_function_the_driver_lacks_then_its_error_and_no_hook) {
  answered = nullptr;
  answer_result = CUDA_ERROR_NOT_FOUND;
  EXPECT_EQ(ask("cuLaunchKernel"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(got_, nullptr);
}

TEST_F(AnsweringDriverTest, given_a_hooked_function_then_the_hook_is_handed_out) {
  answered = in_driver("cuLaunchKernel");
  answer_result = CUDA_SUCCESS;
  EXPECT_EQ(ask("cuLaunchKernel"), CUDA_SUCCESS);
  EXPECT_EQ(got_, reinterpret_cast<void*>(&gacer_hook_cuLaunchKernel));
}

CUdriverProcAddressQueryResult answer_status = CU_GET_PROC_ADDRESS_SUCCESS;
bool answer_writes = true;
CUresult answering_with_status(const char*, void** function, int, cuuint64_t,
                               CUdriverProcAddressQueryResult* status) {
  if (answer_writes) *function = answered;
  if (status != nullptr && answer_writes) *status = answer_status;
  return answer_result;
}
CUresult answering_first(const char*, void** function, int, cuuint64_t) {
  *function = answered;
  return answer_result;
}

struct Answer {
  CUresult result;
  void* function;
  CUdriverProcAddressQueryResult status;
};
bool operator==(const Answer& a, const Answer& b) {
  return a.result == b.result && a.function == b.function && a.status == b.status;
}

class StatusTest : public ProcAddressTest {
 protected:
  static constexpr auto kFound = CU_GET_PROC_ADDRESS_SUCCESS;
  static constexpr auto kNotFound = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  static constexpr auto kTooOld = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;

  void SetUp() override {
    ProcAddressTest::SetUp();
    table_ = driver();
    table_.cuGetProcAddress_v2 = &answering_with_status;
    install_driver(table_, &test::fake_symbol, nullptr);
    answer_writes = true;
  }
  static Answer ask(CUresult result, void* function, CUdriverProcAddressQueryResult status) {
    answer_result = result;
    answered = function;
    answer_status = status;
    Answer got{CUDA_SUCCESS, unexported(), kTooOld};
    got.result =
        gacer_hook_cuGetProcAddress_v2("cuLaunchKernel", &got.function, 12000, 0, &got.status);
    return got;
  }
  void without_second_lookup() {
    const auto missing = missing_function(CUDA_ERROR_NOT_SUPPORTED);
    memcpy(&table_.cuGetProcAddress_v2, &missing, sizeof missing);
    table_.cuGetProcAddress = &answering_first;
    install_driver(table_, &test::fake_symbol, nullptr);
  }
  DriverTable table_;
};

TEST_F(StatusTest, given_a_status_that_says_why_then_the_drivers_documented_answer_stays) {
  EXPECT_EQ(ask(CUDA_SUCCESS, nullptr, kNotFound), (Answer{CUDA_SUCCESS, nullptr, kNotFound}));
  EXPECT_EQ(ask(CUDA_SUCCESS, nullptr, kTooOld), (Answer{CUDA_SUCCESS, nullptr, kTooOld}));
}

TEST_F(StatusTest, SYM_05_given_success_in_both_words_with_null_then_both_say_not_found) {
  EXPECT_EQ(ask(CUDA_SUCCESS, nullptr, kFound), (Answer{CUDA_ERROR_NOT_FOUND, nullptr, kNotFound}));
}

TEST_F(StatusTest, SYM_05_given_an_error_with_a_pointer_then_the_pointer_is_not_handed_out) {
  EXPECT_EQ(ask(CUDA_ERROR_NOT_FOUND, in_driver("cuLaunchKernel"), kNotFound),
            (Answer{CUDA_ERROR_NOT_FOUND, nullptr, kNotFound}));
}

TEST_F(StatusTest, given_an_error_of_the_caller_then_nothing_is_written) {
  answer_writes = false;
  EXPECT_EQ(ask(CUDA_ERROR_INVALID_VALUE, nullptr, kFound),
            (Answer{CUDA_ERROR_INVALID_VALUE, unexported(), kTooOld}));
  answer_result = CUDA_ERROR_INVALID_VALUE;
  EXPECT_EQ(gacer_hook_cuGetProcAddress_v2(nullptr, nullptr, 12000, 0, nullptr),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(StatusTest, SYM_03_given_a_driver_with_the_first_lookup_only_then_it_serves_the_second) {
  without_second_lookup();
  EXPECT_EQ(ask(CUDA_SUCCESS, in_driver("cuLaunchKernel"), kTooOld),
            (Answer{CUDA_SUCCESS, reinterpret_cast<void*>(&gacer_hook_cuLaunchKernel), kFound}));
  EXPECT_EQ(ask(CUDA_ERROR_NOT_FOUND, nullptr, kTooOld),
            (Answer{CUDA_SUCCESS, nullptr, kNotFound}));
  EXPECT_EQ(ask(CUDA_ERROR_INVALID_VALUE, unexported(), kTooOld),
            (Answer{CUDA_ERROR_INVALID_VALUE, unexported(), kTooOld}));
  void* function = unexported();
  answer_result = CUDA_ERROR_NOT_FOUND;
  answered = nullptr;
  EXPECT_EQ(gacer_hook_cuGetProcAddress_v2("cuNope", &function, 11080, 0, nullptr),
            CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(function, nullptr);
}

TEST(VariantOf, given_suffixes_of_abi_and_stream_then_only_those_make_a_variant) {
  for (const char* symbol : {"cuMemcpy", "cuMemcpy_v2", "cuMemcpy_v12", "cuMemcpy_ptds",
                             "cuMemcpy_ptsz", "cuMemcpy_v2_ptds"})
    EXPECT_TRUE(is_variant_of(symbol, "cuMemcpy")) << symbol;
  for (const char* symbol : {"cuMemcpyAsync", "cuMemcpyAsync_ptsz", "cuMemcp", "cuMemcpy_x",
                             "cuMemcpy_v2_", "cuMemcpy_ptds_v2", ""})
    EXPECT_FALSE(is_variant_of(symbol, "cuMemcpy")) << symbol;
}

}  // namespace
}  // namespace gacer::interpose
