// SPDX-License-Identifier: Apache-2.0
#include "runtime/ptx/expression.h"

#include <bit>
#include <charconv>
#include <cstdlib>

namespace gacer::ptx {
namespace {

struct OperatorRow {
  std::string_view text;
  int precedence;
};
constexpr OperatorRow kOperators[] = {
    {"||", 1}, {"&&", 2}, {"|", 3}, {"^", 4},  {"&", 5},  {"==", 6},
    {"!=", 6}, {"<", 7},  {">", 7}, {"<=", 7}, {">=", 7}, {"<<", 8},
    {">>", 8}, {"+", 9},  {"-", 9}, {"*", 10}, {"/", 10}, {"%", 10},
};

int precedence_of(const Token& token) {
  if (token.kind != TokenKind::kPunct) return 0;
  for (const auto& row : kOperators)
    if (row.text == token.text) return row.precedence;
  return 0;
}

uint64_t shift_left(uint64_t a, uint64_t n) {
  return n < 64 ? a << n : 0;
}
uint64_t shift_right(int64_t a, uint64_t n) {
  return static_cast<uint64_t>(a >> (n < 64 ? n : 63));
}

// False for a division by zero.
bool divide(char op, int64_t a, int64_t b, uint64_t& out) {
  if (b == 0) return false;
  if (b == -1) {
    out = op == '/' ? 0 - static_cast<uint64_t>(a) : 0;
  } else {
    out = static_cast<uint64_t>(op == '/' ? a / b : a % b);
  }
  return true;
}

bool compare(std::string_view op, int64_t a, int64_t b) {
  if (op == "==") return a == b;
  if (op == "!=") return a != b;
  if (op == "<=") return a <= b;
  if (op == ">=") return a >= b;
  return op == "<" ? a < b : a > b;
}

bool apply(std::string_view op, uint64_t a, uint64_t b, uint64_t& out) {
  const int64_t sa = static_cast<int64_t>(a), sb = static_cast<int64_t>(b);
  if (op == "/" || op == "%") return divide(op[0], sa, sb, out);
  if (op == "+") return out = a + b, true;
  if (op == "-") return out = a - b, true;
  if (op == "*") return out = a * b, true;
  if (op == "<<") return out = shift_left(a, b), true;
  if (op == ">>") return out = shift_right(sa, b), true;
  if (op == "&") return out = a & b, true;
  if (op == "|") return out = a | b, true;
  if (op == "^") return out = a ^ b, true;
  if (op == "&&") return out = a != 0 && b != 0, true;
  if (op == "||") return out = a != 0 || b != 0, true;
  return out = compare(op, sa, sb), true;
}

class ExpressionParser {
 public:
  ExpressionParser(TokenStream& stream, uint32_t& depth) : stream_(stream), depth_(depth) {}

  // a ? b : c, both sides read whatever a is.
  Immediate conditional() {
    Nesting deep(depth_, stream_);
    if (!deep.ok()) return {};
    Immediate condition = binary(1);
    if (!stream_.accept("?")) return condition;
    Immediate yes = conditional();
    stream_.expect(":");
    Immediate no = conditional();
    if (stream_.failed()) return {};
    if (condition.kind != Immediate::Kind::kInteger) {
      stream_.fail("a condition must be an integer");
      return {};
    }
    const std::string spelling = condition.spelling + "?" + yes.spelling + ":" + no.spelling;
    Immediate chosen = condition.bits != 0 ? std::move(yes) : std::move(no);
    chosen.spelling = spelling;
    return chosen;
  }

  Immediate binary(int least) {
    Nesting deep(depth_, stream_);
    if (!deep.ok()) return {};
    Immediate left = unary();
    for (int p = precedence_of(stream_.peek()); p >= least && p > 0;
         p = precedence_of(stream_.peek())) {
      const std::string op(stream_.take().text);
      const Immediate right = binary(p + 1);
      if (!combine(left, op, right)) return {};
    }
    return left;
  }

 private:
  bool combine(Immediate& left, const std::string& op, const Immediate& right) {
    if (stream_.failed()) return false;
    if (left.kind != Immediate::Kind::kInteger || right.kind != Immediate::Kind::kInteger)
      return stream_.fail("constant expressions of floats are not supported");
    if (!apply(op, left.bits, right.bits, left.bits))
      return stream_.fail("division by zero in a constant");
    // Glued, "2%r1" would be read as a number and a register.
    left.spelling += op + (op == "%" ? " " : "") + right.spelling;
    return true;
  }

  Immediate unary() {
    Nesting deep(depth_, stream_);
    if (!deep.ok()) return {};
    const Token token = stream_.peek();
    if (token.is("-") || token.is("+") || token.is("~") || token.is("!")) {
      stream_.take();
      Immediate operand = unary();
      operand.spelling.insert(0, 1, token.text[0]);
      return apply_unary(token.text[0], operand);
    }
    return token.is("(") ? parenthesised() : literal();
  }

  Immediate apply_unary(char op, Immediate operand) {
    const bool is_float = operand.kind != Immediate::Kind::kInteger;
    if (is_float && (op == '~' || op == '!')) {
      stream_.fail("a float has no bitwise complement");
    } else if (is_float && op == '-') {
      operand.bits ^=
          operand.kind == Immediate::Kind::kFloat32 ? uint64_t{1} << 31 : uint64_t{1} << 63;
    } else if (op == '-') {
      operand.bits = 0 - operand.bits;
    } else if (op == '~') {
      operand.bits = ~operand.bits;
    } else if (op == '!') {
      operand.bits = operand.bits == 0;
    }
    return operand;
  }

  // "(expr)" or the casts "(.s64) expr", "(.u64) expr", which change nothing in 64 bits.
  Immediate parenthesised() {
    stream_.expect("(");
    if (stream_.peek().is_dotted("s64") || stream_.peek().is_dotted("u64")) {
      const std::string cast = "(." + std::string(stream_.take().text) + ")";
      stream_.expect(")");
      Immediate operand = unary();
      operand.spelling.insert(0, cast);
      return operand;
    }
    Immediate inner = conditional();
    stream_.expect(")");
    inner.spelling = "(" + inner.spelling + ")";
    return inner;
  }

  Immediate literal() {
    const Token token = stream_.peek();
    Immediate out;
    out.spelling = std::string(token.text);
    bool ok = false;
    if (token.kind == TokenKind::kInteger) {
      ok = parse_integer(token.text, out.bits);
    } else if (token.kind == TokenKind::kFloat) {
      ok = parse_float(out);
    }
    if (!ok) {
      stream_.fail("expected a constant that fits 64 bits before '" + std::string(token.text) +
                   "'");
      return {};
    }
    stream_.take();
    return out;
  }

  static bool parse_float(Immediate& out) {
    const std::string& text = out.spelling;
    if (text[0] == '0' && text.size() > 2 &&
        (text[1] == 'f' || text[1] == 'F' || text[1] == 'd' || text[1] == 'D')) {
      const bool is_single = text[1] == 'f' || text[1] == 'F';
      out.kind = is_single ? Immediate::Kind::kFloat32 : Immediate::Kind::kFloat64;
      return std::from_chars(text.data() + 2, text.data() + text.size(), out.bits, 16).ec ==
             std::errc{};
    }
    out.kind = Immediate::Kind::kFloat64;
    out.bits = std::bit_cast<uint64_t>(std::strtod(text.c_str(), nullptr));
    return true;
  }

  TokenStream& stream_;
  uint32_t& depth_;
};

}  // namespace

bool parse_integer(std::string_view text, uint64_t& value) {
  if (!text.empty() && (text.back() == 'U' || text.back() == 'u')) text.remove_suffix(1);
  int base = 10;
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) base = 16;
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'b' || text[1] == 'B')) base = 2;
  if (base != 10) {
    text.remove_prefix(2);
  } else if (text.size() > 1 && text[0] == '0') {
    base = 8;
  }
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return ec == std::errc{} && end == text.data() + text.size();
}

Immediate parse_expression(TokenStream& stream, uint32_t& depth) {
  return ExpressionParser(stream, depth).conditional();
}

bool starts_expression(const Token& token) {
  return token.kind == TokenKind::kInteger || token.kind == TokenKind::kFloat || token.is("-") ||
         token.is("+") || token.is("~") || token.is("(");
}

}  // namespace gacer::ptx
