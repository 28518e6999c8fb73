// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/server/backing.h"

#include <cuda.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "runtime/simdevice/sim_messages.h"

namespace gacer::simdevice {
namespace {

// Without the seal the client could shrink the file under the mapping and end the server with
// SIGBUS.
bool fd_holds(int fd, uint64_t bytes) {
  struct stat info {};
  const int seals = ::fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && ::fstat(fd, &info) == 0 &&
         info.st_size >= 0 && static_cast<uint64_t>(info.st_size) >= bytes;
}

}  // namespace

uint8_t* map_client_memory(int fd, uint64_t bytes) {
  if (fd < 0 || !fd_holds(fd, bytes)) return nullptr;
  void* host = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return host == MAP_FAILED ? nullptr : static_cast<uint8_t*>(host);
}

std::shared_ptr<Backing> Backing::on_device(DeviceMemory& device, uint64_t bytes, pid_t owner) {
  const auto address = device.allocate(bytes, owner);
  if (!address) return nullptr;
  std::shared_ptr<Backing> backing(new Backing);
  backing->device_ = &device;
  backing->owner_ = owner;
  backing->device_address_ = *address;
  backing->bytes_ = DeviceMemory::rounded(bytes);
  backing->host_ = device.host(*address);
  return backing;
}

Result<std::shared_ptr<Backing>> Backing::on_host(UniqueFd fd, uint64_t bytes) {
  uint8_t* host = map_client_memory(fd.get(), bytes);
  if (host == nullptr)
    return Error{CUDA_ERROR_INVALID_VALUE,
                 "host memory descriptor is too small or lacks F_SEAL_SHRINK"};
  std::shared_ptr<Backing> backing(new Backing);
  backing->bytes_ = bytes;
  backing->host_ = host;
  backing->fd_ = std::move(fd);
  return backing;
}

Backing::~Backing() {
  if (device_ != nullptr) {
    device_->free(device_address_, bytes_, owner_);
  } else if (host_ != nullptr) {
    ::munmap(host_, bytes_);
  }
}

uint32_t Backing::location() const {
  return device_ != nullptr ? device_->index() : kHostLocation;
}

}  // namespace gacer::simdevice
