// SPDX-License-Identifier: Apache-2.0
#include "runtime/shm/memory_segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <exception>

namespace gacer::shm {
namespace {

constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

Error os_error(const char* what) {
  const int code = errno;
  return Error{code, std::string(what) + ": " + strerror(code)};
}

// What Boost wants of a mappable object; the descriptor stays ours.
class BorrowedFd {
 public:
  explicit BorrowedFd(int fd) : fd_(fd) {}
  boost::interprocess::mapping_handle_t get_mapping_handle() const {
    return boost::interprocess::ipcdetail::mapping_handle_from_file_handle(fd_);
  }

 private:
  int fd_;
};

Status check_received(int fd, uint64_t bytes, Access access) {
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0) return Error{EINVAL, "shared segment: received descriptor is not a memfd"};
  if ((seals & kSizeSeals) != kSizeSeals)
    return Error{EINVAL, "shared segment: memfd is not sealed against resizing"};
  if (access == Access::kReadOnly && (seals & (F_SEAL_FUTURE_WRITE | F_SEAL_WRITE)) == 0)
    return Error{EINVAL, "shared segment: memfd of read-only data is not sealed against writing"};
  struct stat info {};
  if (fstat(fd, &info) != 0) return os_error("shared segment: fstat");
  if (info.st_size < 0 || static_cast<uint64_t>(info.st_size) != bytes)
    return Error{EINVAL, "shared segment: memfd has " + std::to_string(info.st_size) +
                             " bytes, expected " + std::to_string(bytes)};
  return {};
}

}  // namespace

Result<MemorySegment> MemorySegment::create(const char* name, uint64_t bytes) {
  return create_sealed(name, bytes, 0);
}

Result<MemorySegment> MemorySegment::create_published(const char* name, uint64_t bytes) {
  return create_sealed(name, bytes, F_SEAL_FUTURE_WRITE);
}

Result<MemorySegment> MemorySegment::create_sealed(const char* name, uint64_t bytes,
                                                   int extra_seals) {
  if (bytes == 0) return Error{EINVAL, "shared segment: size 0"};
  MemorySegment segment;
  segment.fd_.reset(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!segment.fd_.valid()) return os_error("shared segment: memfd_create");
  if (ftruncate(segment.fd_.get(), static_cast<off_t>(bytes)) != 0)
    return os_error("shared segment: ftruncate");
  if (const Status mapped = segment.map(bytes, Access::kReadWrite); !mapped) return mapped.error();
  if (fcntl(segment.fd_.get(), F_ADD_SEALS, kSizeSeals | extra_seals) != 0)
    return os_error("shared segment: F_ADD_SEALS");
  return segment;
}

Result<MemorySegment> MemorySegment::open(UniqueFd fd, uint64_t bytes, Access access) {
  if (bytes == 0) return Error{EINVAL, "shared segment: size 0"};
  if (const Status checked = check_received(fd.get(), bytes, access); !checked)
    return checked.error();
  MemorySegment segment;
  segment.fd_ = std::move(fd);
  if (const Status mapped = segment.map(bytes, access); !mapped) return mapped.error();
  return segment;
}

Status MemorySegment::map(uint64_t bytes, Access access) {
  namespace ipc = boost::interprocess;
  const ipc::mode_t mode = access == Access::kReadOnly ? ipc::read_only : ipc::read_write;
  try {
    region_ = ipc::mapped_region(BorrowedFd(fd_.get()), mode, 0, bytes);
  } catch (const std::exception& failure) {
    return Error{ENOMEM, std::string("shared segment: cannot map: ") + failure.what()};
  }
  return {};
}

}  // namespace gacer::shm
