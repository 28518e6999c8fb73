// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/image/ptx_linker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/ptx/parser.h"

namespace gacer::simdevice {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kHead = ".version 8.0\n.target sm_80\n.address_size 64\n";

std::string call_of(const std::string& name) {
  return ".visible .entry kernel_" + name + "()\n{\ncall.uni " + name + ";\nret;\n}\n";
}
std::string function(const std::string& linkage, const std::string& name,
                     const std::string& body = "ret;") {
  return linkage + " .func " + name + "()\n{\n" + body + "\n}\n";
}

// The linked text of the inputs, or the error.
std::string link(const std::vector<std::string>& inputs, bool& ok) {
  PtxLinker linker;
  int number = 0;
  for (const std::string& input : inputs) {
    const Status added = linker.add(kHead + input, "input" + std::to_string(number++));
    if (!added.ok()) {
      ok = false;
      return added.error().message;
    }
  }
  const auto text = linker.finish();
  ok = text.ok();
  return ok ? *text : text.error().message;
}
std::string linked(const std::vector<std::string>& inputs) {
  bool ok = false;
  const std::string text = link(inputs, ok);
  EXPECT_TRUE(ok) << text;
  EXPECT_TRUE(ptx::parse(text).ok());
  return text;
}
std::string error_of(const std::vector<std::string>& inputs) {
  bool ok = true;
  const std::string text = link(inputs, ok);
  EXPECT_FALSE(ok) << text;
  return text;
}

size_t count(const std::string& text, const std::string& what) {
  size_t found = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

TEST(PtxLinker, ASingleInputComesBackUnchanged) {
  EXPECT_EQ(linked({function(".visible", "f") + "// a comment\n"}),
            kHead + function(".visible", "f") + "// a comment\n");
}

TEST(PtxLinker, ExternFunctionsAreFoundInOtherInputs) {
  const std::string text =
      linked({".extern .func helper();\n" + call_of("helper"), function(".visible", "helper")});
  EXPECT_THAT(text, HasSubstr("kernel_helper"));
  EXPECT_EQ(count(text, ".visible .func helper"), 1u);
}

TEST(PtxLinker, ExternVariablesTakeTheDefinition) {
  const std::string text =
      linked({".extern .global .align 4 .u32 counter;\n"
              ".visible .entry k(){ .reg .u32 %r<2>; ld.global.u32 %r1, [counter]; ret; }\n",
              ".visible .global .align 4 .u32 counter = 7;\n"});
  EXPECT_THAT(text, Not(HasSubstr(".extern .global")));
  EXPECT_THAT(text, HasSubstr("counter = 7"));
}

TEST(PtxLinker, UndefinedNamesAreNamedWithTheirInput) {
  EXPECT_THAT(error_of({".extern .func helper();\n" + call_of("helper")}),
              HasSubstr("Undefined reference to 'helper' in 'input0'"));
  // Declared, never used.
  linked({".extern .func helper();\n" + function(".visible", "f")});
}

TEST(PtxLinker, TwoVisibleDefinitionsAreAnError) {
  EXPECT_THAT(error_of({function(".visible", "f"), function(".visible", "f")}),
              HasSubstr("Multiple definition of 'f' in 'input1', first defined in 'input0'"));
}

TEST(PtxLinker, WeakGivesWayToVisibleAndToTheFirstWeak) {
  const std::string weak_a = function(".weak", "f", "bar.sync 1;\nret;");
  const std::string weak_b = function(".weak", "f", "bar.sync 2;\nret;");
  const std::string strong = function(".visible", "f", "bar.sync 3;\nret;");
  EXPECT_THAT(linked({weak_a, weak_b}), HasSubstr("bar.sync 1"));
  EXPECT_THAT(linked({weak_a, strong}), HasSubstr("bar.sync 3"));
  EXPECT_EQ(count(linked({strong, weak_b}), "bar.sync"), 1u);
}

TEST(PtxLinker, PrivateNamesOfTwoInputsStayApart) {
  const std::string one = function("", "own", "bar.sync 1;\nret;") +
                          ".visible .entry first()\n{\ncall.uni own;\nret;\n}\n";
  const std::string two = function("", "own", "bar.sync 2;\nret;") +
                          ".visible .entry second()\n{\ncall.uni own;\nret;\n}\n";
  const std::string text = linked({one, two});
  EXPECT_THAT(text, HasSubstr("call.uni own$0"));
  EXPECT_THAT(text, HasSubstr("call.uni own$1"));
  EXPECT_EQ(count(text, ".func own$"), 2u);
}

TEST(PtxLinker, ALocalNameHidesTheModulesWhenRenaming) {
  const std::string uses =
      ".global .u32 v = 1;\n.visible .entry hides()\n{\n.shared .u32 v;\n"
      ".reg .u32 %r<2>;\nld.shared.u32 %r1, [v];\nret;\n}\n";
  const std::string text = linked({uses, ".global .u32 v = 2;\n"});
  EXPECT_THAT(text, HasSubstr("ld.shared.u32 %r1, [v]"));
  EXPECT_THAT(text, HasSubstr("v$0 = 1"));
}

TEST(PtxLinker, PointersInInitialValuesFollowARename) {
  const std::string part = ".global .u32 v = 1;\n.visible .global .u64 p@ = v;\n";
  std::string a = part, b = part;
  a.replace(a.find('@'), 1, "a");
  b.replace(b.find('@'), 1, "b");
  const std::string text = linked({a, b});
  EXPECT_THAT(text, HasSubstr("pa = v$0"));
  EXPECT_THAT(text, HasSubstr("pb = v$1"));
}

TEST(PtxLinker, UnsizedSharedMemoryIsOne) {
  const std::string dyn = ".extern .shared .align 16 .b8 dyn[];\n";
  EXPECT_EQ(count(linked({dyn + function(".visible", "f"), dyn + function(".visible", "g")}),
                  ".extern .shared"),
            1u);
}

TEST(PtxLinker, CommonVariablesTakeTheLargest) {
  EXPECT_THAT(
      linked({".common .global .align 4 .b8 c[8];\n", ".common .global .align 4 .b8 c[32];\n"}),
      HasSubstr("c[32]"));
}

TEST(PtxLinker, TheNewestTargetAndVersionCount) {
  PtxLinker linker;
  ASSERT_TRUE(linker.add(".version 7.0\n.target sm_70\n.address_size 64\n", "old").ok());
  ASSERT_TRUE(linker.add(".version 8.10\n.target sm_80\n.address_size 64\n", "new").ok());
  const auto text = linker.finish();
  ASSERT_TRUE(text.ok());
  EXPECT_THAT(*text, HasSubstr(".version 8.10"));
  EXPECT_THAT(*text, HasSubstr(".target sm_80"));
}

TEST(PtxLinker, NamesKnownFromMachineCodeAreNotUndefined) {
  PtxLinker linker;
  ASSERT_TRUE(linker.add(kHead + ".extern .func helper();\n" + call_of("helper"), "a").ok());
  linker.add_known_name("helper");
  EXPECT_TRUE(linker.finish().ok());
}

TEST(PtxLinker, MalformedTextNamesTheLine) {
  EXPECT_THAT(error_of({".visible .entry k( {"}), HasSubstr("line 4"));
  EXPECT_FALSE(PtxLinker().finish().ok());
}

}  // namespace
}  // namespace gacer::simdevice
