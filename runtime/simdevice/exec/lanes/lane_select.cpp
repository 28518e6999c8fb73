// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <string_view>
#include <unordered_map>

#include "runtime/simdevice/exec/lanes/lane_matrix.h"
#include "runtime/simdevice/exec/lanes/lane_memory.h"
#include "runtime/simdevice/exec/lanes/lane_ops.h"

namespace gacer::simdevice {
namespace {

bool machine_has_avx2() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi2");
#else
  return false;
#endif
}

bool machine_has_avx512() {
#if defined(__x86_64__)
  return machine_has_avx2() && __builtin_cpu_supports("avx512f") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512cd");
#else
  return false;
#endif
}

// How wide this machine's lanes are, or are asked to be.
enum class Width { kBaseline, kAvx2, kAvx512 };
Width width() {
  const char* wish = std::getenv("GACER_LANES");
  const std::string_view ask = wish == nullptr ? "" : wish;
  if (ask == "baseline" || !machine_has_avx2() || lane_table_avx2() == nullptr)
    return Width::kBaseline;
  const bool wide = ask != "avx2" && machine_has_avx512() && lane_table_avx512() != nullptr;
  return wide ? Width::kAvx512 : Width::kAvx2;
}

template <typename T>
T choose(T baseline, T avx2, T avx512) {
  const Width w = width();
  return w == Width::kAvx512 ? avx512 : w == Width::kAvx2 ? avx2 : baseline;
}

template <typename Row>
std::unordered_map<std::string_view, const Row*> index_rows(const Row* rows, size_t count) {
  std::unordered_map<std::string_view, const Row*> out;
  for (size_t i = 0; i < count; ++i) out.emplace(rows[i].name, &rows[i]);
  return out;
}

template <typename Map>
typename Map::mapped_type lookup(const Map& map, const std::string& name) {
  const auto found = map.find(name);
  return found == map.end() ? nullptr : found->second;
}

}  // namespace

const LaneTable& lane_table() {
  static const LaneTable& table =
      *choose(lane_table_baseline(), lane_table_avx2(), lane_table_avx512());
  return table;
}

const MemoryTable& memory_table() {
  static const MemoryTable& table =
      *choose(memory_table_baseline(), memory_table_avx2(), memory_table_avx512());
  return table;
}

MatrixFn matrix_multiply() {
  return choose(&matrix_multiply_baseline, &matrix_multiply_avx2, &matrix_multiply_avx512);
}

const MemoryOps* find_memory_ops(uint32_t bytes, bool sign, uint32_t reg_bits) {
  const MemoryTable& table = memory_table();
  for (uint32_t i = 0; i < table.op_count; ++i)
    if (table.ops[i].bytes == bytes && table.ops[i].sign == sign &&
        table.ops[i].reg_bits == reg_bits)
      return &table.ops[i];
  return nullptr;
}

const LaneOp* find_lane_op(const std::string& name) {
  static const auto index = index_rows(lane_table().ops, lane_table().op_count);
  return lookup(index, name);
}

const CompareOp* find_compare_op(const std::string& name) {
  static const auto index = index_rows(lane_table().compares, lane_table().compare_count);
  return lookup(index, name);
}

}  // namespace gacer::simdevice
