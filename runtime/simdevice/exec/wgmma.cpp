// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/exec/wgmma.h"

#include <bit>
#include <cstring>

#include "runtime/simdevice/exec/matrix.h"
#include "runtime/simdevice/exec/warp.h"

namespace gacer::simdevice {
namespace {

struct alignas(64) LaneWords {
  uint32_t at[kLanes] = {};
};

// One operand in shared memory.
class SharedMatrix {
 public:
  SharedMatrix(uint64_t descriptor, uint32_t element_bytes, bool transposed)
      : start_((descriptor & 0x3fff) << 4),
        leading_((descriptor >> 16 & 0x3fff) << 4),
        stride_((descriptor >> 32 & 0x3fff) << 4),
        element_(element_bytes),
        transposed_(transposed) {
    constexpr uint32_t kRows[] = {0, 128, 64, 32};
    row_ = kRows[descriptor >> 62];
    has_base_offset_ = (descriptor >> 49 & 7) != 0;
  }
  bool has_base_offset() const { return has_base_offset_; }

  // m: row of A or column of B.
  uint64_t address(uint32_t m, uint32_t k) const {
    const uint64_t address = start_ + (transposed_ ? by_m(m, k) : by_k(m, k));
    const uint32_t swizzled = row_ == 0 ? 0 : row_ / 16 - 1;  // 7, 3, 1
    return address ^ ((address >> 7 & swizzled) << 4);
  }

 private:
  uint64_t by_k(uint32_t m, uint32_t k) const {
    const uint32_t t = 16 / element_;
    if (row_ == 0) return m % 8 * 16 + m / 8 * stride_ + k % t * element_ + k / t * leading_;
    return m % 8 * row_ + m / 8 * stride_ + k * element_;
  }
  uint64_t by_m(uint32_t m, uint32_t k) const {
    const uint32_t t = (row_ == 0 ? 16 : row_) / element_;
    if (row_ == 0) return m % t * element_ + m / t * stride_ + k % 8 * 16 + k / 8 * leading_;
    return m % t * element_ + m / t * leading_ + k % 8 * row_ + k / 8 * stride_;
  }

  uint64_t start_, leading_, stride_;
  uint32_t element_, row_ = 0;
  bool transposed_, has_base_offset_ = false;
};

// Bytes of an element as fragments hold it: kB1 are words.
uint32_t held_bytes(MatrixType type) {
  return 4 / elements_per_register(type);
}

class Product {
 public:
  Product(Warp& warp, const Insn& in)
      : warp_(warp),
        in_(in),
        form_(*std::bit_cast<const MatrixForm*>(in.imm)),
        list_(warp.frame().code->lists.data() + in.list.first) {}

  bool run() {
    if (!load_a()) return false;
    const uint32_t each = form_.d.registers;
    for (uint32_t i = 0; i * each < in_.list.defs; ++i)
      if (!multiply(i, each)) return false;
    return true;
  }

 private:
  // Fills the registers of a fragment; f(place): row of A or column of B, and k.
  template <typename F>
  bool gather(const Fragment& fragment, const SharedMatrix& from, LaneWords* to, F f) {
    const uint32_t bytes = held_bytes(fragment.type);
    const uint32_t count = kLanes * elements_per_register(fragment.type);
    BlockRun& block = warp_.block();
    for (uint32_t r = 0; r < fragment.registers; ++r)
      for (uint32_t i = 0; i < count; ++i) {
        const auto [m, k] = f(fragment.place[r * count + i]);
        const uint64_t at = from.address(m, k);
        if (at + bytes > block.shared_bytes())
          return warp_.fault(FaultKind::kIllegalAddress, in_, 0,
                             "a matrix descriptor leads outside the block's shared memory");
        std::memcpy(reinterpret_cast<uint8_t*>(to[r].at) + i * bytes, block.shared().data() + at,
                    bytes);
      }
    return true;
  }

  bool descriptor(Ref ref, bool transposed, MatrixType type, SharedMatrix& out) {
    out = SharedMatrix(warp_.lanes<uint64_t>(ref)[0], held_bytes(type), transposed);
    return !out.has_base_offset() ||
           warp_.fault(FaultKind::kUnsupported, in_, 0,
                       "matrix descriptors with a base offset are not supported");
  }

  bool load_a() {
    if ((in_.mode & kWgmmaRegisterA) != 0) {
      for (uint32_t i = 0; i < form_.a.registers; ++i)
        std::memcpy(a_[i].at, warp_.lanes<void>(list_[in_.list.defs + i]), sizeof(a_[i].at));
    } else {
      SharedMatrix from(0, 1, false);
      if (!descriptor(in_.a, (in_.mode & kWgmmaTransposedA) != 0, form_.a.type, from)) return false;
      const uint32_t first = warp_.first_thread() / kLanes % 4 * 16;
      if (!gather(form_.a, from, a_, [&](uint32_t place) {
            return std::pair{first + place / form_.depth, place % form_.depth};
          }))
        return false;
    }
    if ((in_.mode & kWgmmaNegated) != 0) negate_a();
    return true;
  }

  void negate_a() {
    const uint32_t bytes = held_bytes(form_.a.type);
    const uint32_t signs = bytes == 1 ? 0x80808080u : bytes == 2 ? 0x80008000u : 0x80000000u;
    for (uint32_t i = 0; i < form_.a.registers; ++i)
      for (uint32_t& word : a_[i].at) word ^= signs;
  }

  // Columns 8 i to 8 i + 7.
  bool multiply(uint32_t i, uint32_t each) {
    SharedMatrix from(0, 1, false);
    if (!descriptor(in_.b, (in_.mode & kWgmmaTransposedB) != 0, form_.b.type, from)) return false;
    if (!gather(form_.b, from, b_, [&](uint32_t place) {
          return std::pair{8 * i + place % 8, place / 8};
        }))
      return false;
    static const LaneWords zero;
    const bool adds = (*warp_.lanes<uint32_t>(in_.c) & 1) != (in_.c_negated ? 1u : 0u);
    MatrixJob job;
    job.form = &form_;
    for (uint32_t r = 0; r < form_.a.registers; ++r) job.a[r] = a_[r].at;
    for (uint32_t r = 0; r < form_.b.registers; ++r) job.b[r] = b_[r].at;
    for (uint32_t r = 0; r < each; ++r) {
      job.d[r] = warp_.lanes<void>(list_[i * each + r]);
      job.c[r] = adds ? job.d[r] : zero.at;
    }
    static const MatrixFn product = matrix_multiply();
    product(job);
    return true;
  }

  Warp& warp_;
  const Insn& in_;
  const MatrixForm& form_;
  const Ref* list_;
  LaneWords a_[kMatrixRegisters], b_[kMatrixRegisters];
};

}  // namespace

bool wgmma_handler(Warp& warp, const Insn& in, uint32_t mask) {
  return whole_warp(warp, in, mask) && Product(warp, in).run();
}

}  // namespace gacer::simdevice
