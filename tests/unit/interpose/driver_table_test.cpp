// SPDX-License-Identifier: Apache-2.0
#include "interpose/driver_table.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "interpose/driver.h"
#include "tests/unit/interpose/fake_driver.h"

namespace gacer::interpose {
namespace {

void* nothing(void*, const char*) {
  return nullptr;
}
void* all_but_graph_launch(void* context, const char* symbol) {
  return strcmp(symbol, "cuGraphLaunch") == 0 ? nullptr : test::fake_symbol(context, symbol);
}

TEST(DriverTable, given_a_driver_without_a_function_then_calling_it_answers_not_supported) {
  DriverTable table;
  EXPECT_EQ(fill_driver_table(table, &all_but_graph_launch, nullptr, CUDA_ERROR_NOT_SUPPORTED), 1);
  EXPECT_EQ(table.cuGraphLaunch(nullptr, nullptr), CUDA_ERROR_NOT_SUPPORTED);
}

TEST(DriverTable, given_no_driver_then_every_function_answers_no_device) {
  DriverTable table;
  EXPECT_GT(fill_driver_table(table, &nothing, nullptr, CUDA_ERROR_NO_DEVICE), 100);
  EXPECT_EQ(table.cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
            CUDA_ERROR_NO_DEVICE);
  CUcontext context = nullptr;
  EXPECT_EQ(table.cuCtxGetCurrent(&context), CUDA_ERROR_NO_DEVICE);
}

TEST(DriverTable, given_an_installed_driver_then_symbols_come_from_it) {
  test::reset_shim();
  EXPECT_EQ(driver_symbol("cuLaunchKernel"), reinterpret_cast<void*>(driver().cuLaunchKernel));
  EXPECT_EQ(driver_symbol("cuNothingOfTheKind"), nullptr);
  EXPECT_NE(real_dlopen(), nullptr);
}

}  // namespace
}  // namespace gacer::interpose
