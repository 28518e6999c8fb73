// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "runtime/simdevice/driver/module.h"

namespace gacer::simdriver {
namespace {

void* as_value(size_t number) {
  return reinterpret_cast<void*>(number);
}

TEST(JitLog, FillsTheErrorBufferAndSaysHowMuch) {
  char error[64] = "old";
  char info[64] = "old";
  CUjit_option options[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                            CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {info, as_value(sizeof info), error, as_value(sizeof error)};
  JitLog log(4, options, values);
  log.report("line 3: what");
  EXPECT_STREQ(error, "line 3: what");
  EXPECT_EQ(values[3], as_value(12));
  EXPECT_STREQ(info, "");
  EXPECT_EQ(values[1], as_value(0));
}

TEST(JitLog, CutsToTheBuffer) {
  char error[5] = {};
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_ERROR_LOG_BUFFER};
  void* values[] = {as_value(sizeof error), error};
  JitLog(2, options, values).report("0123456789");
  EXPECT_STREQ(error, "0123");
}

TEST(JitLog, OptionsWithoutArraysAreInvalid) {
  EXPECT_FALSE(JitLog(1, nullptr, nullptr).valid());
  EXPECT_TRUE(JitLog(0, nullptr, nullptr).valid());
  JitLog().report("goes nowhere");
}

}  // namespace
}  // namespace gacer::simdriver
