// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/server/block_pool.h"

namespace gacer::simdevice {

BlockPool::BlockPool(unsigned threads) {
  for (unsigned i = 1; i < threads; ++i) threads_.emplace_back([this, i] { worker_loop(i); });
}

BlockPool::~BlockPool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  start_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void BlockPool::take_indices(unsigned worker) {
  // Relaxed: the mutex orders body_ and count_; the counter only deals out numbers.
  for (;;) {
    const uint64_t index = next_.fetch_add(1, std::memory_order_relaxed);
    if (index >= count_) return;
    if (!(*body_)(index, worker)) next_.store(count_, std::memory_order_relaxed);
  }
}

void BlockPool::run(uint64_t count, const Body& body) {
  const bool alone = threads_.empty() || count < 2;
  {
    const std::lock_guard lock(mutex_);
    body_ = &body;
    count_ = count;
    next_.store(0, std::memory_order_relaxed);
    if (!alone) {
      busy_ = static_cast<unsigned>(threads_.size());
      ++round_;
    }
  }
  if (!alone) start_.notify_all();
  take_indices(0);
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [this] { return busy_ == 0; });
}

void BlockPool::worker_loop(unsigned worker) {
  uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    start_.wait(lock, [&] { return stop_ || round_ != seen; });
    if (stop_) return;
    seen = round_;
    lock.unlock();
    take_indices(worker);
    lock.lock();
    if (--busy_ == 0) finished_.notify_one();
  }
}

}  // namespace gacer::simdevice
