// SPDX-License-Identifier: Apache-2.0
#include "runtime/ptx/parser.h"

#include "runtime/ptx/declaration_parser.h"
#include "runtime/ptx/statement_parser.h"
#include "runtime/ptx/token_stream.h"

namespace gacer::ptx {
namespace {

class ModuleParser {
 public:
  explicit ModuleParser(std::string_view text)
      : stream_(text), declarations_(stream_), statements_(stream_, declarations_) {}

  Result<Module> run() {
    header();
    while (!stream_.failed() && stream_.peek().kind != TokenKind::kEnd) item();
    if (stream_.failed()) return Error{0, stream_.error()};
    return std::move(module_);
  }

 private:
  void header() {
    if (!stream_.accept_dotted("version")) {
      stream_.fail("a PTX module begins with .version");
      return;
    }
    const Token version = stream_.take();
    if (version.kind != TokenKind::kFloat)
      stream_.fail_at(version.line, "expected a version such as 8.0 after .version");
    module_.version = std::string(version.text);
    if (!stream_.accept_dotted("target")) {
      stream_.fail(".target must follow .version");
      return;
    }
    do module_.target.push_back(stream_.identifier("a target such as sm_80"));
    while (stream_.accept(","));
  }

  void item() {
    const Token token = stream_.peek();
    if (token.kind != TokenKind::kDotted) {
      stream_.fail("expected a directive before '" + std::string(token.text) + "'");
    } else if (stream_.accept_dotted("address_size")) {
      address_size();
    } else if (token.is_dotted("pragma")) {
      module_.items.emplace_back(declarations_.pragma());
    } else if (stream_.accept_dotted("alias")) {
      alias();
    } else if (!declarations_.skip_debug()) {
      variable_or_function();
    }
  }

  void address_size() {
    const uint64_t bits = stream_.integer("32 or 64");
    if (bits != 32 && bits != 64) stream_.fail(".address_size must be 32 or 64");
    module_.address_size = static_cast<uint32_t>(bits);
  }

  void alias() {
    Alias out;
    out.name = stream_.identifier("a function name");
    stream_.expect(",");
    out.target = stream_.identifier("a function name");
    stream_.expect(";");
    module_.items.emplace_back(std::move(out));
  }

  void variable_or_function() {
    const SourceLine line{stream_.peek().line};
    const Linkage linkage = declarations_.linkage();
    if (stream_.peek().is_dotted("entry") || stream_.peek().is_dotted("func")) {
      module_.items.emplace_back(function(linkage, line));
      return;
    }
    Declaration declared = declarations_.variables(linkage);
    for (auto& variable : declared.variables) module_.items.emplace_back(std::move(variable));
  }

  Function function(const Linkage& linkage, SourceLine line) {
    Function out;
    out.line = line;
    out.linkage = linkage.word;
    out.attributes = linkage.attributes;
    out.is_entry = stream_.take().text == "entry";
    out.attributes += declarations_.linkage().attributes;
    if (!out.is_entry && stream_.peek().is("(")) out.returns = declarations_.parameter_list();
    out.name = stream_.identifier("a function name");
    if (stream_.peek().is("(")) out.params = declarations_.parameter_list();
    out.directives = declarations_.directives();
    if (stream_.accept(";")) return out;
    out.has_body = true;
    if (stream_.expect("{")) out.body = statements_.body();
    return out;
  }

  TokenStream stream_;
  DeclarationParser declarations_;
  StatementParser statements_;
  Module module_;
};

}  // namespace

Result<Module> parse(std::string_view text) {
  return ModuleParser(text).run();
}

}  // namespace gacer::ptx
