// SPDX-License-Identifier: Apache-2.0
// One PTX function to pre-decoded code. Every instruction is either turned into code that does what
// the ISA says, or refused with its line and text.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/ptx/ast.h"
#include "runtime/simdevice/exec/code.h"
#include "runtime/simdevice/exec/lanes/lane_matrix.h"
#include "runtime/simdevice/exec/lower/module_symbols.h"

namespace gacer::simdevice {

struct MatrixSpec;
struct MatrixTile;
struct TextureOp;
struct SurfaceOp;

struct KernelNeeds {
  uint64_t shared_bytes = 0;  // static
  uint64_t special_used = 0;
  bool module_shared = false;  // module-scope shared variables are used, here or maybe in a callee
  bool dynamic_shared = false;
  bool grid_barrier = false;
  bool prints = false;
  bool heap = false;
  bool calls = false;  // functions, which may need more
};

class FunctionLowering {
 public:
  FunctionLowering(ModuleSymbols& module, const ptx::Function& source, FunctionCode& out,
                   KernelNeeds& needs);
  Status run();

 private:
  using Instruction = ptx::Instruction;
  using Operand = ptx::Operand;

  // ---- names
  enum class SymbolKind : uint8_t {
    kRegister,
    kWideRegister,  // 128 bits: a pair of 64-bit registers, see wide_half()
    kShared,
    kDynamicShared,
    kFrame,
    kParam,
    kGlobal,
    kFunction
  };
  struct Symbol {
    SymbolKind kind = SymbolKind::kRegister;
    uint32_t index = 0;   // virtual register, global, function
    uint64_t offset = 0;  // shared, frame memory, parameter
    uint32_t bytes = 0;
    uint32_t element = 1;  // bytes of an array's element
  };
  struct Family {
    std::string prefix;
    uint32_t count = 0;
    uint8_t bits = 0;
  };
  struct Scope {
    std::unordered_map<std::string, Symbol> names;
    std::vector<Family> families;
    std::unordered_map<std::string, uint32_t> labels;
    std::unordered_map<std::string, const ptx::TargetList*> target_lists;
  };
  bool declare(const ptx::Variable& variable);
  bool declare_register(const ptx::Variable& variable);
  bool declare_memory(const ptx::Variable& variable);
  bool declare_params();
  const Symbol* find(const std::string& name);
  const Symbol* find_family_member(Scope& scope, const std::string& name);
  std::optional<uint32_t> find_label(const std::string& name) const;
  uint32_t new_register(uint32_t bits);
  void declare_vector(Scope& scope, const ptx::Variable& v, uint32_t bits);
  void expand_vectors(Instruction& in);
  const Symbol* declare_register_name(Scope& scope, const std::string& name, uint32_t bits);
  Ref temp(uint32_t bits) { return Ref::make(Bank::kFrame, new_register(bits)); }
  uint32_t bits_of(Ref ref) const;  // of a frame register

  // ---- statements and blocks
  bool statements(const std::vector<ptx::Statement>& body);
  void collect_labels(const std::vector<ptx::Statement>& body, Scope& scope);
  bool statement(const ptx::Instruction& instruction);
  bool statement(const ptx::Label& label);
  bool statement(const ptx::Declaration& declaration);
  bool statement(const ptx::TargetList&) { return true; }
  bool statement(const ptx::Prototype&) { return true; }
  bool statement(const ptx::Directive&) { return true; }
  bool statement(const ptx::Scope& scope);
  bool dispatch(const Instruction& in);
  void begin_block();
  BasicBlock& block() { return out_.blocks.back(); }
  BasicBlock& end_block(Terminator term);
  uint32_t new_label() {
    return label_blocks_.push_back(kNoBlock), static_cast<uint32_t>(label_blocks_.size() - 1);
  }
  void place(uint32_t label);
  void finish_blocks();

  // ---- operands
  bool fail(const Instruction& in, const std::string& why);
  bool expect_operands(const Instruction& in, size_t least, size_t most);
  Ref source(const Operand& operand, uint32_t bits, bool is_float);
  Ref name_source(const Operand& operand, uint32_t bits);
  // Bytes beyond the symbol: "a+8", "a[2]".
  static int64_t addend_of(const Operand& operand, const Symbol& symbol);
  Ref address_constant(const Symbol& symbol, int64_t addend, uint32_t bits);
  Ref constant(uint64_t value, uint32_t bits) { return module_.pool.constant(value, bits); }
  Ref immediate(const ptx::Immediate& value, uint32_t bits, bool is_float);
  Ref destination(const Operand& operand, uint32_t bits);
  Ref predicate(const std::string& name);
  Ref special(std::string_view name, uint32_t bits);
  std::optional<uint64_t> literal(const Operand& operand) const;
  // Register, special or immediate of any width: its width, 0 if unknown.
  uint32_t width_of(const Operand& operand);
  struct Address {
    Ref base;
    bool wide = true;
    int64_t offset = 0;
    std::optional<MemSpace> space;  // that of the symbol
  };
  std::optional<Address> address(const Operand& operand);

  // ---- emitting
  Insn& emit(const Instruction& in);
  Insn& emit_handler(const Instruction& in, Handler handler);
  bool emit_lane(const Instruction& in, const std::string& name, Ref dst,
                 std::initializer_list<Ref> sources);
  void count_pipe(Pipe pipe);
  // Warp-wide operations stand alone in their block, so that a parked node can run them again.
  void isolate();
  uint32_t add_list(std::initializer_list<Ref> refs);

  // ---- instruction families
  bool lower_lane(const Instruction& in);
  bool lower_mov(const Instruction& in);
  bool move_special(const Instruction& in, Ref dst, uint32_t bits);
  bool move_dynamic_shared(const Instruction& in, const Symbol& symbol, Ref dst, uint32_t bits);
  bool move_frame_address(const Instruction& in, const Symbol& symbol, Ref dst, uint32_t bits);
  bool is_wide(const Operand& operand);
  // The operand that names half 0 or 1 (the upper one) of a 128-bit register.
  static Operand wide_half(const Operand& operand, int half);
  bool lower_wide_mov(const Instruction& in);
  // ld.b128 and st.b128 as vectors of two.
  bool lower_wide_memory(const Instruction& in);
  bool lower_pack(const Instruction& in, uint32_t bits);
  bool lower_unpack(const Instruction& in, uint32_t bits);
  Ref pack(const Instruction& in, const std::vector<Ref>& parts, uint32_t part_bits);
  void unpack(const Instruction& in, Ref from, uint32_t bits, std::vector<Ref>& parts,
              uint32_t part_bits);
  Ref predicate_operand(const Operand& operand);
  bool lower_predicate_logic(const Instruction& in);
  bool lower_setp(const Instruction& in);
  bool lower_set(const Instruction& in);
  Ref set_mask(const Instruction& in, ptx::Type type, const std::string& row,
               std::optional<BoolOp> bool_op);
  bool lower_lop3(const Instruction& in);
  bool lower_testp(const Instruction& in);
  bool lower_carry(const Instruction& in);
  bool lower_cvt(const Instruction& in);
  bool convert_int(const Instruction& in, ptx::Type to, ptx::Type from);
  bool convert_to_float(const Instruction& in, ptx::Type to, ptx::Type from);
  bool convert_from_float(const Instruction& in, ptx::Type to, ptx::Type from);
  bool convert_float(const Instruction& in, ptx::Type to, ptx::Type from);
  bool convert_packed(const Instruction& in, ptx::Type to);
  bool convert_eight_bit(const Instruction& in, ptx::Type to, ptx::Type from);
  Ref to_container(const Instruction& in, const Operand& operand, ptx::Type type);
  bool from_container(const Instruction& in, Ref container, const Operand& operand, ptx::Type type);
  bool lower_cvta(const Instruction& in);
  bool lower_isspacep(const Instruction& in);
  bool lower_is_constant(const Instruction& in);
  bool lower_load(const Instruction& in);
  bool lower_store(const Instruction& in);
  bool memory_operands(const Instruction& in, const Operand& data, const Operand& where,
                       bool is_store);
  bool lower_atomic(const Instruction& in);
  bool lower_cp_async(const Instruction& in);
  bool lower_matrix_load(const Instruction& in);
  bool lower_mma(const Instruction& in);
  bool lower_wmma(const Instruction& in);
  bool lower_wmma_product(const Instruction& in);
  bool lower_wmma_move(const Instruction& in);
  bool lower_move_matrix(const Instruction& in);
  bool lower_wgmma(const Instruction& in);
  bool emit_wgmma(const Instruction& in, const MatrixSpec& spec, const MatrixForm& form);
  bool wgmma_flags(const Instruction& in, MatrixType type, uint8_t& mode);
  bool scale_of(const Operand& operand, bool& negated);
  bool emit_product(const Instruction& in, const MatrixSpec& spec);
  bool emit_tile_move(const Instruction& in, const MatrixTile& tile, bool by_column,
                      std::optional<bool> is_shared, bool is_store, uint32_t bits);
  bool fragment_registers(const Instruction& in, const Operand& operand, uint32_t count,
                          uint32_t bits, bool is_write, bool is_float);
  bool lower_texture(const Instruction& in);
  bool lower_texture_query(const Instruction& in);
  bool lower_texture_type(const Instruction& in);
  bool lower_surface(const Instruction& in);
  bool check_surface(const Instruction& in, SurfaceOp& op, std::string_view type);
  bool emit_texture(const Instruction& in, TextureOp op, bool layer, size_t written);
  bool emit_surface(const Instruction& in, const SurfaceOp& op, size_t coordinates, size_t written);
  Ref texture_handle(const Operand& operand, size_t elements);
  bool vector_registers(const Instruction& in, const Operand& operand, size_t used, size_t written,
                        uint32_t bits, bool is_float);
  bool lower_branch(const Instruction& in);
  bool lower_switch(const Instruction& in);
  void begin_guarded(uint32_t& around);
  void end_guarded(uint32_t around);
  bool lower_call(const Instruction& in);
  bool lower_plain_call(const Instruction& in);
  static std::string slot_of(const std::string& name) { return name + ".slot"; }
  bool move_param(const Instruction& in, bool is_store, const std::string& slot,
                  const Operand& value, uint32_t bytes);
  bool receive_register_params();
  bool send_register_results(const Instruction& in);
  bool hide_operands(const Instruction& in, Operand& tuple,
                     const std::vector<ptx::Variable>* declared, bool are_results);
  bool call_arguments(const Instruction& in, const Operand& tuple, std::vector<ParamSlot>& out);
  bool lower_builtin_call(const Instruction& in, const std::string& name, const CallSite& site);
  bool lower_exit(const Instruction& in);
  bool lower_trap(const Instruction& in);
  bool lower_barrier(const Instruction& in);
  bool lower_warp_barrier(const Instruction& in);
  bool lower_shuffle(const Instruction& in);
  bool lower_vote(const Instruction& in);
  bool lower_match(const Instruction& in);
  bool lower_redux(const Instruction& in);
  bool lower_activemask(const Instruction& in);
  Ref whole_address(const Instruction& in, const Operand& operand);
  Ref wide_number(const Instruction& in, const Operand& operand);
  Insn* emit_list(const Instruction& in, Handler handler, const std::vector<Ref>& uses);
  bool emit_mbarrier(const Instruction& in, uint8_t op, Ref dst, const std::vector<Ref>& uses);
  bool lower_mbarrier(const Instruction& in);
  bool lower_mbarrier_test(const Instruction& in);
  bool lower_mbarrier_arrive(const Instruction& in);
  bool lower_pending_count(const Instruction& in);
  bool lower_cp_async_arrive(const Instruction& in);
  bool lower_bulk(const Instruction& in);
  bool bulk_reduction(const Instruction& in, ElementUpdateFn& element, uint32_t& bytes);
  bool lower_cluster_address(const Instruction& in);
  bool lower_cluster_barrier(const Instruction& in);
  bool lower_vector_atomic(const Instruction& in);
  bool lower_fence(const Instruction& in);
  bool lower_policy(const Instruction& in);
  bool lower_sleep(const Instruction& in);
  bool lower_nothing(const Instruction&) { return true; }
  struct OpcodeRow;
  static const OpcodeRow kOpcodes[];

  ModuleSymbols& module_;
  const ptx::Function& source_;
  FunctionCode& out_;
  KernelNeeds& needs_;
  std::vector<Scope> scopes_;
  std::vector<uint32_t> label_blocks_;
  uint64_t frame_memory_ = 0;  // .local and .param variables of one thread
  Ref carry_;                  // the condition code register, 0 or 1 a lane
  Ref guard_;                  // of the instruction being lowered
  bool guard_negated_ = false;
  bool has_vectors_ = false;
  std::string error_;
};

// Immediate post-dominators: BasicBlock::rejoin.
void find_rejoin_points(FunctionCode& fn);
// BasicBlock::chain and clocks, from which results an instruction waits for. Before registers are
// allocated.
void find_chains(FunctionCode& fn);
// Virtual registers to frame offsets; live_regs; cleared.
bool allocate_registers(FunctionCode& fn);

}  // namespace gacer::simdevice
