// SPDX-License-Identifier: Apache-2.0
// PTX text to tokens, one at a time. Tokens are views into the text, which must outlive them.
// Malformed text gives a kBad token whose text says why. Comments and white space are skipped.
#pragma once

#include <cstdint>
#include <string_view>

namespace gacer::ptx {

enum class TokenKind : uint8_t {
  kEnd,
  kBad,         // text: the reason
  kIdentifier,  // ld  %r1  $L__BB0_1  _Z3foo  _
  kDotted,      // .global  .L1::evict_last  .2d   (text without the dot)
  kInteger,     // 12  0x1F  017  0b11  12U
  kFloat,       // 1.5  1e-5  0f3F800000  0d3FF0000000000000
  kString,      // text without the quotes
  kPunct,       // one character, or << >> <= >= == != && ||
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;
  uint32_t line = 1;
  bool glued = false;  // no white space before it
  bool is(std::string_view punct) const { return kind == TokenKind::kPunct && text == punct; }
  bool is_dotted(std::string_view word) const { return kind == TokenKind::kDotted && text == word; }
};

class Tokenizer {
 public:
  explicit Tokenizer(std::string_view text) : text_(text) {}
  Token next();

 private:
  bool skip_blank();  // false: a comment does not end
  Token take(TokenKind kind, size_t length);
  Token bad(std::string_view reason) const { return {TokenKind::kBad, reason, line_, false}; }
  Token number();
  bool ends_fraction() const;  // of ".5": it is a number and not the beginning of a word
  Token string();
  Token punct();
  char at(size_t offset) const {
    return pos_ + offset < text_.size() ? text_[pos_ + offset] : '\0';
  }

  std::string_view text_;
  size_t pos_ = 0;
  uint32_t line_ = 1;
  bool glued_ = false;
};

}  // namespace gacer::ptx
