// SPDX-License-Identifier: Apache-2.0
// The executable half of the parser: the statements of a function body.
#pragma once

#include <vector>

#include "runtime/ptx/ast.h"
#include "runtime/ptx/declaration_parser.h"
#include "runtime/ptx/token_stream.h"

namespace gacer::ptx {

class StatementParser {
 public:
  StatementParser(TokenStream& stream, DeclarationParser& declarations)
      : stream_(stream), declarations_(declarations) {}

  // The statements up to and including the closing brace; the opening one is taken already.
  std::vector<Statement> body();

 private:
  void statement(std::vector<Statement>& out);
  void labelled(std::vector<Statement>& out);
  void dotted(std::vector<Statement>& out);
  Prototype prototype(std::string name);
  TargetList target_list(std::string name);
  Instruction instruction();
  Operand operand(bool is_call);
  Operand name_operand();
  Operand address();
  Operand list(Operand::Kind kind, std::string_view close, bool is_call);

  TokenStream& stream_;
  DeclarationParser& declarations_;
};

}  // namespace gacer::ptx
