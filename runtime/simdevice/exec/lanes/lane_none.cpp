// SPDX-License-Identifier: Apache-2.0
// Machines without the x86 vector extensions have the baseline rows only.
#include "runtime/simdevice/exec/lanes/lane_matrix.h"
#include "runtime/simdevice/exec/lanes/lane_memory.h"
#include "runtime/simdevice/exec/lanes/lane_ops.h"

namespace gacer::simdevice {

const LaneTable* lane_table_avx2() {
  return nullptr;
}
const LaneTable* lane_table_avx512() {
  return nullptr;
}
const MemoryTable* memory_table_avx2() {
  return nullptr;
}
const MemoryTable* memory_table_avx512() {
  return nullptr;
}
// Never chosen: the tables above are missing.
void matrix_multiply_avx2(const MatrixJob& job) {
  matrix_multiply_baseline(job);
}
void matrix_multiply_avx512(const MatrixJob& job) {
  matrix_multiply_baseline(job);
}

}  // namespace gacer::simdevice
