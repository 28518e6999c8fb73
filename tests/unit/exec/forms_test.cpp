// SPDX-License-Identifier: Apache-2.0
// Every form of the ISA in these families compiles, computes what its reference says on many
// inputs, and is one that the toolkit's assembler knows too (so that the table lists nothing that
// does not exist).
#include "tests/unit/exec/forms.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>

#include "tests/unit/exec/harness.h"

namespace gacer::simdevice::test {
namespace {

using u64 = uint64_t;

TEST(Forms, AllCompile) {
  for (const Form& form : all_forms())
    EXPECT_EQ(compile_error(module_of(with_registers(form) + "\n", form.least_sm), 90), "")
        << form.text;
}

#if defined(GACER_PTXAS)
TEST(Forms, AreThoseOfTheToolkit) {
  std::map<int, std::string> by_target;  // the toolkit begins at sm_75
  for (const Form& form : all_forms())
    by_target[std::max(75, form.least_sm)] += with_registers(form) + "\n";
  for (const auto& [sm, instructions] : by_target) {
    const std::string name = testing::TempDir() + "gacer_forms_" + std::to_string(sm);
    std::ofstream(name + ".ptx") << module_of(instructions, sm);
    const std::string command = std::string(GACER_PTXAS) + " -O0 -arch=sm_" + std::to_string(sm) +
                                " " + name + ".ptx -o " + name + ".cubin";
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    std::remove((name + ".ptx").c_str());
    std::remove((name + ".cubin").c_str());
  }
}
#endif

// ---- values

constexpr size_t kCases = 1024;

// Numbers at and beside the points where the narrower formats tie, overflow and turn subnormal.
std::vector<double> turning_points() {
  std::vector<double> out;
  for (double v : {1.0,
                   1 + 0x1p-11,
                   1 + 0x3p-11,
                   1 + 0x1p-8,
                   1 + 0x3p-8,
                   1 + 0x1p-4,
                   1 + 0x3p-4,
                   1 + 0x1p-3,
                   1 + 0x3p-3,
                   1 + 0x1p-24,
                   1 + 0x3p-24,
                   0x1p-24,
                   0x1p-25,
                   0x3p-25,
                   0x1p-14,
                   0x1p-133,
                   0x1p-134,
                   0x3p-134,
                   0x1p-126,
                   0x1p-149,
                   0x1p-150,
                   65504.0,
                   65519.0,
                   65520.0,
                   448.0,
                   464.0,
                   480.0,
                   57344.0,
                   61440.0,
                   0x1p-6,
                   0x1p-9,
                   0x1p-10,
                   0x3p-10,
                   0x1p-16,
                   0x1p-17,
                   3.3895313892515355e38,
                   3.3961775292304957e38,
                   3.4028234663852886e38,
                   3.4028235677973366e38,
                   0x1p126,
                   0x1.8p127,
                   0.5,
                   2.5,
                   127.5,
                   255.5,
                   32767.5,
                   2147483647.5,
                   9223372036854775807.0})
    for (double beside : {v, std::nextafter(v, 0), std::nextafter(v, HUGE_VAL)})
      for (double sign : {1.0, -1.0}) out.push_back(sign * beside);
  return out;
}

std::vector<u64> special_of(Reference::Domain domain) {
  std::vector<u64> out;
  if (domain == Reference::kInts) return special_ints();
  if (domain == Reference::kHalves) {
    out = special_halves();
    for (u64 v : std::initializer_list<u64>{0xffff7fff, 0x7e01fe00, 0x00010002, 0x83ff0400,
                                            0x3c013bff, 0x7bff7bff, 0x007f0080, 0x7c7d0102})
      out.push_back(v);
  } else if (domain == Reference::kSingles) {
    out = special_floats();
    for (double v : turning_points()) out.push_back(bits_of(static_cast<float>(v)));
    for (u64 v : std::initializer_list<u64>{0x7fffffff, 0xffc00000, 0x7f800001, 0xff812345,
                                            0x007fffff, 0x807fffff})
      out.push_back(v);
  } else {
    out = special_doubles();
    for (double v : turning_points()) out.push_back(bits_of(v));
    for (u64 v : std::initializer_list<u64>{0x7fffffffffffffff, 0xfff8000000000000,
                                            0x7ff0000000000001, 0x000fffffffffffff})
      out.push_back(v);
  }
  return out;
}

// A random number whose exponent is near that of one, so that results are not all zero or infinite.
u64 moderate(Reference::Domain domain, u64 random) {
  const u64 scale = random >> 58;  // 0..63
  if (domain == Reference::kSingles) return (random & 0x807fffff) | (96 + scale) << 23;
  if (domain == Reference::kDoubles) return (random & 0x800fffffffffffff) | (992 + scale) << 52;
  return domain == Reference::kInts ? random >> scale : random & 0xbfffbfff;
}

std::vector<u64> inputs_for(Reference::Domain domain) {
  std::mt19937_64 random(11);
  const std::vector<u64> special = special_of(domain);
  std::vector<u64> out;
  while (out.size() < 3 * kCases) {
    const u64 first = out.size() / 3 < special.size() ? special[out.size() / 3] : 0;
    for (int k = 0; k < 3; ++k) {
      const u64 kind = random() % 8, any = random();
      u64 value = kind < 3 ? special[any % special.size()] : kind < 6 ? moderate(domain, any) : any;
      if (kind == 7 && k > 0) value = any % 67 | (any >> 32) % 67 << 32;  // a shift, a length
      if (k == 0 && first != 0) value = first;
      out.push_back(value);
    }
  }
  return out;
}

// ---- instructions with the bench's registers

struct Bench {
  std::string body;
  int bits = 0;
  std::vector<std::string> sources;  // "a32", "pc", "17"
};

int width_of(const std::string& operand) {
  const char letter = operand[operand[0] == '!' ? 1 : 0];
  return letter == 'p' ? 1 : letter == 'h' ? 16 : letter == 'r' ? 32 : letter == 'd' ? 64 : 0;
}

// The k-th source of an instruction; the fourth is what the third has in its upper half.
std::string source_register(const std::string& operand, size_t k) {
  const int width = width_of(operand);
  if (operand.size() > 2 || (operand.size() == 2 && operand[0] != '!') || width == 0)
    return operand;
  if (width == 1)
    return std::string(operand[0] == '!' ? "!p" : "p") + (k == 0   ? "a"
                                                          : k == 1 ? "b"
                                                          : k == 4 ? "a"
                                                                   : "c");
  return k == 3 ? "t320" : std::string(1, static_cast<char>('a' + k)) + std::to_string(width);
}

u64 source_value(const std::string& name, const u64* abc) {
  const std::string plain = name[0] == '!' ? name.substr(1) : name;
  if (plain[0] == 'p') return abc[plain[1] - 'a'] & 1;
  if (plain == "t320") return abc[2] >> 32;
  if (plain[0] < 'a' || plain[0] > 'c')
    return static_cast<u64>(std::strtoll(plain.c_str(), nullptr, 0));
  const int width = std::stoi(plain.substr(1));
  return width == 64 ? abc[plain[0] - 'a'] : abc[plain[0] - 'a'] & ((u64{1} << width) - 1);
}

// Carries in and out are made visible by sums (differences) around the instruction.
void add_carries(const Form& form, Bench& bench) {
  const bool reads = form.opcode.back() == 'c' && form.opcode != "rcp",
             subtracts = form.opcode.substr(0, 3) == "sub";
  const std::string width = std::to_string(bench.bits), type = ".u" + width + " ",
                    op = subtracts ? "sub" : "add";
  if (reads)
    bench.body =
        op + ".cc" + type + "t" + width + "1, a" + width + ", b" + width + "; " + bench.body;
  if (form.has("cc")) bench.body += " " + op + "c" + type + "d" + width + ", d" + width + ", 0;";
}

void read_predicates(const Form& form, Bench& bench) {
  const bool two = form.operands[0] == "p|p";
  bench.bits = 32;
  bench.body += " selp.u32 d32, 1, 0, pd;";
  if (two) bench.body += " selp.u32 t321, 2, 0, pq; or.b32 d32, d32, t321;";
}

Bench bench_of(const Form& form) {
  Bench out;
  std::string to = form.operands[0];
  out.bits = width_of(to);
  const bool joins = form.opcode == "lop3" && to.find('|') != std::string::npos;
  if (joins)
    to = to[0] == '_' ? "_|pd" : "t321|pd";
  else if (out.bits == 1)
    to = form.operands[0] == "p|p" ? "pd|pq" : "pd";
  else
    to = "d" + std::to_string(out.bits);
  out.body = form.text.substr(0, form.text.find(' ')) + " " + to;
  for (size_t i = 1; i < form.operands.size(); ++i) {
    out.sources.push_back(source_register(form.operands[i], i - 1));
    out.body += ", " + out.sources.back();
  }
  out.body += ";";
  if (out.sources.size() > 3 && out.sources[3] == "t320")
    out.body = "mov.b64 {_, t320}, c64; " + out.body;
  if (joins) {
    out.bits = 64;
    out.body =
        "mov.b32 t321, 0; " + out.body + " selp.u32 t322, 1, 0, pd; mov.b64 d64, {t321, t322};";
  } else if (form.has("cc") || form.opcode == "addc" || form.opcode == "subc" ||
             form.opcode == "madc") {
    add_carries(form, out);
  } else if (form.opcode == "setp" || form.opcode == "testp") {
    read_predicates(form, out);
  }
  return out;
}

std::optional<Reference> reference_of(const Form& form) {
  // mov of names and special registers, packing, addresses: tests of their own.
  for (const std::string& operand : form.operands)
    if (operand[0] == '{' || operand[0] == 'q' || operand.size() > 8 || operand[0] == '%' ||
        operand == "kernel" || operand == "function")
      return std::nullopt;
  if (form.opcode == "mov" && (form.has("pred") || form.has("f32") || form.has("f64")))
    return std::nullopt;
  for (auto family : {logic_reference, compare_reference, convert_reference, half_reference,
                      float_reference, integer_reference})
    if (auto found = family(form)) return found;
  return std::nullopt;
}

bool is_nan64(u64 bits) {
  return std::isnan(f64(bits));
}

// How many results were compared; stops at the first that differs.
void check_form(const Form& form, const Reference& reference, const std::vector<u64>& inputs) {
  const Bench bench = bench_of(form);
  const auto results = run_op(bench.body, bench.bits, inputs);
  ASSERT_EQ(results.size(), inputs.size() / 3) << form.text;
  const u64 keep = bench.bits == 64 ? ~u64{0} : (u64{1} << bench.bits) - 1;
  for (size_t i = 0; i < results.size(); ++i) {
    const u64* abc = &inputs[3 * i];
    Sources sources;
    for (const std::string& name : bench.sources) sources.push_back(source_value(name, abc));
    const u64 want = reference.value(sources) & keep;
    const auto right = [&](u64 got) {
      return got == want ||
             (reference.any_nan64 && bench.bits == 64 && is_nan64(got) && is_nan64(want)) ||
             (reference.close && reference.close(sources, got, want));
    };
    const u64 untouched = bench.bits == 1 ? 1 : kUntouched & keep;
    ASSERT_TRUE(right(results[i].plain))
        << bench.body << std::hex << " a " << abc[0] << " b " << abc[1] << " c " << abc[2]
        << " got " << results[i].plain << " want " << want;
    ASSERT_TRUE(i % 2 == 1 ? right(results[i].guarded) : results[i].guarded == untouched)
        << "guarded " << bench.body << std::hex << " a " << abc[0] << " b " << abc[1] << " c "
        << abc[2] << " got " << results[i].guarded << " want " << (i % 2 == 1 ? want : untouched);
  }
}

// One test for each opcode.
std::vector<std::string> opcodes() {
  std::vector<std::string> out;
  for (const Form& form : all_forms())
    if (reference_of(form) && std::find(out.begin(), out.end(), form.opcode) == out.end())
      out.push_back(form.opcode);
  return out;
}

class FormValues : public testing::TestWithParam<std::string> {};

TEST_P(FormValues, EqualTheReference) {
  std::map<Reference::Domain, std::vector<u64>> inputs;
  for (const Form& form : all_forms()) {
    if (form.opcode != GetParam()) continue;
    const auto reference = reference_of(form);
    if (!reference) continue;
    auto& in = inputs[reference->domain];
    if (in.empty()) in = inputs_for(reference->domain);
    check_form(form, *reference, in);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Opcodes, FormValues, testing::ValuesIn(opcodes()),
                         [](const auto& row) { return row.param; });

// A form without a reference must be one of the few that are tested elsewhere.
TEST(Forms, HaveReferences) {
  for (const Form& form : all_forms())
    EXPECT_TRUE(reference_of(form) || form.opcode == "mov" || form.opcode == "cvta" ||
                form.opcode == "isspacep" || form.has("pred"))
        << form.text;
}

}  // namespace
}  // namespace gacer::simdevice::test
