// SPDX-License-Identifier: Apache-2.0
// The catalog against the PTX that was built from it.
#include "kernels/catalog.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "kernels/host/ptx_modules.h"

namespace gacer::kernels {
namespace {

// The text from a kernel's .entry to its body.
std::string_view entry_header(std::string_view ptx, const std::string& symbol) {
  const std::size_t begin = ptx.find(".entry " + symbol + "(");
  if (begin == std::string_view::npos) return {};
  return ptx.substr(begin, ptx.find('{', begin) - begin);
}

TEST(CatalogTest, EveryKernelIsInItsModuleWithItsBlockSize) {
  for (const KernelRow& row : kKernelRows) {
    const std::string_view header = entry_header(ptx_module(row.module), row.symbol);
    ASSERT_FALSE(header.empty()) << row.symbol;
    const std::string bound = ".maxntid " + std::to_string(row.block_threads);
    EXPECT_NE(header.find(bound), std::string_view::npos) << row.symbol << ": " << header;
  }
}

TEST(CatalogTest, NoKernelIsLeftOut) {
  std::set<std::string> modules;
  for (const KernelRow& row : kKernelRows) modules.insert(row.module);
  int entries = 0;
  for (const std::string& module : modules) {
    const std::string_view ptx = ptx_module(module);
    for (std::size_t at = ptx.find(".entry "); at != std::string_view::npos;
         at = ptx.find(".entry ", at + 1))
      ++entries;
  }
  EXPECT_EQ(entries, kKernelCount);
}

TEST(CatalogTest, ModulesAreWholeAndEndWithANul) {
  const std::string_view ptx = ptx_module("gemm");
  EXPECT_NE(ptx.find(".version"), std::string_view::npos);
  EXPECT_EQ(ptx[ptx.find_last_not_of(" \n")], '}');
  EXPECT_EQ(ptx.data()[ptx.size()], '\0');
  EXPECT_TRUE(ptx_module("nonsense").empty());
}

}  // namespace
}  // namespace gacer::kernels
