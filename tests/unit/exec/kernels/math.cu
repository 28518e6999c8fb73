// SPDX-License-Identifier: Apache-2.0
// One kernel for each function of math_functions.def and each precision.
#include <math.h>

#define KERNEL(NAME, T, CALL)                                              \
  extern "C" __global__ void NAME(T* out, const T* a, const T* b, int n) { \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                   \
    if (i >= n) return;                                                    \
    const T x = a[i], y = b[i];                                            \
    static_cast<void>(y);                                                  \
    out[i] = CALL;                                                         \
  }
#define MATH1(F, REFERENCE, LOW, HIGH, ULP32, ULP64) \
  KERNEL(F##_float, float, F##f(x))                  \
  KERNEL(F##_double, double, F(x))
#define MATH2(F, REFERENCE, LOW, HIGH, ULP32, ULP64) \
  KERNEL(F##_float, float, F##f(x, y))               \
  KERNEL(F##_double, double, F(x, y))
#include "math_functions.def"
