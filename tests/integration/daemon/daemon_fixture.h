// SPDX-License-Identifier: Apache-2.0
// A daemon on a thread of the test, and tenants that speak the protocol without any CUDA.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "runtime/base/clock.h"
#include "runtime/daemon/daemon.h"
#include "runtime/shm/futex.h"
#include "runtime/shm/tenant_channel.h"

namespace gacer::daemon {

inline constexpr uint32_t kTimeoutMs = 30'000;

// Polls; false after a limit that no working daemon comes near.
inline bool eventually(const std::function<bool()>& condition) {
  const uint64_t limit_ns = monotonic_now_ns() + uint64_t{kTimeoutMs} * 1'000'000;
  while (monotonic_now_ns() < limit_ns) {
    if (condition()) return true;
    usleep(1000);
  }
  return false;
}

inline abi::HelloMessage hello_of(const char* tenant, abi::TenantClass tenant_class,
                                  uint64_t memory_limit_bytes = 0) {
  abi::HelloMessage hello = shm::make_hello();
  strncpy(hello.tenant, tenant, sizeof hello.tenant - 1);
  hello.tenant_class = static_cast<uint32_t>(tenant_class);
  hello.memory_limit_bytes = memory_limit_bytes;
  hello.sm_count = 108;
  hello.threads_per_sm = 2048;
  return hello;
}

inline abi::GateMode mode_of(const shm::Attachment& tenant) {
  return static_cast<abi::GateMode>(tenant.segment().gate.mode.load(std::memory_order_acquire));
}

// Work in flight on stream slot 0.
inline void submit(const shm::Attachment& tenant, uint64_t cost_ns) {
  abi::StreamSlot& slot = tenant.segment().streams[0];
  slot.in_use.store(1);
  slot.submitted_cost_ns.fetch_add(cost_ns);
  tenant.segment().progress.launches.fetch_add(1);
}

inline void complete_all(const shm::Attachment& tenant) {
  abi::StreamSlot& slot = tenant.segment().streams[0];
  slot.completed_cost_ns.store(slot.submitted_cost_ns.load());
}

class DaemonTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/gacer-daemon-XXXXXX";
    folder_ = mkdtemp(name);
    path_ = folder_ + "/g.sock";
    start();
  }
  void TearDown() override {
    stop();
    std::filesystem::remove_all(folder_);
  }

  Result<std::unique_ptr<Daemon>> create() {
    return Daemon::create(path_, regulator::Regulator::create("priority"));
  }
  void start() {
    auto daemon = create();
    ASSERT_TRUE(daemon.ok()) << daemon.error().message;
    daemon_ = std::move(daemon).value();
    thread_ = std::thread([this] { daemon_->run(); });
  }
  void stop() {
    if (!thread_.joinable()) return;
    daemon_->request_stop();
    thread_.join();
    daemon_.reset();
  }

  shm::Attachment attach(const abi::HelloMessage& hello) {
    auto attachment = shm::attach(path_, hello, kTimeoutMs);
    EXPECT_TRUE(attachment.ok()) << attachment.error().message;
    return attachment.ok() ? std::move(attachment).value() : shm::Attachment{};
  }

  std::string admin(const std::string& text) {
    auto socket = shm::connect_socket(path_, kTimeoutMs);
    if (!socket) return socket.error().message;
    auto header = shm::make_message<abi::MemoryMessage>(abi::MessageType::kAdmin).header;
    header.bytes = static_cast<uint32_t>(sizeof header + text.size());
    const std::string packet =
        std::string(reinterpret_cast<const char*>(&header), sizeof header) + text;
    EXPECT_TRUE(shm::send_packet(socket->get(), packet.data(), packet.size()).ok());
    std::string reply(abi::kMaxAdminBytes, '\0');
    const auto received = shm::receive_packet(socket->get(), reply.data(), reply.size());
    if (!received) return received.error().message;
    return reply.substr(sizeof header, received->bytes - sizeof header);
  }
  nlohmann::json status() { return nlohmann::json::parse(admin("status").substr(3)); }
  // The tenant of that name; null when there is none.
  nlohmann::json tenant(const std::string& name) {
    const nlohmann::json document = status();
    for (const auto& entry : document.at("tenants"))
      if (entry.at("name") == name) return entry;
    return nullptr;
  }
  bool is_gone(const std::string& name) {
    return eventually([&] { return tenant(name).is_null(); });
  }

  std::string folder_, path_;
  std::unique_ptr<Daemon> daemon_;
  std::thread thread_;
};

// A process of its own that runs `body` and then sleeps until it is killed.
class ChildProcess {
 public:
  explicit ChildProcess(const std::function<bool()>& body) {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    const UniqueFd reader(ends[0]);
    UniqueFd writer(ends[1]);
    pid_ = fork();
    if (pid_ == 0) {
      const char done = body() ? 'y' : 'n';
      [[maybe_unused]] const ssize_t written = write(writer.get(), &done, 1);
      for (;;) pause();
    }
    writer.reset();
    char done = 'n';
    EXPECT_EQ(read(reader.get(), &done, 1), 1);
    EXPECT_EQ(done, 'y');
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess() { kill_now(); }

  void kill_now() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
};

}  // namespace gacer::daemon
