// SPDX-License-Identifier: Apache-2.0
#include "interpose/tenant_config.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace gacer::interpose {
namespace {

constexpr const char* kSystemSocket = "/run/gacer/gacer.sock";
constexpr uint64_t kInitialPidNamespace = 0xeffffffc;  // PROC_PID_INIT_INO of Linux

// Collects the names of unusable settings into one line.
class Complaints {
 public:
  Complaints(char* line, size_t bytes) : line_(line), bytes_(bytes) {
    if (bytes_ > 0) line_[0] = '\0';
  }
  void add(const char* name, const char* text, const char* expected) {
    if (used_ >= bytes_) return;
    const int added = snprintf(line_ + used_, bytes_ - used_, "%s%s='%.40s' ignored, expected %s",
                               used_ > 0 ? "; " : "", name, text, expected);
    used_ += added > 0 ? static_cast<size_t>(added) : 0;
  }

 private:
  char* line_;
  size_t bytes_;
  size_t used_ = 0;
};

const char* value_of(EnvironmentReader environment, const char* name) {
  const char* text = environment(name);
  return text != nullptr && text[0] != '\0' ? text : nullptr;
}

bool parse_integer(const char* text, long lowest, long highest, long& value) {
  char* end = nullptr;
  errno = 0;
  value = strtol(text, &end, 10);
  return errno == 0 && end != text && *end == '\0' && value >= lowest && value <= highest;
}

void copy_text(char* target, size_t bytes, const char* text) {
  snprintf(target, bytes, "%s", text);
}

const char* base_name(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

void read_socket(EnvironmentReader environment, const ProcessFacts& process, TenantConfig& config,
                 Complaints& complaints) {
  const char* named = value_of(environment, "GACER_SOCKET");
  if (named != nullptr && strlen(named) >= sizeof config.socket_path) {
    complaints.add("GACER_SOCKET", named, "a path of at most 107 bytes");
    named = nullptr;
  }
  config.socket_was_named = named != nullptr;
  const char* runtime_dir = process.uid != 0 ? value_of(environment, "XDG_RUNTIME_DIR") : nullptr;
  if (named == nullptr && runtime_dir != nullptr &&
      strlen(runtime_dir) + sizeof "/gacer.sock" <= sizeof config.socket_path) {
    snprintf(config.socket_path, sizeof config.socket_path, "%s/gacer.sock", runtime_dir);
    return;
  }
  copy_text(config.socket_path, sizeof config.socket_path,
            named != nullptr ? named : kSystemSocket);
}

void read_tenant_name(EnvironmentReader environment, const ProcessFacts& process,
                      TenantConfig& config, Complaints& complaints) {
  const char* named = value_of(environment, "GACER_TENANT");
  if (named != nullptr && strlen(named) < sizeof config.tenant)
    return copy_text(config.tenant, sizeof config.tenant, named);
  if (named != nullptr) complaints.add("GACER_TENANT", named, "at most 63 bytes");
  const char* executable = base_name(process.executable);
  // Pids repeat from one container to the next: two strangers must not become one tenant.
  if (process.pid_namespace == 0 || process.pid_namespace == kInitialPidNamespace)
    snprintf(config.tenant, sizeof config.tenant, "%.48s-%d", executable, process.pid);
  else
    snprintf(config.tenant, sizeof config.tenant, "%.30s-%d-ns%llu", executable, process.pid,
             static_cast<unsigned long long>(process.pid_namespace));
}

void read_class(EnvironmentReader environment, TenantConfig& config, Complaints& complaints) {
  const char* text = value_of(environment, "GACER_CLASS");
  if (text == nullptr || strcmp(text, "batch") == 0) return;
  if (strcmp(text, "latency") == 0)
    config.tenant_class = abi::TenantClass::kLatency;
  else
    complaints.add("GACER_CLASS", text, "latency or batch");
}

void read_numbers(EnvironmentReader environment, TenantConfig& config, Complaints& complaints) {
  const char* memory = value_of(environment, "GACER_MEM");
  if (memory != nullptr && !parse_bytes(memory, config.memory_limit_bytes))
    complaints.add("GACER_MEM", memory, "bytes such as 8G or 512M");
  long number = 0;
  const char* weight = value_of(environment, "GACER_WEIGHT");
  if (weight != nullptr && parse_integer(weight, 1, 1000, number))
    config.weight = static_cast<uint32_t>(number);
  else if (weight != nullptr)
    complaints.add("GACER_WEIGHT", weight, "1..1000");
  const char* priority = value_of(environment, "GACER_PRIORITY");
  if (priority != nullptr && parse_integer(priority, -1000, 1000, number))
    config.priority = static_cast<int32_t>(number);
  else if (priority != nullptr)
    complaints.add("GACER_PRIORITY", priority, "-1000..1000");
}

int shift_of_suffix(char suffix) {
  switch (suffix) {
    case 'k':
    case 'K':
      return 10;
    case 'm':
    case 'M':
      return 20;
    case 'g':
    case 'G':
      return 30;
    case 't':
    case 'T':
      return 40;
    default:
      return -1;
  }
}

}  // namespace

bool parse_bytes(const char* text, uint64_t& bytes) {
  if (text[0] < '0' || text[0] > '9') return false;
  char* end = nullptr;
  errno = 0;
  const unsigned long long number = strtoull(text, &end, 10);
  int shift = 0;
  if (*end != '\0') {
    shift = shift_of_suffix(*end++);
    if (shift >= 0 && *end == 'i') ++end;
    if (shift >= 0 && *end == 'B') ++end;
  }
  if (errno != 0 || shift < 0 || *end != '\0' || number == 0) return false;
  if (number > (UINT64_MAX >> shift)) return false;
  bytes = static_cast<uint64_t>(number) << shift;
  return true;
}

TenantConfig read_tenant_config(EnvironmentReader environment, const ProcessFacts& process,
                                char* warning, size_t warning_bytes) {
  TenantConfig config;
  Complaints complaints(warning, warning_bytes);
  read_socket(environment, process, config, complaints);
  read_tenant_name(environment, process, config, complaints);
  read_class(environment, config, complaints);
  read_numbers(environment, config, complaints);
  return config;
}

}  // namespace gacer::interpose
