// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/image/ptx_rename.h"

#include <functional>
#include <set>
#include <type_traits>
#include <variant>

namespace gacer::simdevice {
namespace {

using Visit = std::function<void(std::string&)>;

void visit_operand(ptx::Operand& operand, const Visit& visit) {
  if (!operand.name.empty()) visit(operand.name);
  if (!operand.second.empty()) visit(operand.second);
  for (ptx::Operand& element : operand.elements) visit_operand(element, visit);
}

void visit_initializer(ptx::Initializer& initial, const Visit& visit) {
  if (!initial.symbol.empty()) visit(initial.symbol);
  for (ptx::Initializer& element : initial.elements) visit_initializer(element, visit);
}

void visit_body(std::vector<ptx::Statement>& body, const Visit& visit) {
  for (ptx::Statement& statement : body) {
    if (auto* instruction = std::get_if<ptx::Instruction>(&statement.node)) {
      for (ptx::Operand& operand : instruction->operands) visit_operand(operand, visit);
    } else if (auto* list = std::get_if<ptx::TargetList>(&statement.node)) {
      for (std::string& target : list->targets) visit(target);
    } else if (auto* declaration = std::get_if<ptx::Declaration>(&statement.node)) {
      for (ptx::Variable& variable : declaration->variables)
        if (variable.initial) visit_initializer(*variable.initial, visit);
    } else if (auto* scope = std::get_if<ptx::Scope>(&statement.node)) {
      visit_body(scope->body, visit);
    }
  }
}

void collect_declared(const std::vector<ptx::Statement>& body, std::set<std::string>& out) {
  for (const ptx::Statement& statement : body) {
    if (const auto* declaration = std::get_if<ptx::Declaration>(&statement.node)) {
      for (const ptx::Variable& variable : declaration->variables) out.insert(variable.name);
    } else if (const auto* label = std::get_if<ptx::Label>(&statement.node)) {
      out.insert(label->name);
    } else if (const auto* scope = std::get_if<ptx::Scope>(&statement.node)) {
      collect_declared(scope->body, out);
    }
  }
}

void visit_function(ptx::Function& function, const Visit& visit) {
  std::set<std::string> own;
  collect_declared(function.body, own);
  for (const auto* list : {&function.returns, &function.params})
    for (const ptx::Variable& variable : *list) own.insert(variable.name);
  visit_body(function.body, [&](std::string& name) {
    if (!own.contains(name)) visit(name);
  });
}

// Uses of module-scope names; `declared` sees the names of the declarations themselves.
void visit_module(ptx::Module& module, const Visit& used, const Visit& declared) {
  for (auto& item : module.items) {
    if (auto* variable = std::get_if<ptx::Variable>(&item)) {
      declared(variable->name);
      if (variable->initial) visit_initializer(*variable->initial, used);
    } else if (auto* function = std::get_if<ptx::Function>(&item)) {
      declared(function->name);
      visit_function(*function, used);
    } else if (auto* alias = std::get_if<ptx::Alias>(&item)) {
      used(alias->name);
      used(alias->target);
    }
  }
}

}  // namespace

void rename(ptx::Module& module, const std::map<std::string, std::string>& names) {
  const Visit replace = [&](std::string& name) {
    if (const auto found = names.find(name); found != names.end()) name = found->second;
  };
  visit_module(module, replace, replace);
}

bool mentions(const ptx::Module& module, const std::string& name) {
  bool found = false;
  // Nothing is changed.
  visit_module(
      const_cast<ptx::Module&>(module), [&](std::string& used) { found = found || used == name; },
      [](std::string&) {});
  return found;
}

}  // namespace gacer::simdevice
