// SPDX-License-Identifier: Apache-2.0
#include "runtime/daemon/enforcement_json.h"

#include <nlohmann/json.hpp>
#include <string_view>

namespace gacer::daemon {
namespace {

using nlohmann::json;
using regulator::GateMode;

// Calls of one kind while attached, capturing excepted: a captured call runs with its graph.
uint64_t unregulated(const CoverageTotals& coverage, std::string_view kind) {
  uint64_t sum = 0;
  for (size_t f = 0; f < coverage.attached.size(); ++f)
    for (size_t s = 0; s < coverage.attached[f].size(); ++s)
      if (kCoveredKinds[f] == kind && s != static_cast<size_t>(abi::CoverageStream::kCapturing))
        sum += coverage.attached[f][s];
  return sum;
}

std::string passed_by(uint64_t calls, const char* what) {
  return std::to_string(calls) + " " + what +
         " reached the driver unregulated ('gacer status "
         "--coverage' names them)";
}

std::string why_compute_is_not(const regulator::Snapshot& state,
                               const regulator::TenantSnapshot& tenant,
                               const CoverageTotals& coverage) {
  if (state.policy == "passthrough") return "policy passthrough only observes";
  if (const uint64_t calls = unregulated(coverage, "launch"); calls != 0)
    return passed_by(calls, "launches");
  if (tenant.gate.mode != GateMode::kUngated) return "";
  if (tenant.config.tenant_class == regulator::TenantClass::kLatency)
    return "latency tenants are not held by this policy";
  return "nobody has to be protected from it now";
}

std::string why_memory_is_not(const MemoryAnswer& memory, const CoverageTotals& coverage) {
  if (memory.tenant_limit_bytes == 0) return "no limit was set (gacer run --mem)";
  if (const uint64_t calls = unregulated(coverage, "allocation"); calls != 0)
    return passed_by(calls, "allocations");
  return "";
}

json entry(const std::string& why) {
  return {{"enforced", why.empty()}, {"why", why}};
}

}  // namespace

json enforcement_json(const regulator::Snapshot& state, const regulator::TenantSnapshot& tenant,
                      const MemoryAnswer& memory, const CoverageTotals& coverage) {
  return {{"compute", entry(why_compute_is_not(state, tenant, coverage))},
          {"memory", entry(why_memory_is_not(memory, coverage))}};
}

}  // namespace gacer::daemon
