// SPDX-License-Identifier: Apache-2.0
#include "runtime/daemon/hello_check.h"

#include <cerrno>
#include <cstring>
#include <optional>

#include "runtime/abi/control_messages.h"
#include "runtime/shm/handshake.h"
#include "runtime/shm/tenant_fields.h"

namespace gacer::daemon {
namespace {

// Far above any device; a value beyond is a broken or hostile peer.
constexpr uint32_t kMaxSmCount = 4096;
constexpr uint32_t kMaxThreadsPerSm = 1 << 16;
constexpr uint32_t kMaxRegsPerSm = 1 << 24;
constexpr uint32_t kMaxSmemPerSm = 1 << 28;
constexpr uint32_t kMaxBlocksPerSm = 1 << 16;

template <size_t N>
std::optional<std::string> text_of(const char (&field)[N]) {
  const void* end = memchr(field, '\0', N);
  if (end == nullptr) return std::nullopt;
  return std::string(field, static_cast<const char*>(end));
}

Error out_of_range(const char* field, int64_t value, int64_t low, int64_t high) {
  return Error{EINVAL, std::string("hello: ") + field + " is " + std::to_string(value) +
                           ", must be " + std::to_string(low) + ".." + std::to_string(high)};
}

Status check_range(const char* field, int64_t value, int64_t low, int64_t high) {
  if (value < low || value > high) return out_of_range(field, value, low, high);
  return {};
}

Status check_numbers(const abi::HelloMessage& hello) {
  const struct {
    const char* field;
    int64_t value, low, high;
  } rows[] = {
      {"tenant_class", hello.tenant_class, 0, 1},
      {"weight", hello.weight, shm::kMinWeight, shm::kMaxWeight},
      {"priority", hello.priority, shm::kMinPriority, shm::kMaxPriority},
      {"sm_count", hello.sm_count, 0, kMaxSmCount},
      {"threads_per_sm", hello.threads_per_sm, 0, kMaxThreadsPerSm},
      {"regs_per_sm", hello.regs_per_sm, 0, kMaxRegsPerSm},
      {"smem_per_sm_bytes", hello.smem_per_sm_bytes, 0, kMaxSmemPerSm},
      {"blocks_per_sm", hello.blocks_per_sm, 0, kMaxBlocksPerSm},
  };
  for (const auto& row : rows)
    if (Status in_range = check_range(row.field, row.value, row.low, row.high); !in_range)
      return in_range;
  return {};
}

std::string printable(std::string text) {
  for (char& c : text)
    if (c < ' ' || c > '~') c = '?';
  return text;
}

AttachRequest convert(const abi::HelloMessage& hello, const std::string& tenant) {
  AttachRequest request;
  request.config.name = tenant;
  request.config.tenant_class =
      hello.tenant_class == 0 ? regulator::TenantClass::kLatency : regulator::TenantClass::kBatch;
  request.config.weight = hello.weight;
  request.config.priority = hello.priority;
  request.config.memory_limit_bytes = hello.memory_limit_bytes;
  request.device = {hello.sm_count, hello.threads_per_sm, hello.regs_per_sm,
                    hello.smem_per_sm_bytes, hello.blocks_per_sm};
  request.memory_in_use_bytes = hello.memory_in_use_bytes;
  memcpy(request.device_uuid.data(), hello.device_uuid, request.device_uuid.size());
  request.start_time_ticks = hello.start_time_ticks;
  return request;
}

}  // namespace

Result<AttachRequest> check_hello(const void* data, size_t bytes) {
  abi::HelloMessage hello{};
  const Status message = shm::check_message(data, bytes, abi::MessageType::kHello, sizeof hello);
  if (!message) return message.error();
  memcpy(&hello, data, sizeof hello);
  if (const Status numbers = check_numbers(hello); !numbers) return numbers.error();
  const auto tenant = text_of(hello.tenant);
  if (!tenant || !shm::is_tenant_name(*tenant))
    return Error{EINVAL, "hello: tenant name must be 1.." + std::to_string(shm::kMaxTenantName) +
                             " printable ASCII characters"};
  const auto executable = text_of(hello.executable);
  if (!executable) return Error{EINVAL, "hello: executable is not NUL-terminated"};
  AttachRequest request = convert(hello, *tenant);
  request.executable = printable(*executable);
  return request;
}

}  // namespace gacer::daemon
