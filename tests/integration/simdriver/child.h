// SPDX-License-Identifier: Apache-2.0
// Child processes of tests that use the driver in several processes, or with an environment of
// their own.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <functional>
#include <thread>

namespace gacer::simdriver {

constexpr auto kGenerousLimit = std::chrono::seconds(60);

// Runs `body` in a forked child (made before this process has touched the driver); its exit code,
// or -signal.
class Child {
 public:
  explicit Child(const std::function<int()>& body) : pid_(fork()) {
    if (pid_ == 0) _exit(body());
  }
  // `body` says with gtest what is wrong; exit code 1 then.
  static Child checking(const std::function<void()>& body) {
    return Child([&] {
      const auto* test = testing::UnitTest::GetInstance()->current_test_info();
      const int before = test->result()->total_part_count();
      body();
      std::fflush(stdout);
      return test->result()->total_part_count() == before ? 0 : 1;
    });
  }
  int wait() {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

// A pipe through which a child says that it has got somewhere.
struct Signal {
  int ends[2];
  Signal() { EXPECT_EQ(pipe(ends), 0); }
  void raise() { EXPECT_EQ(write(ends[1], "x", 1), 1); }
  void await() {
    char byte = 0;
    EXPECT_EQ(read(ends[0], &byte, 1), 1);
  }
};

inline bool wait_until(const std::function<bool()>& condition) {
  const auto limit = std::chrono::steady_clock::now() + kGenerousLimit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace gacer::simdriver
