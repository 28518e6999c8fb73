// SPDX-License-Identifier: Apache-2.0
// The kernels by id, with the block size each is compiled for. Read by host and device code.
#pragma once

namespace gacer::kernels {

enum class KernelId : int {
#define GACER_KERNEL(symbol, module, block_threads, min_blocks, purpose) symbol,
#include "kernels/catalog.def"
#undef GACER_KERNEL
};

// block_size::gemm_nt_64x64 and so on, in threads; blocks are one-dimensional.
namespace block_size {
#define GACER_KERNEL(symbol, module, block_threads, min_blocks, purpose) \
  constexpr int symbol = block_threads;
#include "kernels/catalog.def"
#undef GACER_KERNEL
}  // namespace block_size

namespace min_blocks_per_sm {
#define GACER_KERNEL(symbol, module, block_threads, min_blocks, purpose) \
  constexpr int symbol = min_blocks;
#include "kernels/catalog.def"
#undef GACER_KERNEL
}  // namespace min_blocks_per_sm

struct KernelRow {
  const char* symbol;
  const char* module;
  unsigned block_threads;
  unsigned min_blocks;
  const char* purpose;
};

inline constexpr KernelRow kKernelRows[] = {
#define GACER_KERNEL(symbol, module, block_threads, min_blocks, purpose) \
  {#symbol, #module, block_threads, min_blocks, purpose},
#include "kernels/catalog.def"
#undef GACER_KERNEL
};

inline constexpr int kKernelCount = sizeof(kKernelRows) / sizeof(kKernelRows[0]);

constexpr const KernelRow& kernel_row(KernelId id) {
  return kKernelRows[static_cast<int>(id)];
}

}  // namespace gacer::kernels
