// SPDX-License-Identifier: Apache-2.0
// What a module's functions refer to: its variables, functions and constants, with their places.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/ptx/ast.h"
#include "runtime/simdevice/exec/code.h"
#include "runtime/simdevice/exec/program.h"

namespace gacer::simdevice {

// A pool constant that is the address of a global plus something; known at bind_globals().
struct PoolAddress {
  uint32_t offset = 0;  // bytes, in the pool
  uint32_t global = 0;
  int64_t addend = 0;
};

class ConstantPool {
 public:
  // `bits` is 16, 32 or 64.
  Ref constant(uint64_t value, uint32_t bits);
  Ref global_address(uint32_t global, int64_t addend);
  const std::vector<uint64_t>& words() const { return words_; }
  const std::vector<PoolAddress>& addresses() const { return addresses_; }
  bool full() const { return words_.size() * 8 > Ref::kOffsetMask - 512; }

 private:
  uint32_t append(uint64_t value, uint32_t bits);
  std::vector<uint64_t> words_;
  std::map<std::pair<uint64_t, uint32_t>, uint32_t> known_;
  std::map<std::pair<uint32_t, int64_t>, uint32_t> known_addresses_;
  std::vector<PoolAddress> addresses_;
};

struct SharedSymbol {
  uint64_t offset = 0;
  bool dynamic = false;  // extern: begins after the static shared memory of the kernel
  uint32_t element = 1;  // bytes of an array's element
};

struct ModuleSymbols {
  std::vector<GlobalInfo> globals;
  std::unordered_map<std::string, uint32_t> global_index;
  std::vector<uint32_t> global_element;  // bytes of an array's element
  std::unordered_map<std::string, SharedSymbol> shared;
  uint64_t shared_bytes = 0;  // of module-scope static shared variables
  uint32_t dynamic_align = 16;
  std::unordered_map<std::string, uint32_t> function_index;
  std::vector<const ptx::Function*> functions;  // a definition where there is one
  ConstantPool pool;
};

// Lays out variables and numbers functions. Refuses what cannot be placed.
Status collect_symbols(const ptx::Module& module, ModuleSymbols& out);

// ISA rules for entry and function parameters: each at its natural alignment.
Status layout_params(const std::vector<ptx::Variable>& params, std::vector<ParamSlot>& slots,
                     uint32_t& end);

}  // namespace gacer::simdevice
