// SPDX-License-Identifier: Apache-2.0
// The kernels by id, with the block size each is compiled for. Read by host and device code.
#pragma once

namespace gacer::kernels {

enum class KernelId : int {
#define GACER_KERNEL(symbol, module, block_threads, purpose) symbol,
#include "kernels/catalog.def"
#undef GACER_KERNEL
};

// block_size::gemm_nt_64x64 and so on, in threads; blocks are one-dimensional.
namespace block_size {
#define GACER_KERNEL(symbol, module, block_threads, purpose) constexpr int symbol = block_threads;
#include "kernels/catalog.def"
#undef GACER_KERNEL
}  // namespace block_size

struct KernelRow {
  const char* symbol;
  const char* module;
  unsigned block_threads;
  const char* purpose;
};

inline constexpr KernelRow kKernelRows[] = {
#define GACER_KERNEL(symbol, module, block_threads, purpose) \
  {#symbol, #module, block_threads, purpose},
#include "kernels/catalog.def"
#undef GACER_KERNEL
};

inline constexpr int kKernelCount = sizeof(kKernelRows) / sizeof(kKernelRows[0]);

constexpr const KernelRow& kernel_row(KernelId id) {
  return kKernelRows[static_cast<int>(id)];
}

}  // namespace gacer::kernels
