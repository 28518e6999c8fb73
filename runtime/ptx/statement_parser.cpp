// SPDX-License-Identifier: Apache-2.0
#include "runtime/ptx/statement_parser.h"

#include "runtime/ptx/expression.h"

namespace gacer::ptx {
namespace {

bool is_component(const Token& token) {
  return token.kind == TokenKind::kDotted && token.glued && token.text.size() == 1 &&
         std::string_view("xyzwrgba").find(token.text[0]) != std::string_view::npos;
}

}  // namespace

std::vector<Statement> StatementParser::body() {
  std::vector<Statement> out;
  Nesting deep(declarations_.depth(), stream_);
  while (deep.ok() && !stream_.failed() && !stream_.peek().is("}")) {
    if (stream_.peek().kind == TokenKind::kEnd) {
      stream_.fail("a body does not end");
    } else {
      statement(out);
    }
  }
  stream_.expect("}");
  return out;
}

void StatementParser::statement(std::vector<Statement>& out) {
  const Token token = stream_.peek();
  if (stream_.accept(";")) return;
  if (stream_.accept("{")) {
    out.push_back({Scope{body()}});
  } else if (token.kind == TokenKind::kDotted) {
    dotted(out);
  } else if (token.kind == TokenKind::kIdentifier && stream_.peek2().is(":")) {
    labelled(out);
  } else {
    out.push_back({instruction()});
  }
}

void StatementParser::dotted(std::vector<Statement>& out) {
  if (declarations_.skip_debug()) return;
  if (stream_.peek().is_dotted("pragma")) {
    out.push_back({declarations_.pragma()});
  } else {
    const Linkage linkage = declarations_.linkage();
    out.push_back({declarations_.variables(linkage)});
  }
}

void StatementParser::labelled(std::vector<Statement>& out) {
  std::string name(stream_.take().text);
  stream_.expect(":");
  const Token token = stream_.peek();
  if (token.is_dotted("branchtargets") || token.is_dotted("calltargets")) {
    out.push_back({target_list(std::move(name))});
  } else if (token.is_dotted("callprototype")) {
    out.push_back({prototype(std::move(name))});
  } else {
    out.push_back({Label{std::move(name)}});
  }
}

TargetList StatementParser::target_list(std::string name) {
  TargetList out;
  out.name = std::move(name);
  out.calls = stream_.take().text == "calltargets";
  do out.targets.push_back(stream_.identifier("a target"));
  while (!stream_.failed() && stream_.accept(","));
  stream_.expect(";");
  return out;
}

Prototype StatementParser::prototype(std::string name) {
  Prototype out;
  out.name = std::move(name);
  stream_.take();
  if (stream_.peek().is("(")) out.returns = declarations_.parameter_list();
  stream_.identifier("_");
  if (stream_.peek().is("(")) out.params = declarations_.parameter_list();
  out.directives = declarations_.directives();
  stream_.expect(";");
  return out;
}

Instruction StatementParser::instruction() {
  Instruction out;
  out.line = SourceLine{stream_.peek().line};
  if (stream_.accept("@")) {
    Guard guard;
    guard.negated = stream_.accept("!");
    guard.predicate = stream_.identifier("a predicate after @");
    out.guard = std::move(guard);
  }
  out.opcode = stream_.identifier("an instruction");
  while (stream_.peek().kind == TokenKind::kDotted) out.modifiers.emplace_back(stream_.take().text);
  if (stream_.accept(";")) return out;
  do out.operands.push_back(operand(out.opcode == "call"));
  while (!stream_.failed() && stream_.accept(","));
  stream_.expect(";");
  return out;
}

Operand StatementParser::operand(bool is_call) {
  Nesting deep(declarations_.depth(), stream_);
  if (!deep.ok()) return {};
  const Token token = stream_.peek();
  if (token.is("{")) return list(Operand::Kind::kVector, "}", is_call);
  if (token.is("(") && is_call) return list(Operand::Kind::kTuple, ")", is_call);
  if (token.is("[")) return address();
  const bool negated_name = token.is("!") && stream_.peek2().kind == TokenKind::kIdentifier;
  if (token.kind == TokenKind::kIdentifier || negated_name) return name_operand();
  Operand out;
  out.kind = Operand::Kind::kImmediate;
  out.offset = parse_expression(stream_, declarations_.depth());
  return out;
}

Operand StatementParser::list(Operand::Kind kind, std::string_view close, bool is_call) {
  Operand out;
  out.kind = kind;
  stream_.take();
  while (!stream_.failed() && !stream_.peek().is(close)) {
    out.elements.push_back(operand(is_call));
    if (!stream_.accept(",")) break;
  }
  stream_.expect(close);
  if (kind == Operand::Kind::kVector && stream_.accept("|"))
    out.second = stream_.identifier("a second destination after |");
  return out;
}

Operand StatementParser::name_operand() {
  Operand out;
  out.negated = stream_.accept("!");
  out.name = stream_.identifier("an operand");
  if (is_component(stream_.peek())) out.name += "." + std::string(stream_.take().text);
  if (stream_.accept("[")) {
    out.subscript = parse_expression(stream_, declarations_.depth());
    stream_.expect("]");
  } else if (stream_.accept("|")) {
    out.second = stream_.identifier("a second destination after |");
  } else if (stream_.peek().is("+") || stream_.peek().is("-")) {
    out.offset = parse_expression(stream_, declarations_.depth());
  }
  return out;
}

Operand StatementParser::address() {
  Operand out;
  out.kind = Operand::Kind::kAddress;
  stream_.expect("[");
  if (stream_.peek().kind == TokenKind::kIdentifier) {
    Operand base = name_operand();
    out.name = std::move(base.name);
    out.offset = std::move(base.offset);
    if (base.negated || base.subscript || !base.second.empty())
      stream_.fail("an address cannot use ! or |");
  } else {
    out.offset = parse_expression(stream_, declarations_.depth());
  }
  while (!stream_.failed() && stream_.accept(",")) out.elements.push_back(operand(false));
  stream_.expect("]");
  return out;
}

}  // namespace gacer::ptx
