// SPDX-License-Identifier: Apache-2.0
// A device of plain host memory to run kernels on, and a bench for single instructions.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/simdevice/exec/program.h"

namespace gacer::simdevice::test {

inline constexpr const char* kHeader = ".version 8.0\n.target sm_80\n.address_size 64\n";

// Kernel parameters, one after the other at their natural alignment.
class Params {
 public:
  template <typename T>
  Params& add(const T& value) {
    const size_t at = (bytes_.size() + alignof(T) - 1) / alignof(T) * alignof(T);
    bytes_.resize(at + sizeof(T));
    std::memcpy(&bytes_[at], &value, sizeof(T));
    return *this;
  }
  const std::vector<uint8_t>& bytes() const { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
};

class Device {
 public:
  uint64_t allocate(size_t bytes);
  template <typename T>
  uint64_t upload(const std::vector<T>& values) {
    const uint64_t address = allocate(values.size() * sizeof(T));
    std::memcpy(host(address), values.data(), values.size() * sizeof(T));
    return address;
  }
  template <typename T>
  std::vector<T> download(uint64_t address, size_t count) {
    std::vector<T> out(count);
    std::memcpy(out.data(), host(address), count * sizeof(T));
    return out;
  }
  uint8_t* host(uint64_t address) { return buffers_.at(address).data(); }

  // Compiles, places the globals, patches relocations. Fails the test on an error.
  std::shared_ptr<Program> load(const std::string& ptx);
  // All blocks one after the other; the first fault ends it.
  Fault launch(Program& program, const std::string& kernel, LaunchShape shape, const Params& params,
               uint64_t budget = 0);
  AddressSpace space();
  BlockCounters counters;

 private:
  std::map<uint64_t, std::vector<uint8_t>> buffers_;
  uint64_t next_ = 0x7000'0000'0000ULL;
};

LaunchShape shape(uint32_t blocks, uint32_t threads, uint32_t dynamic_smem_bytes = 0);

// "" or the message of the only error.
std::string compile_error(const std::string& ptx, int target_sm = 80);

// ---- single instructions
// A body reads registers a16 a32 a64, b.., c.. (the low bits of three 64-bit inputs), af32 af64 ...
// hold the same bits, predicates pa pb (bit 0 of a and b), and leaves its result in d16, d32, d64
// or pd.
struct OpCase {
  const char* body;
  int bits;  // of the result: 1, 16, 32, 64
  std::function<uint64_t(uint64_t a, uint64_t b, uint64_t c)> expected;
  enum Compare {
    kExact,
    kHalf,
    kBf16,
    kFloat,
    kDouble,
    kFloatClose
  } compare = kExact;  // NaN equals NaN unless exact
};

// Runs a body on triples of inputs (three values each); the first result of a triple is that of all
// lanes, the second that of the body under a guard which only odd threads pass (kUntouched stays in
// the others).
struct OpResult {
  uint64_t plain = 0, guarded = 0;
};
inline constexpr uint64_t kUntouched = 0x5555555555555555ULL;
std::vector<OpResult> run_op(const std::string& body, int bits, std::vector<uint64_t> inputs);

// Inputs: all triples of `special` values that fit a moderate number, and random ones.
void check_op(const OpCase& op, const std::vector<uint64_t>& special);

template <typename To, typename From>
To as(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To out;
  std::memcpy(&out, &value, sizeof(out));
  return out;
}
inline float f32(uint64_t bits) {
  return as<float>(static_cast<uint32_t>(bits));
}
inline double f64(uint64_t bits) {
  return as<double>(bits);
}
inline uint64_t bits_of(float v) {
  return as<uint32_t>(v);
}
inline uint64_t bits_of(double v) {
  return as<uint64_t>(v);
}

// Half and bfloat16 by exact arithmetic on doubles, independent of the code under test.
double half_value(uint64_t bits);
double bf16_value(uint64_t bits);
uint64_t to_half(long double value);
uint64_t to_bf16(long double value);

std::vector<uint64_t> special_ints();
std::vector<uint64_t> special_floats();
std::vector<uint64_t> special_doubles();
std::vector<uint64_t> special_halves();  // in both halves of 32 bits

}  // namespace gacer::simdevice::test
