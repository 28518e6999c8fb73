// SPDX-License-Identifier: Apache-2.0
// The syntax tree of one PTX module: complete enough that print(parse(text)) parses to an equal
// tree.
//
//   Module -> Variable*, Function*; Function -> Statement*; Statement -> Instruction | Label | ...
//   | Scope
//
// Plain values, compared member by member; source lines never take part in a comparison. Debug
// information
// (.loc, .file, .section) is dropped by the parser. Not thread-safe beyond what plain values are.
// Source: PTX ISA 9.0, https://docs.nvidia.com/cuda/parallel-thread-execution/
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace gacer::ptx {

// Where a node began in the text; all lines compare equal.
struct SourceLine {
  uint32_t number = 0;
  friend bool operator==(SourceLine, SourceLine) { return true; }
};

enum class Type : uint8_t {
  kNone,
  kPred,
  kB8,
  kB16,
  kB32,
  kB64,
  kB128,
  kU8,
  kU16,
  kU32,
  kU64,
  kS8,
  kS16,
  kS32,
  kS64,
  kF16,
  kF16x2,
  kBf16,
  kBf16x2,
  kTf32,
  kE4m3x2,
  kE5m2x2,
  kF32,
  kF64,
  kTexref,
  kSamplerref,
  kSurfref,
};
// nullopt: `spelling` (without the dot) names no type.
std::optional<Type> type_from(std::string_view spelling);
std::string_view type_name(Type type);
uint32_t type_bytes(Type type);  // 0 for kNone and kPred
bool is_signed(Type type);
bool is_float(Type type);

enum class Space : uint8_t { kNone, kReg, kGlobal, kConst, kShared, kLocal, kParam };
std::optional<Space> space_from(std::string_view spelling);
std::string_view space_name(Space space);

// A literal: the value and how it was spelt (a constant expression keeps its tokens).
struct Immediate {
  enum class Kind : uint8_t { kInteger, kFloat32, kFloat64 };  // 0f..., 0d... and decimal
  Kind kind = Kind::kInteger;
  uint64_t bits = 0;     // two's complement, or the IEEE bits
  std::string spelling;  // never empty for a literal that was written
  bool operator==(const Immediate&) const = default;
  double as_double() const;  // any kind
};

struct Operand {
  enum class Kind : uint8_t {
    kName,  // register, symbol, label, "_", "%tid.x"; symbol may carry an offset
    kImmediate,
    kAddress,  // [name + offset], [immediate] (name empty), [name, elements...]
    kVector,   // {a, b}
    kTuple,    // (a, b), calls only
  };
  Kind kind = Kind::kName;
  bool negated = false;  // !p
  std::string name;
  std::string second;                  // q of p|q and {a, b}|q
  std::optional<Immediate> offset;     // of kName and kAddress; the value of kImmediate
  std::optional<Immediate> subscript;  // a[2]: the address of an array's element
  std::vector<Operand> elements;
  bool operator==(const Operand&) const;
};

struct Guard {
  std::string predicate;
  bool negated = false;
  bool operator==(const Guard&) const = default;
};

struct Instruction {
  std::optional<Guard> guard;
  std::string opcode;                  // "ld"
  std::vector<std::string> modifiers;  // "global", "v4", "f32": in order, without dots
  std::vector<Operand> operands;
  SourceLine line;
  bool operator==(const Instruction&) const = default;
  bool has(std::string_view modifier) const;
};

struct Initializer {
  enum class Kind : uint8_t { kImmediate, kSymbol, kList };
  Kind kind = Kind::kImmediate;
  Immediate value;       // kImmediate; the mask of mask(symbol)
  bool generic = false;  // generic(symbol)
  bool masked = false;   // 0xFF00(symbol)
  std::string symbol;
  std::optional<Immediate> offset;
  std::vector<Initializer> elements;
  bool operator==(const Initializer&) const;
};

struct Variable {
  std::string linkage;     // "", "extern", "visible", "weak", "common"
  std::string attributes;  // text inside .attribute(...), empty if none
  Space space = Space::kNone;
  uint32_t align = 0;   // 0: not given
  uint32_t vector = 1;  // 2, 4, 8 for .v2 ...
  Type type = Type::kNone;
  std::string name;               // "_" in prototypes
  std::optional<uint32_t> count;  // %r<N>
  std::vector<uint64_t> dims;     // 0: []
  bool is_pointer = false;        // .ptr of an entry parameter
  Space pointee = Space::kNone;
  uint32_t pointee_align = 0;
  std::optional<Initializer> initial;
  SourceLine line;
  bool operator==(const Variable&) const = default;
  // Size in bytes of the whole variable, nullopt when it overflows or is unsized.
  std::optional<uint64_t> bytes() const;
  uint32_t natural_align() const;  // `align` if given, else that of the element
};

struct Directive {   // .maxntid 128, 1, 1   .pragma "nounroll"
  std::string name;  // without the dot
  std::vector<std::string> arguments;
  bool operator==(const Directive&) const = default;
};

struct Label {
  std::string name;
  bool operator==(const Label&) const = default;
};

struct Declaration {
  std::vector<Variable> variables;
  bool operator==(const Declaration&) const = default;
};

struct TargetList {  // name: .branchtargets a, b;  or .calltargets
  std::string name;
  bool calls = false;
  std::vector<std::string> targets;
  bool operator==(const TargetList&) const = default;
};

struct Prototype {  // name: .callprototype (ret) _ (params);
  std::string name;
  std::vector<Variable> returns;
  std::vector<Variable> params;
  std::vector<Directive> directives;
  bool operator==(const Prototype&) const = default;
};

struct Statement;
struct Scope {
  std::vector<Statement> body;
  friend bool operator==(const Scope&, const Scope&);
};

struct Statement {
  std::variant<Instruction, Label, Declaration, TargetList, Prototype, Directive, Scope> node;
  bool operator==(const Statement&) const = default;
};

struct Function {
  std::string linkage;
  std::string attributes;
  bool is_entry = false;
  std::string name;
  std::vector<Variable> returns;
  std::vector<Variable> params;
  std::vector<Directive> directives;
  bool has_body = false;
  std::vector<Statement> body;
  SourceLine line;
  bool operator==(const Function&) const = default;
  const Directive* directive(std::string_view directive_name) const;
};

struct Alias {  // .alias a, b;
  std::string name, target;
  bool operator==(const Alias&) const = default;
};

struct Module {
  std::string version;              // "9.0"
  std::vector<std::string> target;  // "sm_75", options
  uint32_t address_size = 64;
  // In source order, because declarations must precede uses.
  std::vector<std::variant<Variable, Function, Directive, Alias>> items;
  bool operator==(const Module&) const = default;
};

}  // namespace gacer::ptx
