// SPDX-License-Identifier: Apache-2.0
#include "interpose/dlopen_redirect.h"

#include <gtest/gtest.h>

namespace gacer::interpose {
namespace {

TEST(DlopenRedirect, given_spellings_of_the_driver_then_all_are_recognised) {
  for (const char* name : {"libcuda.so", "libcuda.so.1", "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
                           "./libcuda.so", "/opt/x/libcuda.so.550.54.14"})
    EXPECT_TRUE(names_the_driver(name)) << name;
}

TEST(DlopenRedirect, given_other_libraries_then_none_is_taken) {
  for (const char* name :
       {"libcudart.so.12", "libcudart.so", "libcuda.so.bak", "libcuda", "libm.so.6", "",
        "/libcuda.so.1/libx.so", "libcudadebugger.so.1", "xlibcuda.so.1"})
    EXPECT_FALSE(names_the_driver(name)) << name;
  EXPECT_FALSE(names_the_driver(nullptr));
}

}  // namespace
}  // namespace gacer::interpose
