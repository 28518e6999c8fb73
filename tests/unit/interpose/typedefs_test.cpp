// SPDX-License-Identifier: Apache-2.0
// cuGetProcAddress against every function pointer type of cudaTypedefs.h: for each base name, CUDA
// version and stream flag, what is handed out has the ABI that this version's header declares.
#include <gtest/gtest.h>

#include <cstring>
#include <iterator>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <vector>

#include "interpose/cuda_api.h"
#include "interpose/driver.h"
#include "interpose/proc_address.h"
#include "tests/unit/interpose/fake_driver.h"
// After cuda_api.h.
#include <cudaTypedefs.h>

namespace gacer::interpose {
namespace {

#define STREAM_any StreamKind::kAny
#define STREAM_legacy StreamKind::kLegacy
#define STREAM_ptsz StreamKind::kPerThread
#define STREAM_ptds StreamKind::kPerThread

struct Typedef {
  const char* symbol;
  const char* base;
  int version;
  StreamKind stream;
  const std::type_info* type;
};

#define TYPEDEF(symbol, base, version, stream, type) \
  static_assert(std::is_same_v<type, decltype(&::symbol)>, #symbol);
#include "typedef_rows.inc"
#undef TYPEDEF

const Typedef kTypedefs[] = {
#define TYPEDEF(symbol, base, version, stream, type) \
  {#symbol, #base, version, STREAM_##stream, &typeid(type)},
#include "typedef_rows.inc"
#undef TYPEDEF
};

// CUDA 11.3 was the first with cuGetProcAddress; the last one is newer than these headers.
constexpr int kVersions[] = {11030, 11040, 11050, 11060, 11070, 11080, 12000, 12010, 12020, 12030,
                             12040, 12050, 12060, 12080, 12090, 13000, 13010, 13020, 14000};
constexpr uint64_t kFlags[] = {CU_GET_PROC_ADDRESS_DEFAULT, CU_GET_PROC_ADDRESS_LEGACY_STREAM,
                               CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM};

char exported_at[std::size(kTypedefs)];  // distinct addresses; never called
char internal_at[std::size(kTypedefs)];
char forwarder_at[std::size(kTypedefs)];

void* exported(const Typedef& row) {
  return &exported_at[&row - kTypedefs];
}
// A driver may answer the address of a function that it does not export under any name.
void* internal(const Typedef& row) {
  return &internal_at[&row - kTypedefs];
}

const Typedef* by_symbol(const char* symbol) {
  for (const Typedef& row : kTypedefs)
    if (strcmp(row.symbol, symbol) == 0) return &row;
  return nullptr;
}

void* symbol_of_model(void*, const char* symbol) {
  const Typedef* row = by_symbol(symbol);
  return row != nullptr ? exported(*row) : nullptr;
}

const HookRow* hook_of(const char* symbol) {
  const HookTable table = hook_table();
  for (uint32_t i = 0; i < table.count; ++i)
    if (strcmp(table.rows[i].symbol, symbol) == 0) return &table.rows[i];
  return nullptr;
}
// What the preloaded library hands out for an exported symbol.
void* face_of(const Typedef& row) {
  const HookRow* hook = hook_of(row.symbol);
  return hook != nullptr ? hook->hook : &forwarder_at[&row - kTypedefs];
}
const HookRow* hook_at(const void* address) {
  const HookTable table = hook_table();
  for (uint32_t i = 0; i < table.count; ++i)
    if (table.rows[i].hook == address) return &table.rows[i];
  return nullptr;
}

// What the header of that version declares; the documented search order of the flags.
const Typedef* declared(const char* base, int version, uint64_t flags) {
  const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  const Typedef* best = nullptr;
  for (const Typedef& row : kTypedefs) {
    if (strcmp(row.base, base) != 0 || row.version > version) continue;
    if (row.stream == StreamKind::kPerThread && !per_thread) continue;
    const bool better_stream = best != nullptr && row.stream == StreamKind::kPerThread &&
                               best->stream != StreamKind::kPerThread;
    const bool worse_stream = best != nullptr && row.stream != StreamKind::kPerThread &&
                              best->stream == StreamKind::kPerThread;
    if (best == nullptr || better_stream || (!worse_stream && row.version > best->version))
      best = &row;
  }
  return best;
}

// The rows come sorted by base.
std::vector<const char*> base_names() {
  std::vector<const char*> bases;
  for (const Typedef& row : kTypedefs)
    if (bases.empty() || strcmp(bases.back(), row.base) != 0) bases.push_back(row.base);
  return bases;
}

template <typename Check>
void for_each_lookup(const Check& check) {
  for (const char* base : base_names())
    for (const int version : kVersions)
      for (const uint64_t flags : kFlags)
        if (const Typedef* expected = declared(base, version, flags))
          check(*expected, version, flags);
}

std::string lookup_text(const char* base, int version, uint64_t flags) {
  return std::string(base) + " " + std::to_string(version) + " flags " + std::to_string(flags);
}

void* forwarder_of(const char* base, const void* real) {
  for (const Typedef& row : kTypedefs)
    if (exported(row) == real && is_variant_of(row.symbol, base) && hook_of(row.symbol) == nullptr)
      return &forwarder_at[&row - kTypedefs];
  return nullptr;
}

class TypedefsTest : public testing::Test {
 protected:
  void SetUp() override {
    test::reset_shim();
    DriverTable table;
    fill_driver_table(table, &symbol_of_model, nullptr, CUDA_ERROR_NOT_SUPPORTED);
    install_driver(table, &symbol_of_model, nullptr);
  }
  void TearDown() override { test::reset_shim(); }
};

TEST_F(TypedefsTest, SYM_04_given_every_name_version_and_flag_then_the_headers_abi_is_handed_out) {
  for_each_lookup([](const Typedef& expected, int version, uint64_t flags) {
    void* got = hook_for(expected.base, version, flags, exported(expected));
    EXPECT_EQ(got, face_of(expected)) << lookup_text(expected.base, version, flags);
  });
}

TEST_F(TypedefsTest, SYM_04_given_addresses_that_are_not_exported_then_the_abi_is_still_right) {
  for_each_lookup([](const Typedef& expected, int version, uint64_t flags) {
    void* got = hook_for(expected.base, version, flags, internal(expected));
    if (got == internal(expected)) return;
    const HookRow* hook = hook_at(got);
    ASSERT_NE(hook, nullptr) << lookup_text(expected.base, version, flags);
    const Typedef* handed_out = by_symbol(hook->symbol);
    ASSERT_NE(handed_out, nullptr) << hook->symbol;
    EXPECT_EQ(handed_out->symbol, expected.symbol) << lookup_text(expected.base, version, flags);
    EXPECT_TRUE(*handed_out->type == *expected.type) << hook->symbol;
  });
}

// CUDA 12 made "cuGraphInstantiate" a name of two ABIs: only there is nothing guessed.
TEST_F(TypedefsTest, SYM_01_given_addresses_that_are_not_exported_then_every_hook_still_governs) {
  for_each_lookup([](const Typedef& expected, int version, uint64_t flags) {
    const HookRow* hook = hook_of(expected.symbol);
    if (hook == nullptr || version > CUDA_VERSION) return;
    if (strcmp(expected.base, "cuGraphInstantiate") == 0 && version >= 11040) return;
    EXPECT_EQ(hook_for(expected.base, version, flags, internal(expected)), hook->hook)
        << lookup_text(expected.base, version, flags);
  });
}

TEST_F(TypedefsTest, SYM_04_given_a_driver_that_answers_an_older_abi_then_its_own_abi_is_kept) {
  for (const Typedef& older : kTypedefs) {
    for (const int version : kVersions)
      for (const uint64_t flags : kFlags)
        EXPECT_EQ(hook_for(older.base, version, flags, exported(older)), face_of(older))
            << older.symbol << " for " << lookup_text(older.base, version, flags);
  }
}

TEST_F(TypedefsTest, given_one_address_for_all_that_is_unsupported_then_no_other_names_hook) {
  static char unsupported;
  const auto source = [](void*, const char* symbol) -> void* {
    const bool shared = strstr(symbol, "Graph") != nullptr || strstr(symbol, "Mem") != nullptr;
    return shared ? &unsupported : symbol_of_model(nullptr, symbol);
  };
  DriverTable table;
  fill_driver_table(table, source, nullptr, CUDA_ERROR_NOT_SUPPORTED);
  install_driver(table, source, nullptr);
  for_each_lookup([](const Typedef& expected, int version, uint64_t flags) {
    void* got = hook_for(expected.base, version, flags, &unsupported);
    const HookRow* hook = hook_at(got);
    if (hook == nullptr) return;
    EXPECT_TRUE(is_variant_of(hook->symbol, expected.base))
        << hook->symbol << " for " << lookup_text(expected.base, version, flags);
  });
}

TEST_F(TypedefsTest, given_a_driver_that_lacks_a_hooked_symbol_then_its_hook_is_never_guessed) {
  const auto source = [](void*, const char*) -> void* { return nullptr; };
  DriverTable table;
  fill_driver_table(table, source, nullptr, CUDA_ERROR_NOT_SUPPORTED);
  install_driver(table, source, nullptr);
  for_each_lookup([](const Typedef& expected, int version, uint64_t flags) {
    EXPECT_EQ(hook_for(expected.base, version, flags, internal(expected)), internal(expected));
  });
}

}  // namespace
}  // namespace gacer::interpose

// Stands for the one of the preloaded library.
extern "C" void* gacer_forwarder_for(const char* base, const void* real) {
  return gacer::interpose::forwarder_of(base, real);
}
