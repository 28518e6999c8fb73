// SPDX-License-Identifier: Apache-2.0
#include "runtime/ptx/tokenizer.h"

#include <algorithm>

namespace gacer::ptx {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_alpha(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool starts_word(char c) {
  return is_alpha(c) || c == '_' || c == '$' || c == '%';
}
bool continues_word(char c) {
  return is_alpha(c) || is_digit(c) || c == '_' || c == '$';
}
bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v';
}

constexpr std::string_view kTwoChar[] = {"<<", ">>", "<=", ">=", "==", "!=", "&&", "||"};
constexpr std::string_view kOneChar = "()[]{}<>,;:+-*/%&|^~!=@?#";

}  // namespace

bool Tokenizer::skip_blank() {
  const size_t start = pos_;
  for (;;) {
    if (is_space(at(0))) {
      line_ += at(0) == '\n';
      ++pos_;
    } else if (at(0) == '/' && at(1) == '/') {
      pos_ = std::min(text_.find('\n', pos_), text_.size());
    } else if (at(0) == '/' && at(1) == '*') {
      const size_t end = text_.find("*/", pos_ + 2);
      if (end == std::string_view::npos) return false;
      line_ += static_cast<uint32_t>(std::count(text_.begin() + pos_, text_.begin() + end, '\n'));
      pos_ = end + 2;
    } else {
      break;
    }
  }
  glued_ = pos_ == start;
  return true;
}

Token Tokenizer::take(TokenKind kind, size_t length) {
  Token token{kind, text_.substr(pos_, length), line_, glued_};
  pos_ += length;
  return token;
}

Token Tokenizer::next() {
  if (!skip_blank()) return bad("a comment does not end");
  if (pos_ >= text_.size()) return {TokenKind::kEnd, "", line_, false};
  const char c = at(0);
  if (starts_word(c) && (c != '%' || continues_word(at(1)))) {
    size_t n = 1;
    while (continues_word(at(n))) ++n;
    return take(TokenKind::kIdentifier, n);
  }
  if (c == '.' && is_digit(at(1)) && ends_fraction()) return number();  // .5, but .2d is a modifier
  if (c == '.' && (continues_word(at(1)))) {
    size_t n = 1;
    while (continues_word(at(n)) || (at(n) == ':' && at(n + 1) == ':' && ++n)) ++n;
    Token token = take(TokenKind::kDotted, n);
    token.text.remove_prefix(1);
    return token;
  }
  if (is_digit(c)) return number();
  return c == '"' ? string() : punct();
}

bool Tokenizer::ends_fraction() const {
  size_t n = 1;
  while (is_digit(at(n))) ++n;
  const size_t sign = at(n + 1) == '+' || at(n + 1) == '-' ? 2 : 1;
  if ((at(n) == 'e' || at(n) == 'E') && is_digit(at(n + sign)))
    for (n += sign; is_digit(at(n));) ++n;
  const bool in_word = pos_ > 0 && continues_word(text_[pos_ - 1]);
  return !in_word && !continues_word(at(n));
}

Token Tokenizer::number() {
  const char kind = at(1);
  if (at(0) == '0' && (kind == 'f' || kind == 'F' || kind == 'd' || kind == 'D')) {
    const size_t digits = kind == 'f' || kind == 'F' ? 8 : 16;
    for (size_t i = 0; i < digits; ++i)
      if (!is_hex(at(2 + i))) return bad("a hexadecimal float needs 8 (0f) or 16 (0d) digits");
    return take(TokenKind::kFloat, 2 + digits);
  }
  size_t n = 0;
  bool is_float = false;
  if (at(0) == '0' && (kind == 'x' || kind == 'X')) {
    for (n = 2; is_hex(at(n));) ++n;
    if (n == 2) return bad("0x without digits");
  } else if (at(0) == '0' && (kind == 'b' || kind == 'B')) {
    for (n = 2; at(n) == '0' || at(n) == '1';) ++n;
    if (n == 2) return bad("0b without digits");
  } else {
    while (is_digit(at(n))) ++n;
    if (at(n) == '.' && (is_digit(at(n + 1)) || (n > 0 && !continues_word(at(n + 1))))) {
      is_float = true;
      for (++n; is_digit(at(n));) ++n;
    }
    const size_t sign = at(n + 1) == '+' || at(n + 1) == '-' ? 2 : 1;
    if ((at(n) == 'e' || at(n) == 'E') && is_digit(at(n + sign))) {
      is_float = true;
      for (n += sign; is_digit(at(n));) ++n;
    }
  }
  if (!is_float && (at(n) == 'U' || at(n) == 'u')) ++n;
  if (continues_word(at(n))) return bad("a number runs into a letter");
  return take(is_float ? TokenKind::kFloat : TokenKind::kInteger, n);
}

Token Tokenizer::string() {
  for (size_t n = 1; pos_ + n < text_.size() && at(n) != '\n'; ++n) {
    if (at(n) == '\\') {
      ++n;
    } else if (at(n) == '"') {
      Token token = take(TokenKind::kString, n + 1);
      token.text = token.text.substr(1, n - 1);
      return token;
    }
  }
  return bad("a string does not end");
}

Token Tokenizer::punct() {
  for (std::string_view two : kTwoChar)
    if (text_.substr(pos_, 2) == two) return take(TokenKind::kPunct, 2);
  if (kOneChar.find(at(0)) == std::string_view::npos)
    return bad("a character that PTX does not use");
  return take(TokenKind::kPunct, 1);
}

}  // namespace gacer::ptx
