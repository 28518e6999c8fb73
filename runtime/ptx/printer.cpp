// SPDX-License-Identifier: Apache-2.0
#include "runtime/ptx/printer.h"

namespace gacer::ptx {
namespace {

class Printer {
 public:
  std::string module(const Module& m) {
    out_ += ".version " + m.version + "\n.target ";
    comma_list(m.target, [this](const std::string& t) { out_ += t; });
    out_ += "\n.address_size " + std::to_string(m.address_size) + "\n\n";
    for (const auto& item : m.items) std::visit([this](const auto& node) { top(node); }, item);
    return std::move(out_);
  }

  std::string single(const Instruction& i) {
    instruction(i);
    return std::move(out_);
  }

 private:
  template <typename List, typename Each>
  void comma_list(const List& list, Each each) {
    bool first = true;
    for (const auto& element : list) {
      if (!first) out_ += ", ";
      first = false;
      each(element);
    }
  }

  void indent() { out_.append(level_, '\t'); }
  void dotted(std::string_view word) {
    if (!word.empty()) (out_ += '.').append(word) += ' ';
  }

  void top(const Variable& v) { variable(v), out_ += ";\n"; }
  void top(const Directive& d) { directive(d), out_ += "\n"; }
  void top(const Alias& a) { out_ += ".alias " + a.name + ", " + a.target + ";\n"; }
  void top(const Function& f) {
    attributes(f.linkage, f.attributes);
    out_ += f.is_entry ? ".entry " : ".func ";
    if (!f.returns.empty()) params(f.returns), out_ += ' ';
    out_ += f.name;
    params(f.params);
    out_ += '\n';
    for (const auto& d : f.directives) directive(d), out_ += '\n';
    if (!f.has_body) {
      out_ += ";\n";
      return;
    }
    scope(f.body);
  }

  void attributes(const std::string& linkage, const std::string& attribute) {
    dotted(linkage);
    if (!attribute.empty()) out_ += ".attribute(" + attribute + ") ";
  }

  void params(const std::vector<Variable>& list) {
    out_ += '(';
    comma_list(list, [this](const Variable& v) { out_ += "\n\t", variable(v); });
    out_ += ')';
  }

  void directive(const Directive& d) {
    out_ += '.' + d.name + ' ';
    const bool quoted = d.name == "pragma";
    comma_list(d.arguments, [&](const std::string& a) { out_ += quoted ? '"' + a + '"' : a; });
    if (quoted) out_ += ';';
  }

  void variable(const Variable& v) {
    attributes(v.linkage, v.attributes);
    dotted(space_name(v.space));
    if (v.align != 0) out_ += ".align " + std::to_string(v.align) + ' ';
    if (v.vector != 1) out_ += ".v" + std::to_string(v.vector) + ' ';
    dotted(type_name(v.type));
    if (v.is_pointer) pointer(v);
    out_ += v.name;
    if (v.count) out_ += '<' + std::to_string(*v.count) + '>';
    for (uint64_t dim : v.dims) out_ += dim == 0 ? "[]" : '[' + std::to_string(dim) + ']';
    if (v.initial) out_ += " = ", initializer(*v.initial);
  }

  void pointer(const Variable& v) {
    out_ += ".ptr ";
    dotted(space_name(v.pointee));
    if (v.pointee_align != 0) out_ += ".align " + std::to_string(v.pointee_align) + ' ';
  }

  void initializer(const Initializer& i) {
    if (i.kind == Initializer::Kind::kList) {
      out_ += '{';
      comma_list(i.elements, [this](const Initializer& e) { initializer(e); });
      out_ += '}';
      return;
    }
    if (i.kind == Initializer::Kind::kImmediate || i.masked) out_ += i.value.spelling;
    if (i.kind == Initializer::Kind::kImmediate) return;
    if (i.masked) out_ += '(';
    out_ += i.generic ? "generic(" + i.symbol + ')' : i.symbol;
    if (i.offset) out_ += i.offset->spelling;
    if (i.masked) out_ += ')';
  }

  void scope(const std::vector<Statement>& body) {
    indent(), out_ += "{\n";
    ++level_;
    for (const auto& s : body) std::visit([this](const auto& node) { statement(node); }, s.node);
    --level_;
    indent(), out_ += "}\n";
  }

  void statement(const Scope& s) { scope(s.body); }
  void statement(const Label& l) { out_ += l.name + ":\n"; }
  void statement(const Instruction& i) { indent(), instruction(i), out_ += '\n'; }
  void statement(const Directive& d) { indent(), directive(d), out_ += '\n'; }
  void statement(const TargetList& t) {
    out_ += t.name + (t.calls ? ": .calltargets " : ": .branchtargets ");
    comma_list(t.targets, [this](const std::string& name) { out_ += name; });
    out_ += ";\n";
  }
  void statement(const Prototype& p) {
    out_ += p.name + ": .callprototype ";
    if (!p.returns.empty()) params(p.returns);
    out_ += " _ ";
    params(p.params);
    for (const auto& d : p.directives) out_ += ' ', directive(d);
    out_ += ";\n";
  }
  // One declaration for all: they share everything before the name.
  void statement(const Declaration& d) {
    indent(), variable(d.variables.front());
    for (size_t i = 1; i < d.variables.size(); ++i) {
      Variable rest;
      rest.name = d.variables[i].name;
      rest.count = d.variables[i].count;
      rest.dims = d.variables[i].dims;
      rest.initial = d.variables[i].initial;
      out_ += ", ", variable(rest);
    }
    out_ += ";\n";
  }

  void instruction(const Instruction& i) {
    if (i.guard) out_ += (i.guard->negated ? "@!" : "@") + i.guard->predicate + ' ';
    out_ += i.opcode;
    for (const auto& m : i.modifiers) out_ += '.' + m;
    if (!i.operands.empty()) out_ += ' ';
    comma_list(i.operands, [this](const Operand& o) { operand(o); });
    out_ += ';';
  }

  // "a+4" and "a+-4": the spelling of an offset brings its own first sign.
  void offset(const Operand& o) {
    if (o.offset) out_ += o.offset->spelling;
  }

  void operand(const Operand& o) {
    switch (o.kind) {
      case Operand::Kind::kName:
        if (o.negated) out_ += '!';
        out_ += o.name;
        if (!o.second.empty()) out_ += '|' + o.second;
        if (o.subscript) out_ += '[' + o.subscript->spelling + ']';
        return offset(o);
      case Operand::Kind::kImmediate:
        return offset(o);
      case Operand::Kind::kAddress:
        out_ += '[' + o.name;
        offset(o);
        if (!o.elements.empty()) out_ += ", ";
        return elements(o, ']');
      case Operand::Kind::kVector:
        out_ += '{';
        elements(o, '}');
        if (!o.second.empty()) out_ += '|' + o.second;
        return;
      case Operand::Kind::kTuple:
        out_ += '(';
        return elements(o, ')');
    }
  }

  void elements(const Operand& o, char close) {
    comma_list(o.elements, [this](const Operand& e) { operand(e); });
    out_ += close;
  }

  std::string out_;
  size_t level_ = 0;
};

}  // namespace

std::string print(const Module& module) {
  return Printer().module(module);
}
std::string print(const Instruction& instruction) {
  return Printer().single(instruction);
}

}  // namespace gacer::ptx
