// SPDX-License-Identifier: Apache-2.0
#include "runtime/ptx/declaration_parser.h"

#include "runtime/ptx/expression.h"

namespace gacer::ptx {
namespace {

bool is_linkage(const Token& token) {
  return token.is_dotted("extern") || token.is_dotted("visible") || token.is_dotted("weak") ||
         token.is_dotted("common");
}

bool is_power_of_two(uint64_t value) {
  return value != 0 && (value & (value - 1)) == 0;
}

constexpr uint64_t kMaxCount = 1u << 20;  // registers of one family

}  // namespace

Linkage DeclarationParser::linkage() {
  Linkage out;
  for (;;) {
    if (is_linkage(stream_.peek())) {
      out.word = std::string(stream_.take().text);
    } else if (stream_.accept_dotted("attribute")) {
      attribute(out.attributes);
    } else {
      return out;
    }
  }
}

// "(.managed)" or "(.unified(1, 2))": kept as text.
void DeclarationParser::attribute(std::string& out) {
  stream_.expect("(");
  uint32_t open = 1;
  while (stream_.peek().kind != TokenKind::kEnd) {
    if (stream_.peek().is("(")) ++open;
    if (stream_.peek().is(")") && --open == 0) break;
    const Token token = stream_.take();
    out += (token.kind == TokenKind::kDotted ? "." : "") + std::string(token.text);
  }
  stream_.expect(")");
}

uint32_t DeclarationParser::small(std::string_view what, uint64_t limit) {
  const uint64_t value = stream_.integer(what);
  if (value > limit) stream_.fail(std::string(what) + " is too large");
  return static_cast<uint32_t>(value);
}

void DeclarationParser::type_word(Variable& variable) {
  const Token token = stream_.peek();
  if (const auto space = space_from(token.text)) {
    variable.space = *space;
  } else if (const auto type = type_from(token.text)) {
    variable.type = *type;
  } else if (token.text == "v2" || token.text == "v4" || token.text == "v8") {
    variable.vector = static_cast<uint32_t>(token.text[1] - '0');
  } else {
    stream_.fail("unknown declaration word '." + std::string(token.text) + "'");
    return;
  }
  stream_.take();
}

void DeclarationParser::pointer(Variable& variable) {
  variable.is_pointer = true;
  if (stream_.peek().kind == TokenKind::kDotted) {
    if (const auto space = space_from(stream_.peek().text)) {
      variable.pointee = *space;
      stream_.take();
    }
  }
  if (stream_.accept_dotted("align")) variable.pointee_align = small("an alignment", 1u << 20);
}

Variable DeclarationParser::prefix() {
  Variable out;
  out.line = SourceLine{stream_.peek().line};
  while (stream_.peek().kind == TokenKind::kDotted) {
    if (stream_.accept_dotted("align")) {
      out.align = small("an alignment", 1u << 20);
      if (!is_power_of_two(out.align)) stream_.fail("an alignment must be a power of two");
    } else if (stream_.accept_dotted("ptr")) {
      pointer(out);
    } else if (stream_.accept_dotted("attribute")) {
      attribute(out.attributes);
    } else {
      type_word(out);
    }
  }
  if (out.space == Space::kNone) stream_.fail("a declaration needs a state space");
  if (out.type == Type::kNone) stream_.fail("a declaration needs a type");
  return out;
}

void DeclarationParser::declarator(Variable& variable) {
  variable.line = SourceLine{stream_.peek().line};
  variable.name = stream_.identifier("a name");
  if (stream_.accept("<")) {
    variable.count = small("a register count", kMaxCount);
    stream_.expect(">");
  }
  while (stream_.accept("[")) {
    uint64_t dim = 0;
    if (!stream_.peek().is("]")) {
      const Immediate size = parse_expression(stream_, depth_);
      dim = size.bits;
      if (size.kind != Immediate::Kind::kInteger || dim == 0)
        stream_.fail("an array size must be a positive integer");
    }
    stream_.expect("]");
    variable.dims.push_back(dim);
  }
  if (stream_.accept("=")) variable.initial = initializer();
}

Declaration DeclarationParser::variables(const Linkage& linkage) {
  Declaration out;
  Variable common = prefix();
  common.linkage = linkage.word;
  common.attributes = linkage.attributes + common.attributes;
  do {
    Variable one = common;
    declarator(one);
    out.variables.push_back(std::move(one));
  } while (!stream_.failed() && stream_.accept(","));
  stream_.expect(";");
  return out;
}

std::vector<Variable> DeclarationParser::parameter_list() {
  std::vector<Variable> out;
  stream_.expect("(");
  while (!stream_.failed() && !stream_.peek().is(")")) {
    Variable one = prefix();
    declarator(one);
    out.push_back(std::move(one));
    if (!stream_.accept(",")) break;
  }
  stream_.expect(")");
  return out;
}

Initializer DeclarationParser::initializer_list() {
  Initializer out;
  out.kind = Initializer::Kind::kList;
  Nesting deep(depth_, stream_);
  stream_.expect("{");
  while (deep.ok() && !stream_.failed() && !stream_.peek().is("}")) {
    out.elements.push_back(initializer());
    if (!stream_.accept(",")) break;
  }
  stream_.expect("}");
  return out;
}

// name, name+4, generic(name), generic(name)+4
void DeclarationParser::initializer_symbol(Initializer& out) {
  out.kind = Initializer::Kind::kSymbol;
  out.symbol = stream_.identifier("a symbol");
  if (out.symbol == "generic" && stream_.accept("(")) {
    out.generic = true;
    out.symbol = stream_.identifier("a symbol");
    stream_.expect(")");
  }
  if (stream_.peek().is("+") || stream_.peek().is("-"))
    out.offset = parse_expression(stream_, depth_);
}

Initializer DeclarationParser::initializer() {
  if (stream_.peek().is("{")) return initializer_list();
  Initializer out;
  if (stream_.peek().kind == TokenKind::kIdentifier) {
    initializer_symbol(out);
    return out;
  }
  const bool masked = stream_.peek().kind == TokenKind::kInteger && stream_.peek2().is("(");
  out.value = parse_expression(stream_, depth_);
  if (masked && stream_.accept("(")) {
    out.masked = true;
    initializer_symbol(out);
    stream_.expect(")");
  }
  return out;
}

Directive DeclarationParser::pragma() {
  Directive out;
  out.name = std::string(stream_.take().text);
  do {
    if (stream_.peek().kind != TokenKind::kString) stream_.fail("expected a string after .pragma");
    out.arguments.emplace_back(stream_.take().text);
  } while (!stream_.failed() && stream_.accept(","));
  stream_.expect(";");
  return out;
}

std::vector<Directive> DeclarationParser::directives() {
  std::vector<Directive> out;
  while (stream_.peek().kind == TokenKind::kDotted) {
    if (stream_.peek().is_dotted("pragma")) {
      out.push_back(pragma());
      continue;
    }
    Directive one;
    one.name = std::string(stream_.take().text);
    while (stream_.peek().kind == TokenKind::kInteger) {
      one.arguments.emplace_back(stream_.take().text);
      if (!stream_.accept(",")) break;
    }
    out.push_back(std::move(one));
  }
  return out;
}

bool DeclarationParser::skip_debug() {
  if (stream_.accept_dotted("loc")) {
    skip_loc();
  } else if (stream_.accept_dotted("file")) {
    stream_.integer("a file index");
    if (stream_.peek().kind != TokenKind::kString) stream_.fail("expected a file name");
    stream_.take();
    while (stream_.accept(",")) stream_.integer("a number");
  } else if (stream_.accept_dotted("section")) {
    skip_section();
  } else {
    return false;
  }
  return true;
}

// .loc 1 22 0 [, function_name label[+4], inlined_at 1 10 5]
void DeclarationParser::skip_loc() {
  for (int i = 0; i < 3; ++i) stream_.integer("a line position");
  while (stream_.accept(",")) {
    const std::string word = stream_.identifier("function_name or inlined_at");
    if (word == "function_name") {
      stream_.identifier("a label");
      if (stream_.accept("+")) stream_.integer("an offset");
    } else if (word == "inlined_at") {
      for (int i = 0; i < 3; ++i) stream_.integer("a line position");
    } else {
      stream_.fail("unknown word '" + word + "' in .loc");
    }
  }
}

void DeclarationParser::skip_section() {
  stream_.take();  // the name, dotted or not
  stream_.expect("{");
  while (!stream_.peek().is("}") && stream_.peek().kind != TokenKind::kEnd) stream_.take();
  stream_.expect("}");
}

}  // namespace gacer::ptx
