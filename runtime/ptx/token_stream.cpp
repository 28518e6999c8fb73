// SPDX-License-Identifier: Apache-2.0
#include "runtime/ptx/token_stream.h"

#include "runtime/ptx/expression.h"
#include "runtime/ptx/parser.h"

namespace gacer::ptx {

Token TokenStream::take() {
  const Token token = current_;
  if (failed()) return token;
  current_ = ahead_;
  if (current_.kind != TokenKind::kEnd && current_.kind != TokenKind::kBad)
    ahead_ = tokenizer_.next();
  check();
  return token;
}

bool TokenStream::accept(std::string_view punct) {
  if (!current_.is(punct)) return false;
  take();
  return true;
}

bool TokenStream::accept_dotted(std::string_view word) {
  if (!current_.is_dotted(word)) return false;
  take();
  return true;
}

bool TokenStream::expect(std::string_view punct) {
  if (accept(punct)) return true;
  return fail("expected '" + std::string(punct) + "' before '" + std::string(current_.text) + "'");
}

std::string TokenStream::identifier(std::string_view what) {
  if (current_.kind == TokenKind::kIdentifier) return std::string(take().text);
  fail("expected " + std::string(what) + " before '" + std::string(current_.text) + "'");
  return "";
}

uint64_t TokenStream::integer(std::string_view what) {
  uint64_t value = 0;
  if (current_.kind == TokenKind::kInteger && parse_integer(current_.text, value)) {
    take();
    return value;
  }
  fail("expected " + std::string(what) + " (a number that fits 64 bits) before '" +
       std::string(current_.text) + "'");
  return 0;
}

bool TokenStream::fail_at(uint32_t line, std::string_view message) {
  if (!failed())
    error_ = "line " + std::to_string(line) + ": " + std::string(message.substr(0, 300));
  current_ = ahead_ = Token{TokenKind::kEnd, "", line, false};
  return false;
}

Nesting::Nesting(uint32_t& depth, TokenStream& stream)
    : depth_(depth), ok_(++depth <= kMaxNesting) {
  if (!ok_) stream.fail("nested deeper than " + std::to_string(kMaxNesting) + " levels");
}

}  // namespace gacer::ptx
