// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set, like lane_ops.cpp.
#include "runtime/simdevice/exec/lanes/lane_matrix.h"

#include "runtime/simdevice/exec/lanes/lane_math.h"

namespace gacer::simdevice {
namespace {

constexpr uint32_t kLanesHere = 32;

// Room for the largest forms: A 16x128 (sparse s4), B 128x8, C 16x16.
template <typename T>
struct Tile {
  T a[2048];
  T b[1024];
  T c[256];
};

float e5m2_to_float(uint8_t v) {
  return half_to_float(static_cast<uint16_t>(v << 8));
}

// One exponent bit less than a half, so scaled; there is no infinity.
float e4m3_to_float(uint8_t v) {
  const uint32_t magnitude = v & 0x7fu;
  const float value =
      half_to_float(static_cast<uint16_t>((v & 0x80u) << 8 | magnitude << 7)) * 256.0f;
  return magnitude == 0x7f ? kCanonicalNan32 : value;
}

int32_t nibble(const uint8_t* bytes, int i, bool sign) {
  const int32_t v = bytes[i / 2] >> (i % 2 * 4) & 15;
  return sign ? (v ^ 8) - 8 : v;
}

// Elements of one register of all lanes, in lane order.
template <typename T>
void widen(const void* reg, MatrixType type, T* out) {
  const uint16_t* halves = static_cast<const uint16_t*>(reg);
  const uint8_t* bytes = static_cast<const uint8_t*>(reg);
  const uint32_t* words = static_cast<const uint32_t*>(reg);
  switch (type) {
    case MatrixType::kF16:
      GACER_EACH_LANE(64) out[i] = static_cast<T>(half_to_float(halves[i]));
      return;
    case MatrixType::kBf16:
      GACER_EACH_LANE(64) out[i] = static_cast<T>(bf16_to_float(halves[i]));
      return;
    case MatrixType::kTf32:
      GACER_EACH_LANE(32) out[i] = static_cast<T>(bits_as<float>(words[i] & ~0x1fffu));
      return;
    case MatrixType::kF32:
      GACER_EACH_LANE(32) out[i] = static_cast<T>(static_cast<const float*>(reg)[i]);
      return;
    case MatrixType::kF64:
      GACER_EACH_LANE(32) out[i] = static_cast<T>(static_cast<const double*>(reg)[i]);
      return;
    case MatrixType::kE4m3:
      GACER_EACH_LANE(128) out[i] = static_cast<T>(e4m3_to_float(bytes[i]));
      return;
    case MatrixType::kE5m2:
      GACER_EACH_LANE(128) out[i] = static_cast<T>(e5m2_to_float(bytes[i]));
      return;
    case MatrixType::kS8:
      GACER_EACH_LANE(128) out[i] = static_cast<T>(static_cast<const int8_t*>(reg)[i]);
      return;
    case MatrixType::kU8:
      GACER_EACH_LANE(128) out[i] = static_cast<T>(bytes[i]);
      return;
    case MatrixType::kS4:
    case MatrixType::kU4:
      for (int i = 0; i < 256; ++i)
        out[i] = static_cast<T>(nibble(bytes, i, type == MatrixType::kS4));
      return;
    case MatrixType::kB1:
      GACER_EACH_LANE(32) out[i] = static_cast<T>(words[i]);
      return;
    case MatrixType::kS32:
      GACER_EACH_LANE(32) out[i] = static_cast<T>(static_cast<const int32_t*>(reg)[i]);
      return;
  }
}

template <typename T>
void load(const Fragment& fragment, const void* const* registers, T* tile) {
  const uint32_t count = kLanesHere * elements_per_register(fragment.type);
  const uint16_t* place = fragment.place;
  T row[8 * kLanesHere];
  for (uint32_t r = 0; r < fragment.distinct; ++r, place += count) {
    widen(registers[r], fragment.type, row);
    for (uint32_t i = 0; i < count; ++i) tile[place[i]] = row[i];
  }
}

// .satfinite of a floating-point result: NaN to +0, the rest within the finite values.
float to_finite(float v, float limit) {
  if (v != v) return 0;
  return v > limit ? limit : v < -limit ? -limit : v;
}

float as_float(float v) {
  return v;
}
template <typename T>
float as_float(T v) {
  return static_cast<float>(v);
}

template <typename T>
void store(const MatrixForm& form, void* const* registers, const T* tile) {
  const uint16_t* place = form.d.place;
  const uint32_t per = elements_per_register(form.d.type);
  for (uint32_t r = 0; r < form.d.registers; ++r, place += kLanesHere * per) {
    for (uint32_t i = 0; i < kLanesHere * per; ++i) {
      const T from = tile[place[i]];
      if (form.d.type == MatrixType::kF16) {
        const float v = as_float(from);
        static_cast<uint16_t*>(registers[r])[i] =
            float_to_half(form.finite ? to_finite(v, 65504.0f) : v);
      } else if (form.d.type == MatrixType::kF32) {
        const float v = as_float(from);
        static_cast<float*>(registers[r])[i] = form.finite ? to_finite(v, 0x1.fffffep127f) : v;
      } else if (form.d.type == MatrixType::kF64) {
        static_cast<double*>(registers[r])[i] = static_cast<double>(from);
      } else {
        static_cast<uint32_t*>(registers[r])[i] = static_cast<uint32_t>(from);
      }
    }
  }
}

template <typename A, typename B>
constexpr bool kSame = false;
template <typename A>
constexpr bool kSame<A, A> = true;

struct MulAdd {
  static float apply(float a, float b, float c) { return a * b + c; }
  static double apply(double a, double b, double c) { return __builtin_fma(a, b, c); }
  // Wraps like the signed sum, without its undefined overflow.
  static uint32_t apply(uint32_t a, uint32_t b, uint32_t c) { return a * b + c; }
  static int64_t apply(int64_t a, int64_t b, int64_t c) { return a * b + c; }
};
struct XorPopc {
  static uint32_t apply(uint32_t a, uint32_t b, uint32_t c) {
    return c + static_cast<uint32_t>(__builtin_popcount(a ^ b));
  }
};
struct AndPopc {
  static uint32_t apply(uint32_t a, uint32_t b, uint32_t c) {
    return c + static_cast<uint32_t>(__builtin_popcount(a & b));
  }
};

template <typename Op, typename T>
void multiply_tile(uint32_t rows, uint32_t columns, uint32_t depth, const T* a, const T* b, T* c) {
  for (uint32_t m = 0; m < rows; ++m)
    for (uint32_t n = 0; n < columns; n += 8) {
      T sum[8];
      T* row = c + m * columns + n;
      GACER_EACH_LANE(8) sum[i] = row[i];
      for (uint32_t k = 0; k < depth; ++k) {
        const T left = a[m * depth + k];
        const T* right = b + k * columns + n;
        GACER_EACH_LANE(8) sum[i] = Op::apply(left, right[i], sum[i]);
      }
      GACER_EACH_LANE(8) row[i] = sum[i];
    }
}

// The same for sums of products, eight columns as one vector and four rows side by side: left to
// itself the compiler goes along k, which costs it a shuffle for each element.
template <typename T>
void multiply_rows(uint32_t rows, uint32_t columns, uint32_t depth, const T* a, const T* b, T* c) {
  typedef T Eight __attribute__((vector_size(8 * sizeof(T))));
  for (uint32_t m = 0; m < rows; m += 4)
    for (uint32_t n = 0; n < columns; n += 8) {
      Eight sum[4];
      for (uint32_t r = 0; r < 4; ++r)
        __builtin_memcpy(&sum[r], c + (m + r) * columns + n, sizeof(Eight));
      for (uint32_t k = 0; k < depth; ++k) {
        Eight right;
        __builtin_memcpy(&right, b + k * columns + n, sizeof(Eight));
        for (uint32_t r = 0; r < 4; ++r) sum[r] += right * a[(m + r) * depth + k];
      }
      for (uint32_t r = 0; r < 4; ++r)
        __builtin_memcpy(c + (m + r) * columns + n, &sum[r], sizeof(Eight));
    }
}

uint32_t chunk_indices(const MatrixJob& job, uint32_t row, uint32_t chunk) {
  const uint32_t g = row % 8, upper = row / 8;
  if (!job.form->halves)
    return job.indices[4 * g + 2 * (chunk / 8) + upper] >> (chunk % 8 * 4) & 15;
  const uint32_t lanes = job.form->depth / job.form->chunk / 4;
  const uint32_t lane = (job.selector * lanes + chunk / 4) % 4;
  return job.indices[4 * g + lane] >> (16 * upper + chunk % 4 * 4) & 15;
}

// The given elements of a sparse A to their places, zeros between. With one element of two its
// index is the upper bit of each pair of bits (0b0100: the first, 0b1110: the second).
template <typename T>
void spread(const MatrixJob& job, const T* packed, T* a) {
  const MatrixForm& form = *job.form;
  const uint32_t picks = form.chunk / 2 / form.unit;
  for (uint32_t i = 0; i < form.rows * form.depth; ++i) a[i] = 0;
  for (uint32_t m = 0; m < form.rows; ++m)
    for (uint32_t c = 0; c < form.depth / form.chunk; ++c) {
      const uint32_t bits = chunk_indices(job, m, c);
      T* chunk = a + m * form.depth + c * form.chunk;
      for (uint32_t p = 0; p < picks; ++p) {
        const uint32_t index = picks == 1 ? bits >> 3 : bits >> (2 * p) & 3;
        for (uint32_t u = 0; u < form.unit; ++u) chunk[index * form.unit + u] = *packed++;
      }
    }
}

template <typename T>
void load_all(const MatrixJob& job, Tile<T>& tile) {
  const MatrixForm& form = *job.form;
  if (form.chunk != 0) {
    T packed[1024];
    load(form.a, job.a, packed);
    spread(job, packed, tile.a);
  } else {
    load(form.a, job.a, tile.a);
  }
  load(form.b, job.b, tile.b);
  load(form.c, job.c, tile.c);
}

template <typename Op, typename T>
void multiply(const MatrixJob& job, Tile<T>& tile) {
  constexpr bool kFused = kSame<T, double>;
  const MatrixForm& form = *job.form;
  for (uint32_t i = 0; i < form.batches; ++i) {
    const T* a = tile.a + i * form.rows * form.depth;
    const T* b = tile.b + i * form.depth * form.columns;
    T* c = tile.c + i * form.rows * form.columns;
    if constexpr (kSame<Op, MulAdd> && !kFused) {
      multiply_rows(form.rows, form.columns, form.depth, a, b, c);
    } else {
      multiply_tile<Op>(form.rows, form.columns, form.depth, a, b, c);
    }
  }
}

template <typename Op, typename T>
void run(const MatrixJob& job) {
  Tile<T> tile;
  load_all(job, tile);
  multiply<Op>(job, tile);
  store(*job.form, job.d, tile.c);
}

void run_rounded(const MatrixJob& job) {
  Tile<double> tile;
  load_all(job, tile);
  {
    Rounding scope(static_cast<RoundTo>(job.form->rounding));
    multiply<MulAdd>(job, tile);
  }
  store(*job.form, job.d, tile.c);
}

void run_saturated(const MatrixJob& job) {
  Tile<int64_t> tile;
  load_all(job, tile);
  multiply<MulAdd>(job, tile);
  for (int64_t& v : tile.c) v = v > 0x7fffffff ? 0x7fffffff : v < -0x80000000LL ? -0x80000000LL : v;
  store(*job.form, job.d, tile.c);
}

}  // namespace

void GACER_MATRIX_MULTIPLY(const MatrixJob& job) {
  const MatrixForm& form = *job.form;
  if (form.product == MatrixProduct::kXorPopc) {
    run<XorPopc, uint32_t>(job);
  } else if (form.product == MatrixProduct::kAndPopc) {
    run<AndPopc, uint32_t>(job);
  } else if (form.c.type == MatrixType::kF64) {
    run_rounded(job);
  } else if (form.c.type == MatrixType::kS32) {
    form.finite ? run_saturated(job) : run<MulAdd, uint32_t>(job);
  } else {
    run<MulAdd, float>(job);
  }
}

}  // namespace gacer::simdevice
