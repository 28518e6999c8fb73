// SPDX-License-Identifier: Apache-2.0
// The parser's cursor: two tokens of look-ahead and the first error, after which everything is at
// its end, so that loops over tokens stop by themselves.
#pragma once

#include <string>

#include "runtime/ptx/tokenizer.h"

namespace gacer::ptx {

class TokenStream {
 public:
  explicit TokenStream(std::string_view text) : tokenizer_(text) {
    current_ = tokenizer_.next();
    ahead_ = tokenizer_.next();
    check();
  }

  const Token& peek() const { return current_; }
  const Token& peek2() const { return ahead_; }
  Token take();
  bool accept(std::string_view punct);  // takes it if it is next
  bool accept_dotted(std::string_view word);
  bool expect(std::string_view punct);  // else fails
  std::string identifier(std::string_view what);
  uint64_t integer(std::string_view what);  // a literal, not an expression

  bool failed() const { return !error_.empty(); }
  const std::string& error() const { return error_; }
  // Keeps the first error only. Returns false for `return fail(...)`.
  bool fail(std::string_view message) { return fail_at(current_.line, message); }
  bool fail_at(uint32_t line, std::string_view message);

 private:
  void check() {
    if (current_.kind == TokenKind::kBad) fail(current_.text);
  }

  Tokenizer tokenizer_;
  Token current_, ahead_;
  std::string error_;
};

// Bounds recursion: `if (Nesting deep(depth_, stream); !deep.ok()) return ...`.
class Nesting {
 public:
  Nesting(uint32_t& depth, TokenStream& stream);
  ~Nesting() { --depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;
  bool ok() const { return ok_; }

 private:
  uint32_t& depth_;
  bool ok_;
};

}  // namespace gacer::ptx
