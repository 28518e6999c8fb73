// SPDX-License-Identifier: Apache-2.0
#include "tests/support/nulldriver/null_memory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <random>
#include <unordered_map>

namespace gacer::test {
namespace {

std::mutex mutex;
std::unordered_map<uint64_t, uint64_t> sizes;
NullMemoryFile* file = nullptr;
int file_fd = -1;
pid_t owner = 0;
uint32_t slot = 0;

void initialise() {
  flock(file_fd, LOCK_EX);
  if (file->ready == 0) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&file->lock, &attributes);
    file->ready = 1;
  }
  flock(file_fd, LOCK_UN);
}

struct flock lock_of(uint32_t index, short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = index;
  lock.l_len = 1;
  return lock;
}

// A slot that nobody's lock holds belonged to a process that is gone.
bool alive(uint32_t index) {
  if (owner == getpid() && index == slot) return true;
  struct flock lock = lock_of(index, F_WRLCK);
  return fcntl(file_fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

class FileLock {
 public:
  FileLock() {
    if (pthread_mutex_lock(&file->lock) == EOWNERDEAD) pthread_mutex_consistent(&file->lock);
  }
  ~FileLock() { pthread_mutex_unlock(&file->lock); }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
};

void forget_dead() {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < NullMemoryFile::kSlots; ++i) {
    NullMemoryFile::Slot& each = file->slots[i];
    if (each.taken == 0) continue;
    if (!alive(i)) each = {0, 0};
    sum += each.bytes;
  }
  file->sum_bytes = sum;
}

bool open_file() {
  const char* path = getenv("NULLCUDA_MEMORY");
  if (path == nullptr) return false;
  file_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file_fd < 0 || ftruncate(file_fd, sizeof(NullMemoryFile)) != 0) return false;
  void* mapped =
      mmap(nullptr, sizeof(NullMemoryFile), PROT_READ | PROT_WRITE, MAP_SHARED, file_fd, 0);
  if (mapped == MAP_FAILED) return false;
  file = static_cast<NullMemoryFile*>(mapped);
  initialise();
  return true;
}

// Also after a fork: the child's memory is its own.
bool ready() {
  if (owner == getpid()) return file != nullptr;
  owner = getpid();
  sizes.clear();
  if (file == nullptr && !open_file()) return false;
  const FileLock guard;
  forget_dead();
  for (slot = 0; slot < NullMemoryFile::kSlots && file->slots[slot].taken != 0; ++slot) {
  }
  if (slot == NullMemoryFile::kSlots) abort();
  struct flock lock = lock_of(slot, F_WRLCK);
  if (fcntl(file_fd, F_SETLK, &lock) != 0) abort();
  file->slots[slot] = {1, 0};
  return true;
}

// NULLCUDA_ALLOC_DELAY_US: as long as a slow driver may take, at random.
void delay() {
  static const char* const most = getenv("NULLCUDA_ALLOC_DELAY_US");
  static thread_local std::minstd_rand random(static_cast<unsigned>(getpid()));
  if (most != nullptr) usleep(static_cast<useconds_t>(random() % strtoul(most, nullptr, 10)));
}

}  // namespace

bool null_memory_allocated(uint64_t address, uint64_t bytes) {
  delay();
  const std::lock_guard guard(mutex);
  if (!ready()) return false;
  sizes[address] = bytes;
  const FileLock lock;
  file->slots[slot].bytes += bytes;
  file->sum_bytes += bytes;
  ++file->allocations;
  if (file->sum_bytes > file->highest_bytes) forget_dead();
  file->highest_bytes = std::max(file->highest_bytes, file->sum_bytes);
  return true;
}

bool null_memory_freed(uint64_t address) {
  const std::lock_guard guard(mutex);
  if (!ready()) return true;
  const auto found = sizes.find(address);
  if (found == sizes.end()) return false;
  const FileLock lock;
  file->slots[slot].bytes -= found->second;
  file->sum_bytes -= found->second;
  sizes.erase(found);
  return true;
}

}  // namespace gacer::test
