// SPDX-License-Identifier: Apache-2.0
#include "runtime/shm/memory_segment.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "runtime/shm/segment_format.h"

namespace gacer::shm {
namespace {

constexpr uint64_t kBytes = 8192;

UniqueFd duplicate(int fd) {
  return UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, 0));
}

UniqueFd unsealed_memfd(uint64_t bytes) {
  UniqueFd fd(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(ftruncate(fd.get(), static_cast<off_t>(bytes)), 0);
  return fd;
}

TEST(MemorySegment, CreatorAndOpenerSeeTheSameBytes) {
  auto mine = MemorySegment::create("test", kBytes);
  ASSERT_TRUE(mine.ok()) << mine.error().message;
  auto theirs = MemorySegment::open(duplicate(mine->fd()), kBytes, Access::kReadWrite);
  ASSERT_TRUE(theirs.ok()) << theirs.error().message;
  static_cast<char*>(mine->data())[kBytes - 1] = 7;
  EXPECT_EQ(static_cast<char*>(theirs->data())[kBytes - 1], 7);
  EXPECT_EQ(static_cast<char*>(theirs->data())[0], 0);
}

TEST(MemorySegment, CannotBeResizedOrUnsealed) {
  auto mine = MemorySegment::create("test", kBytes);
  ASSERT_TRUE(mine.ok());
  EXPECT_NE(ftruncate(mine->fd(), 0), 0);
  EXPECT_NE(ftruncate(mine->fd(), 2 * kBytes), 0);
  EXPECT_NE(fcntl(mine->fd(), F_ADD_SEALS, F_SEAL_WRITE), 0);
}

TEST(MemorySegment, IsCloseOnExec) {
  auto mine = MemorySegment::create("test", kBytes);
  ASSERT_TRUE(mine.ok());
  EXPECT_NE(fcntl(mine->fd(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(MemorySegment, PublishedMemoryIsReadOnlyForAllOthers) {
  auto mine = MemorySegment::create_published("test", kBytes);
  ASSERT_TRUE(mine.ok()) << mine.error().message;
  static_cast<char*>(mine->data())[0] = 5;
  auto theirs = MemorySegment::open(duplicate(mine->fd()), kBytes, Access::kReadOnly);
  ASSERT_TRUE(theirs.ok()) << theirs.error().message;
  EXPECT_EQ(static_cast<char*>(theirs->data())[0], 5);
  EXPECT_NE(mprotect(theirs->data(), kBytes, PROT_READ | PROT_WRITE), 0);
  EXPECT_FALSE(MemorySegment::open(duplicate(mine->fd()), kBytes, Access::kReadWrite).ok());
}

TEST(MemorySegment, RefusesAWrongSize) {
  auto mine = MemorySegment::create("test", kBytes);
  auto theirs = MemorySegment::open(duplicate(mine->fd()), kBytes * 2, Access::kReadWrite);
  ASSERT_FALSE(theirs.ok());
  EXPECT_EQ(theirs.error().code, EINVAL);
  EXPECT_NE(theirs.error().message.find("8192"), std::string::npos) << theirs.error().message;
}

TEST(MemorySegment, RefusesAMemfdThatCouldStillShrink) {
  auto theirs = MemorySegment::open(unsealed_memfd(kBytes), kBytes, Access::kReadWrite);
  ASSERT_FALSE(theirs.ok());
  EXPECT_NE(theirs.error().message.find("sealed"), std::string::npos) << theirs.error().message;
}

TEST(MemorySegment, RefusesWritableMemoryWhereReadOnlyIsDue) {
  auto mine = MemorySegment::create("test", kBytes);
  EXPECT_FALSE(MemorySegment::open(duplicate(mine->fd()), kBytes, Access::kReadOnly).ok());
}

TEST(MemorySegment, RefusesForeignDescriptors) {
  EXPECT_FALSE(MemorySegment::open(UniqueFd(), kBytes, Access::kReadWrite).ok());
  UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  EXPECT_FALSE(MemorySegment::open(std::move(null), kBytes, Access::kReadWrite).ok());
  UniqueFd file(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE(MemorySegment::open(std::move(file), kBytes, Access::kReadWrite).ok());
}

TEST(MemorySegment, RefusesSizeZero) {
  EXPECT_FALSE(MemorySegment::create("test", 0).ok());
  EXPECT_FALSE(MemorySegment::open(unsealed_memfd(0), 0, Access::kReadWrite).ok());
}

class SegmentFormat : public testing::Test {
 protected:
  void SetUp() override {
    auto made = MemorySegment::create("test", sizeof(abi::Segment));
    ASSERT_TRUE(made.ok());
    memory_ = std::move(made).value();
  }
  abi::Segment& segment() { return *static_cast<abi::Segment*>(memory_.data()); }

  MemorySegment memory_;
};

TEST_F(SegmentFormat, AFormattedSegmentIsAccepted) {
  format_segment(segment(), 3, 4);
  const Status checked = check_segment(memory_);
  EXPECT_TRUE(checked.ok()) << checked.error().message;
  EXPECT_EQ(segment().header.process_id, 4u);
}

TEST_F(SegmentFormat, ASegmentWithoutVersionIsNotReady) {
  const Status checked = check_segment(memory_);
  ASSERT_FALSE(checked.ok());
  EXPECT_NE(checked.error().message.find("not ready"), std::string::npos);
}

TEST_F(SegmentFormat, AnotherVersionIsRefusedWithBothNumbers) {
  format_segment(segment(), 3, 4);
  segment().header.version.store(77);
  const Status checked = check_segment(memory_);
  ASSERT_FALSE(checked.ok());
  EXPECT_NE(checked.error().message.find("77"), std::string::npos);
  EXPECT_NE(checked.error().message.find(std::to_string(abi::kAbiVersion)), std::string::npos);
}

TEST_F(SegmentFormat, AnotherMagicOrShapeIsRefused) {
  format_segment(segment(), 3, 4);
  segment().header.magic ^= 1;
  EXPECT_FALSE(check_segment(memory_).ok());
  format_segment(segment(), 3, 4);
  segment().header.ring_slots = 8;
  EXPECT_FALSE(check_segment(memory_).ok());
}

TEST(BoardFormat, IsAcceptedOnlyWhenFormatted) {
  auto memory = MemorySegment::create_published("test", sizeof(abi::Board));
  ASSERT_TRUE(memory.ok());
  EXPECT_FALSE(check_board(*memory).ok());
  format_board(*static_cast<abi::Board*>(memory->data()));
  EXPECT_TRUE(check_board(*memory).ok());
}

}  // namespace
}  // namespace gacer::shm
