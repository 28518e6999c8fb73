// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/server/fault_rules.h"

#include <cuda.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace gacer::simdevice {
namespace {

constexpr double kUsualSlowness = 10;
constexpr double kMostSlowness = 1e6;

enum class FaultPoint { kAllocation, kLaunch, kAtOnce };

struct Row {
  FaultAction action;
  std::string_view word;
  FaultPoint at;
  int error;
  const char* what;
};
constexpr Row kRows[] = {
#define FAULT(id, word, at, error, what) {FaultAction::id, word, FaultPoint::at, error, what},
#include "runtime/simdevice/server/faults.def"
#undef FAULT
};

const Row& row_of(FaultAction action) {
  return kRows[static_cast<size_t>(action)];
}

// Takes what follows the last `mark` off the end of `text`; empty: there is none.
std::string_view take_after(std::string_view& text, char mark) {
  const size_t at = text.rfind(mark);
  if (at == std::string_view::npos) return {};
  const std::string_view tail = text.substr(at + 1);
  text = text.substr(0, at);
  return tail;
}

bool read_count(std::string_view text, uint64_t& out) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), out);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() && out > 0;
}

bool read_value(std::string_view text, double& out) {
  const std::string copy(text);
  char* end = nullptr;
  out = std::strtod(copy.c_str(), &end);
  return *end == '\0' && std::isfinite(out) && out > 0 && out <= kMostSlowness;
}

Error wrong(std::string_view rule, const std::string& what) {
  return Error{EINVAL, "fault \"" + std::string(rule) + "\": " + what +
                           "; a rule is WORD[:KERNEL][@N][=VALUE]"};
}

}  // namespace

Result<FaultRules::Rule> FaultRules::parse(std::string_view text) {
  Rule rule;
  std::string_view rest = text;
  if (text.find('=') != std::string_view::npos && !read_value(take_after(rest, '='), rule.value))
    return wrong(text, "the value is no number above 0 and up to 1000000");
  if (rest.find('@') != std::string_view::npos && !read_count(take_after(rest, '@'), rule.nth))
    return wrong(text, "what follows @ is no number above 0");
  const bool names_kernel = rest.find(':') != std::string_view::npos;
  if (names_kernel) rule.kernel = take_after(rest, ':');
  if (names_kernel && rule.kernel.empty()) return wrong(text, "no kernel after the colon");
  rule.prefix = names_kernel && rule.kernel.back() == '*';
  if (rule.prefix) rule.kernel.pop_back();
  const auto* row = std::find_if(std::begin(kRows), std::end(kRows),
                                 [&](const Row& r) { return r.word == rest; });
  if (row == std::end(kRows)) return wrong(text, "no such word");
  if (row->at == FaultPoint::kAllocation && names_kernel)
    return wrong(text, "an allocation has no kernel");
  rule.action = row->action;
  return rule;
}

Status FaultRules::add(std::string_view text, pid_t pid, LaunchFault& immediate) {
  std::vector<Rule> added;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    auto rule = parse(text.substr(begin, end - begin));
    if (!rule) return rule.error();
    rule->pid = pid;
    added.push_back(std::move(*rule));
    begin = end + 1;
  }
  for (Rule& rule : added) {
    const bool now = row_of(rule.action).at == FaultPoint::kAtOnce && rule.kernel.empty() &&
                     !rule.prefix && rule.nth == 0;
    if (now) {
      apply(rule, immediate);
    } else {
      rules_.push_back(std::move(rule));
    }
  }
  return {};
}

void FaultRules::clear(pid_t pid) {
  std::erase_if(rules_, [&](const Rule& rule) { return pid == kEveryProcess || rule.pid == pid; });
}

bool FaultRules::due(Rule& rule) {
  ++rule.seen;
  return rule.nth == 0 || rule.seen == rule.nth;
}

void FaultRules::apply(const Rule& rule, LaunchFault& out) {
  const Row& row = row_of(rule.action);
  if (rule.action == FaultAction::kSlow) {
    out.slower *= rule.value == 0 ? kUsualSlowness : rule.value;
    return;
  }
  out.text = std::string("on request: ") + row.what;
  out.hang = out.hang || rule.action == FaultAction::kHang;
  out.lost = out.lost || rule.action == FaultAction::kLost;
  if (out.error == 0) out.error = row.error;
  if (rule.action == FaultAction::kSticky && rule.value >= 1)
    out.error = static_cast<int>(rule.value);
}

bool FaultRules::allocation_fails(pid_t pid) {
  bool fails = false;
  for (Rule& rule : rules_)
    if (row_of(rule.action).at == FaultPoint::kAllocation &&
        (rule.pid == kEveryProcess || rule.pid == pid))
      fails = due(rule) || fails;
  return fails;
}

LaunchFault FaultRules::launch(pid_t pid, std::string_view kernel) {
  LaunchFault fault;
  for (Rule& rule : rules_) {
    const bool named = rule.prefix ? kernel.substr(0, rule.kernel.size()) == rule.kernel
                                   : rule.kernel.empty() || kernel == rule.kernel;
    if (row_of(rule.action).at == FaultPoint::kAllocation || !named ||
        (rule.pid != kEveryProcess && rule.pid != pid))
      continue;
    if (due(rule)) apply(rule, fault);
  }
  return fault;
}

std::string fault_help() {
  std::string text;
  for (const Row& row : kRows) {
    std::string word(row.word);
    word.resize(9, ' ');
    text += "  " + word + row.what + "\n";
  }
  return text;
}

}  // namespace gacer::simdevice
