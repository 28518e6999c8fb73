// SPDX-License-Identifier: Apache-2.0
// What a hostile tenant can write into its segment while a neighbour lives beside it. Input: rounds
// of (time step, count, then as many offset and value pairs); after each round the daemon's own
// round runs.
#include <unistd.h>

#include "runtime/base/log.h"
#include "runtime/daemon/tenant_table.h"
#include "tests/fuzz/support/fuzz_target.h"

namespace gacer::fuzz {
namespace {

using daemon::AttachRequest;
using daemon::TenantProcess;
using daemon::TenantTable;

constexpr size_t kWords = sizeof(abi::Segment) / sizeof(uint64_t);

TenantProcess& attach(TenantTable& table, const char* name) {
  AttachRequest request;
  request.config.name = name;
  request.device = {108, 2048, 65536, 167936, 32};
  return **table.attach(request, 0, getpid(), 1);
}

shm::MemorySegment map(const TenantProcess& process) {
  auto memory = shm::MemorySegment::open(UniqueFd(dup(process.segment_fd())), sizeof(abi::Segment),
                                         shm::Access::kReadWrite);
  require(memory.ok(), "the tenant maps its segment");
  return std::move(memory).value();
}

// Most noise goes where the daemon looks first: control words, first stream slots, first records.
size_t word_index(uint32_t choice) {
  constexpr size_t kGate = offsetof(abi::Segment, gate) / 8;
  constexpr size_t kCosts = offsetof(abi::Segment, costs) / 8;
  constexpr size_t kRing = offsetof(abi::Segment, ring_control) / 8;
  switch (choice % 4) {
    case 0:
      return kGate + choice / 4 % (kCosts - kGate);
    case 1:
      return kRing + choice / 4 % 64;
    case 2:
      return kRing + choice / 4 % (kWords - kRing);
    default:
      return choice / 4 % kWords;
  }
}

void scribble(Input& input, uint64_t* words) {
  const unsigned count = input.value<uint8_t>();
  for (unsigned i = 0; i < count && !input.empty(); ++i) {
    const size_t index = word_index(input.value<uint32_t>());
    words[index] = input.value<uint64_t>();
  }
}

void run(Input input) {
  auto table = std::move(TenantTable::create(regulator::Regulator::create())).value();
  TenantProcess& forger = attach(*table, "forger");
  TenantProcess& neighbour = attach(*table, "neighbour");
  const shm::MemorySegment forged = map(forger);
  uint64_t now_ns = 1;
  while (!input.empty()) {
    now_ns += input.value<uint32_t>();
    scribble(input, static_cast<uint64_t*>(forged.data()));
    table->tick(now_ns);
    require(table->next_tick_ns() > now_ns, "the next round is later than this one");
  }
  require(neighbour.forged_values() == 0 && neighbour.in_flight_ns() == 0,
          "the neighbour is untouched");
  table->detach(forger.identity().process_id, now_ns);
  require(table->core().snapshot().tenants.size() == 1, "only the neighbour is left");
}

}  // namespace
}  // namespace gacer::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gacer::set_log_level(gacer::LogLevel::kError);
  gacer::fuzz::run(gacer::fuzz::Input(data, size));
  return 0;
}
