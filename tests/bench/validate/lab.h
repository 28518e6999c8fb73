// SPDX-License-Identifier: Apache-2.0
// A simulated device without processes: kernels are executed by the real executor (a sample of
// their blocks), and what they did is timed by the real engine, in virtual time.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/simdevice/engine/engine.h"

namespace gacer::bench {

// Ends the program with one line.
[[noreturn]] void give_up(const std::string& why);

// Kernel parameters as the ISA lays them out.
class Arguments {
 public:
  template <typename T>
  Arguments& add(T value) {
    bytes_.resize((bytes_.size() + sizeof value - 1) / sizeof value * sizeof value);
    bytes_.resize(bytes_.size() + sizeof value);
    std::memcpy(bytes_.data() + bytes_.size() - sizeof value, &value, sizeof value);
    return *this;
  }
  const std::vector<uint8_t>& bytes() const { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
};

class Lab {
 public:
  Lab(const simdevice::DeviceModel& device, std::string_view ptx);
  ~Lab();
  Lab(const Lab&) = delete;
  Lab& operator=(const Lab&) = delete;

  const simdevice::DeviceModel& device() const { return device_; }
  // Zeroed; only what is touched takes memory here.
  uint64_t allocate(uint64_t bytes);
  uint8_t* host(uint64_t address);

  // Runs up to four blocks of the grid. `footprint_bytes`: of the allocations passed.
  simdevice::StartedKernel run(const std::string& kernel, uint32_t blocks, uint32_t threads,
                               const Arguments& arguments, uint64_t footprint_bytes);

 private:
  simdevice::DeviceModel device_;
  std::shared_ptr<simdevice::Program> program_;
  std::vector<simdevice::MemoryRegion> regions_;
};

// Kernels submitted at time 0 and what became of them.
class Timeline final : public simdevice::EngineHost {
 public:
  explicit Timeline(const simdevice::DeviceModel& device) : engine_(device, *this) {}

  uint32_t add_client(uint32_t sm_cap = 0) { return engine_.add_client({true, sm_cap, 0}); }
  uint32_t add_stream(uint32_t client) {
    return engine_.add_stream(client, 0, simdevice::StreamKind::kNonBlocking, 0);
  }
  void launch(uint32_t stream, const simdevice::StartedKernel& kernel);
  // From the first start to the last end, ns.
  double run();
  // Of the last end, ns since submission.
  double end_ns() const;
  // Of the n-th launch, ns.
  double duration(size_t n) const;

  simdevice::StartResult op_started(const simdevice::Op& op, uint64_t now_ns) override;
  void op_ended(const simdevice::Op& op, uint64_t start_ns, uint64_t end_ns) override;

 private:
  struct Launch {
    simdevice::StartedKernel kernel;
    uint64_t start_ns = 0, end_ns = 0;
  };
  simdevice::Engine engine_;
  std::vector<Launch> launches_;
};

}  // namespace gacer::bench
