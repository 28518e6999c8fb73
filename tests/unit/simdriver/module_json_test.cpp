// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "runtime/simdevice/driver/module.h"

namespace gacer::simdriver {
namespace {

constexpr const char* kGood =
    R"({"kernels":[{"name":"k","params":[[0,8],[8,4]],"param_bytes":12,"regs":24,"smem":128,"local":4,)"
    R"("max_threads":512,"cooperative":true}],"globals":[{"name":"g","address":2199023255552,"bytes":16}]})";

TEST(ModuleJson, ReadsKernelsAndGlobals) {
  const auto module = parse_module_json(kGood);
  ASSERT_TRUE(module.ok());
  ASSERT_EQ(module->kernels.size(), 1U);
  const KernelDescription& kernel = module->kernels[0];
  EXPECT_EQ(kernel.name, "k");
  ASSERT_EQ(kernel.params.size(), 2U);
  EXPECT_EQ(kernel.params[1].offset, 8U);
  EXPECT_EQ(kernel.params[1].bytes, 4U);
  EXPECT_EQ(kernel.regs, 24U);
  EXPECT_EQ(kernel.max_threads, 512U);
  EXPECT_TRUE(kernel.cooperative);
  ASSERT_EQ(module->globals.size(), 1U);
  EXPECT_EQ(module->globals[0].address, 0x20000000000ULL);
}

TEST(ModuleJson, EveryTruncationIsAnError) {
  const std::string good = kGood;
  for (size_t bytes = 0; bytes < good.size(); ++bytes)
    EXPECT_FALSE(parse_module_json(good.substr(0, bytes)).ok()) << bytes;
}

TEST(ModuleJson, WrongTypesAndParametersBeyondTheBufferAreErrors) {
  EXPECT_FALSE(parse_module_json("[]").ok());
  EXPECT_FALSE(parse_module_json(R"({"kernels":{},"globals":[]})").ok());
  EXPECT_FALSE(parse_module_json(R"({"kernels":[7],"globals":[]})").ok());
  EXPECT_FALSE(
      parse_module_json(R"({"kernels":[{"name":"k","params":[["a",1]]}],"globals":[]})").ok());
  EXPECT_FALSE(parse_module_json(
                   R"({"kernels":[{"name":"k","params":[[8,8]],"param_bytes":12}],"globals":[]})")
                   .ok());
}

}  // namespace
}  // namespace gacer::simdriver
