// SPDX-License-Identifier: Apache-2.0
// The declaring half of the parser: variables, parameter lists, initialisers, directives.
#pragma once

#include <string>
#include <vector>

#include "runtime/ptx/ast.h"
#include "runtime/ptx/token_stream.h"

namespace gacer::ptx {

struct Linkage {
  std::string word;        // "", "extern", "visible", "weak", "common"
  std::string attributes;  // inside .attribute(...)
};

class DeclarationParser {
 public:
  explicit DeclarationParser(TokenStream& stream) : stream_(stream) {}

  Linkage linkage();
  // ".shared .align 4 .b8 a[64], b[4] = {...};" with its semicolon.
  Declaration variables(const Linkage& linkage);
  // "(.param .u64 p, .reg .b32 r)".
  std::vector<Variable> parameter_list();
  // Performance directives between a function's header and its body.
  std::vector<Directive> directives();
  Directive pragma();
  // Skips .loc, .file or .section if one is next.
  bool skip_debug();
  uint32_t& depth() { return depth_; }

 private:
  void attribute(std::string& out);
  Variable prefix();
  void type_word(Variable& variable);
  void pointer(Variable& variable);
  void declarator(Variable& variable);
  Initializer initializer();
  Initializer initializer_list();
  void initializer_symbol(Initializer& out);
  uint32_t small(std::string_view what, uint64_t limit);
  void skip_loc();
  void skip_section();

  TokenStream& stream_;
  uint32_t depth_ = 0;
};

}  // namespace gacer::ptx
