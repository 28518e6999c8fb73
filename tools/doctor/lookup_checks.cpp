// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/lookup_checks.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "runtime/abi/function_names.h"
#include "tools/doctor/hook_rows.h"

namespace gacer::tools::doctor {
namespace {

struct Way {
  const char* word;  // as the probe writes it
  const char* check;
  const char* meaning;
};
constexpr Way kWays[] = {
    {"link", "lookup-link", "linked to libcuda.so.1"},
    {"handle", "lookup-dlopen", "dlsym on a handle of libcuda.so.1"},
    {"default", "lookup-default", "dlsym RTLD_DEFAULT"},
    {"next", "lookup-next", "dlsym RTLD_NEXT"},
    {"versioned", "lookup-dlvsym", "dlvsym on a handle"},
};

// Answers of one way, sorted by what they mean.
class Verdict {
 public:
  explicit Verdict(const ProbeReport& report) : report_(report) {}

  // `expected`: the symbol that the answer should be or stand for; empty: not known.
  void judge(const HookRow& row, const Owner& owner, std::string_view expected,
             const std::string& asked) {
    ++asked_;
    if (owner.object != report_.shim_path || report_.shim_path.empty()) {
      const std::string line = asked + " answered by " + owner.object;
      (row.hook_class == "observed" ? unobserved_ : unregulated_).push_back(line);
    } else if (!owner.name.empty() && !expected.empty() && owner.name != expected) {
      wrong_.push_back(asked + " answered with " + owner.name);
    } else {
      ++right_;
    }
  }
  void hidden(const std::string& asked) { hidden_.push_back(asked); }

  Check check(const char* name, const std::string& meaning) const {
    Check result{Level::kOk, name, meaning + ": ", {}};
    if (asked_ == 0) result.text += "nobody has such functions";
    if (asked_ > 0) result.text += fmt::format("{} of {} answered by the shim", right_, asked_);
    add(result, Level::kFail, unregulated_, "unregulated");
    add(result, Level::kFail, wrong_, "wrong variant");
    add(result, Level::kWarn, unobserved_, "not seen by the shim");
    add(result, Level::kWarn, hidden_, "not found though the driver has it");
    return result;
  }

 private:
  static void add(Check& check, Level level, const std::vector<std::string>& lines,
                  const char* what) {
    if (lines.empty()) return;
    check.level = std::max(check.level, level);
    check.text += fmt::format("; {}: {}", what, lines[0]);
    if (lines.size() > 1) check.text += fmt::format(" and {} more", lines.size() - 1);
    for (const std::string& line : lines)
      check.details.push_back(fmt::format("{}: {}", what, line));
  }

  const ProbeReport& report_;
  size_t asked_ = 0;
  size_t right_ = 0;
  std::vector<std::string> unregulated_, unobserved_, wrong_, hidden_;
};

const std::string* error_of(const ProbeReport& report, std::string_view part) {
  for (const ProbeError& error : report.errors)
    if (error.part == part) return &error.text;
  return nullptr;
}

Check way_check(const ProbeReport& report, const Way& way) {
  if (const std::string* error = error_of(report, way.word))
    return warn(way.check, fmt::format("{}: {}", way.meaning, *error));
  Verdict verdict(report);
  for (const SymbolAnswer& answer : report.symbols) {
    const HookRow* row = row_of_symbol(answer.symbol);
    if (answer.way == way.word && row != nullptr && !answer.owner.object.empty())
      verdict.judge(*row, answer.owner, row->symbol, answer.symbol);
  }
  return verdict.check(way.check, way.meaning);
}

std::string asked_text(const ProcAnswer& answer) {
  return fmt::format("{} for CUDA {}.{}{}", answer.base, answer.version / 1000,
                     answer.version % 1000 / 10, answer.per_thread ? " per-thread" : "");
}

void judge_proc(const ProcAnswer& answer, Verdict& verdict) {
  const HookRow* meant = row_of_base(answer.base, answer.version, answer.per_thread);
  // An older driver may mean an older function by the same name.
  const HookRow* drivers = row_of_symbol(answer.drivers.name);
  const HookRow* row = drivers != nullptr ? drivers : meant;
  if (row == nullptr || row->forwarded) return;
  const bool found = answer.result == 0 && !answer.owner.object.empty();
  if (found)
    verdict.judge(*row, answer.owner, row->symbol, asked_text(answer));
  else if (!answer.drivers.object.empty())
    verdict.hidden(asked_text(answer));
}

Check proc_check(const ProbeReport& report, int api) {
  Verdict verdict(report);
  for (const ProcAnswer& answer : report.procs)
    if (answer.api == api) judge_proc(answer, verdict);
  const char* function = api == 1 ? "cuGetProcAddress" : "cuGetProcAddress_v2";
  return verdict.check(api == 1 ? "lookup-proc-v1" : "lookup-proc-v2",
                       fmt::format("{}, CUDA 11.3 to 13.2, both default streams", function));
}

}  // namespace

Checks lookup_checks(const ProbeReport& report) {
  Checks checks;
  for (const Way& way : kWays) checks.push_back(way_check(report, way));
  checks.push_back(proc_check(report, 1));
  checks.push_back(proc_check(report, 2));
  return checks;
}

Check missing_exports_check(const std::vector<std::string>& driver_functions,
                            const std::vector<std::string>& shim_functions) {
  const std::set<std::string> ours(shim_functions.begin(), shim_functions.end());
  std::vector<std::string> missing, dangerous;
  for (const std::string& name : driver_functions) {
    if (name.rfind("cu", 0) != 0 || ours.count(name) != 0) continue;
    missing.push_back(name);
    if (abi::sounds_like_launch_or_allocation(name)) dangerous.push_back(name);
  }
  Check check = ok("driver-exports", "the shim exports every function of the driver");
  if (!missing.empty())
    check = warn("driver-exports",
                 fmt::format("{} driver functions are newer than this shim and pass it by, {}{}",
                             missing.size(), missing[0], missing.size() > 1 ? ", ..." : ""));
  if (!dangerous.empty())
    check = fail("driver-exports",
                 fmt::format("functions newer than this shim launch or allocate unregulated: {}; "
                             "install a newer gacer",
                             fmt::join(dangerous, ", ")));
  check.details = missing;
  return check;
}

}  // namespace gacer::tools::doctor
