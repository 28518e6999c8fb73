// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/image/ptx_linker.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <tuple>

#include "runtime/ptx/parser.h"
#include "runtime/ptx/printer.h"
#include "runtime/simdevice/image/ptx_rename.h"

namespace gacer::simdevice {
namespace {

using Item = std::variant<ptx::Variable, ptx::Function, ptx::Directive, ptx::Alias>;

// What the device offers to every module (PTX interoperability guide, system calls), and the device
// runtime, which the device answers by name where it can.
bool is_system_name(std::string_view name) {
  for (const std::string_view known : {"vprintf", "malloc", "free", "__assertfail"})
    if (name == known) return true;
  return name.substr(0, 4) == "cuda" || name.substr(0, 6) == "__cuda";
}

std::pair<int, int> version_of(std::string_view text) {
  int major = 0, minor = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, major);
  if (parsed.ptr != end) std::from_chars(parsed.ptr + 1, end, minor);
  return {major, minor};
}

int sm_of(const ptx::Module& module) {
  int sm = 0;
  if (!module.target.empty() && module.target[0].size() > 3)
    std::from_chars(module.target[0].data() + 3, module.target[0].data() + module.target[0].size(),
                    sm);
  return sm;
}

// A variable or function as the linker sees it.
struct Symbol {
  std::string name;
  std::string linkage;
  bool defines = false;
  bool is_unsized_shared = false;
};

std::optional<Symbol> symbol_of(const Item& item) {
  if (const auto* v = std::get_if<ptx::Variable>(&item)) {
    const bool unsized =
        v->linkage == "extern" && v->space == ptx::Space::kShared && !v->bytes().has_value();
    return Symbol{v->name, v->linkage, v->linkage != "extern", unsized};
  }
  if (const auto* f = std::get_if<ptx::Function>(&item))
    return Symbol{f->name, f->is_entry && f->linkage.empty() ? "visible" : f->linkage, f->has_body,
                  false};
  return std::nullopt;
}

// Ranks of definitions of one name: the highest is kept.
int rank(const Symbol& symbol) {
  if (symbol.linkage == "visible") return 3;
  if (symbol.linkage == "weak") return 2;
  return symbol.linkage == "common" ? 1 : 0;
}

uint64_t bytes_of(const Item& item) {
  const auto* v = std::get_if<ptx::Variable>(&item);
  return v == nullptr ? 0 : v->bytes().value_or(0);
}

class Join {
 public:
  Join(std::vector<ptx::Module> modules, std::vector<std::string> names,
       const std::set<std::string>& known)
      : modules_(std::move(modules)), names_(std::move(names)), known_(known) {}

  Result<ptx::Module> run() {
    rename_private_names();
    choose_definitions();
    ptx::Module out = header();
    for (size_t i = 0; i < modules_.size(); ++i)
      for (size_t k = 0; k < modules_[i].items.size(); ++k)
        if (keep(i, k)) out.items.push_back(modules_[i].items[k]);
    report_undefined();
    if (!problems_.empty()) return Error{EINVAL, problems_};
    return out;
  }

 private:
  struct Definition {
    size_t input = 0;
    size_t item = 0;
    Symbol symbol;
  };

  void rename_private_names() {
    std::map<std::string, size_t> users;  // in how many inputs a name occurs
    for (const ptx::Module& module : modules_) {
      std::set<std::string> own;
      for (const Item& item : module.items)
        if (const auto symbol = symbol_of(item)) own.insert(symbol->name);
      for (const std::string& name : own) ++users[name];
    }
    for (size_t i = 0; i < modules_.size(); ++i) {
      std::map<std::string, std::string> renamed;
      for (const Item& item : modules_[i].items) {
        const auto symbol = symbol_of(item);
        if (symbol && symbol->linkage.empty() && users[symbol->name] > 1)
          renamed[symbol->name] = fresh_name(symbol->name, i, users);
      }
      if (!renamed.empty()) rename(modules_[i], renamed);
    }
  }

  static std::string fresh_name(const std::string& name, size_t input,
                                const std::map<std::string, size_t>& users) {
    std::string fresh = name + "$" + std::to_string(input);
    while (users.contains(fresh)) fresh += "$";
    return fresh;
  }

  void choose_definitions() {
    for (size_t i = 0; i < modules_.size(); ++i)
      for (size_t k = 0; k < modules_[i].items.size(); ++k) {
        const auto symbol = symbol_of(modules_[i].items[k]);
        if (symbol && symbol->defines) choose({i, k, *symbol});
      }
  }

  void choose(Definition candidate) {
    const auto [found, fresh] = definitions_.emplace(candidate.symbol.name, candidate);
    if (fresh) return;
    Definition& kept = found->second;
    const int had = rank(kept.symbol), has = rank(candidate.symbol);
    if (had == has && had == 3) {
      problem("Multiple definition of '" + candidate.symbol.name + "' in '" +
              names_[candidate.input] + "', first defined in '" + names_[kept.input] + "'");
      return;
    }
    const bool larger = had == 1 && has == 1 && bytes_of(item(candidate)) > bytes_of(item(kept));
    if (has > had || larger) kept = std::move(candidate);
  }

  const Item& item(const Definition& at) const { return modules_[at.input].items[at.item]; }

  // Definitions that were chosen, one declaration of each function, and what has no name.
  bool keep(size_t input, size_t index) {
    const auto symbol = symbol_of(modules_[input].items[index]);
    if (!symbol) return true;
    const auto definition = definitions_.find(symbol->name);
    if (symbol->defines)
      return definition->second.input == input && definition->second.item == index;
    if (symbol->is_unsized_shared) return shared_.insert(symbol->name).second;
    if (definition != definitions_.end())
      // A forward declaration inside the input that defines it stays in front of its users.
      return std::holds_alternative<ptx::Function>(modules_[input].items[index]) &&
             declared_.insert(symbol->name).second;
    undefined_.emplace(symbol->name, input);
    return declared_.insert(symbol->name).second;
  }

  void report_undefined() {
    for (const auto& [name, input] : undefined_)
      if (!is_system_name(name) && !known_.contains(name) && is_used(name))
        problem("Undefined reference to '" + name + "' in '" + names_[input] + "'");
  }

  bool is_used(const std::string& name) const {
    return std::any_of(modules_.begin(), modules_.end(),
                       [&](const ptx::Module& module) { return mentions(module, name); });
  }

  ptx::Module header() const {
    ptx::Module out;
    const ptx::Module* newest = &modules_.front();
    for (const ptx::Module& module : modules_) {
      if (version_of(module.version) > version_of(newest->version)) newest = &module;
      if (out.target.empty() || sm_of(module) > sm_of(out)) out.target = module.target;
    }
    out.version = newest->version;
    out.address_size = newest->address_size;
    return out;
  }

  void problem(const std::string& what) {
    if (!problems_.empty()) problems_ += "\n";
    problems_ += "error   : " + what;
  }

  std::vector<ptx::Module> modules_;
  std::vector<std::string> names_;
  const std::set<std::string>& known_;
  std::map<std::string, Definition> definitions_;
  std::set<std::string> shared_, declared_;
  std::map<std::string, size_t> undefined_;
  std::string problems_;
};

}  // namespace

Status PtxLinker::add(std::string_view ptx, std::string_view name) {
  auto module = ptx::parse(ptx);
  if (!module) return module.error();
  inputs_.push_back({std::string(name), std::string(ptx), std::move(module).value()});
  return {};
}

Result<std::string> PtxLinker::finish() const {
  if (inputs_.empty()) return Error{EINVAL, "error   : nothing to link"};
  std::vector<ptx::Module> modules;
  std::vector<std::string> names;
  for (const Input& input : inputs_) {
    modules.push_back(input.module);
    names.push_back(input.name);
  }
  auto joined = Join(std::move(modules), std::move(names), known_).run();
  if (!joined) return joined.error();
  return inputs_.size() == 1 ? inputs_.front().text : ptx::print(*joined);
}

}  // namespace gacer::simdevice
