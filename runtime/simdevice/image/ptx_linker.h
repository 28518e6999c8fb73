// SPDX-License-Identifier: Apache-2.0
// Joins several PTX modules into one, as nvlink does with what they compile to.
//   visible  one definition among all inputs; a second is an error
//   weak     the visible one if there is one, else the first; common: the largest
//   (none)   of its own input; renamed where another input has the name too
//   extern   must be defined by some input; unsized shared arrays are one
// Source: PTX ISA 9.0, "Linking Directives". Line numbers in later messages about the joined text
// are its own. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/ptx/ast.h"

namespace gacer::simdevice {

class PtxLinker {
 public:
  // The error names the line. `name`: of the input, for messages.
  Status add(std::string_view ptx, std::string_view name);
  // A name that machine code defines: no reference to it is undefined.
  void add_known_name(std::string name) { known_.insert(std::move(name)); }
  bool empty() const { return inputs_.empty(); }
  // One text; of a single input that needs nothing the very text that was added. The error has one
  // line for each problem, worded as nvlink words them.
  Result<std::string> finish() const;

 private:
  struct Input {
    std::string name;
    std::string text;
    ptx::Module module;
  };
  std::vector<Input> inputs_;
  std::set<std::string> known_;
};

}  // namespace gacer::simdevice
