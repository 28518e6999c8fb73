// SPDX-License-Identifier: Apache-2.0
// A few threads that run the blocks of one launch at a time, in increasing order of their numbers.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace gacer::simdevice {

class BlockPool {
 public:
  // `threads` counts the caller of run(); at least 1.
  explicit BlockPool(unsigned threads);
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  // Calls body(index, worker) for index = 0 .. count-1 until one returns false; returns when all
  // calls are over. `worker` < workers() names the thread. One run() at a time.
  using Body = std::function<bool(uint64_t index, unsigned worker)>;
  void run(uint64_t count, const Body& body);
  unsigned workers() const { return static_cast<unsigned>(threads_.size()) + 1; }

 private:
  void worker_loop(unsigned worker);
  void take_indices(unsigned worker);

  std::mutex mutex_;
  std::condition_variable start_;
  std::condition_variable finished_;
  const Body* body_ = nullptr;
  uint64_t count_ = 0;
  std::atomic<uint64_t> next_{0};
  uint64_t round_ = 0;
  unsigned busy_ = 0;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace gacer::simdevice
