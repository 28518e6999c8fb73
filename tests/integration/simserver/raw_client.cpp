// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/simserver/raw_client.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

extern char** environ;

namespace gacer::simdevice::test {
namespace {

UniqueFd try_connect(const std::string& path) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fd.reset();
  return fd;
}

bool readable(int fd, int limit_ms) {
  pollfd wanted{fd, POLLIN, 0};
  return ::poll(&wanted, 1, limit_ms) == 1;
}

ssize_t receive(int socket_fd, void* bytes, size_t size, UniqueFd* fd) {
  iovec data{bytes, size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t got = ::recvmsg(socket_fd, &message, MSG_CMSG_CLOEXEC);
  const cmsghdr* part = CMSG_FIRSTHDR(&message);
  if (got > 0 && part != nullptr && part->cmsg_type == SCM_RIGHTS) {
    int received = -1;
    std::memcpy(&received, CMSG_DATA(part), sizeof received);
    UniqueFd owned(received);
    if (fd != nullptr) *fd = std::move(owned);
  }
  return got;
}

}  // namespace

ServerProcess::ServerProcess(std::vector<std::string> options) {
  char name[] = "/tmp/simserver-test-XXXXXX";
  directory_ = ::mkdtemp(name);
  socket_path_ = directory_ + "/gpu.sock";
  std::vector<std::string> arguments{SIMGPU_SERVER_PATH, "--socket", socket_path_};
  arguments.insert(arguments.end(), options.begin(), options.end());
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  ::setenv("SIMGPU_LOG", (directory_ + "/log").c_str(), 1);
  ::posix_spawn(&pid_, argv[0], nullptr, nullptr, argv.data(), environ);
}

ServerProcess::~ServerProcess() {
  if (pid_ > 0) {
    ::kill(pid_, SIGTERM);
    if (!wait_exit(10'000) && pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }
  std::filesystem::remove_all(directory_);
}

bool ServerProcess::running() {
  return !wait_exit(0).has_value() && pid_ > 0;
}

std::optional<int> ServerProcess::wait_exit(int limit_ms) {
  int status = 0;
  for (int waited = 0; pid_ > 0; ++waited) {
    if (::waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    if (waited >= limit_ms) break;
    ::usleep(1000);
  }
  return std::nullopt;
}

RawClient::RawClient(const std::string& socket_path) {
  eventually([&] { return (socket_ = try_connect(socket_path)).valid(); });
}

RawClient::~RawClient() {
  if (page_ != nullptr) ::munmap(page_, sizeof(ClientPage));
}

void RawClient::send(const void* bytes, size_t size, int fd) {
  iovec data{const_cast<void*>(bytes), size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(part), &fd, sizeof fd);
  }
  (void)!::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
}

ReplyMsg RawClient::request(void* message, size_t size, SimType type, int fd, UniqueFd* reply_fd) {
  const SimHeader header{kSimMagic, kSimVersion, static_cast<uint16_t>(type),
                         static_cast<uint32_t>(size), next_request_++};
  std::memcpy(message, &header, sizeof header);
  send(message, size, fd);
  ReplyMsg reply{};
  reply.error = -1;
  if (!readable(socket_.get(), 20'000)) return reply;
  UniqueFd received;
  if (receive(socket_.get(), &reply, sizeof reply, &received) != sizeof reply) reply.error = -1;
  if (reply_fd != nullptr) *reply_fd = std::move(received);
  return reply;
}

ReplyMsg RawClient::hello(std::string_view label, std::string_view device, bool mps) {
  HelloMsg message{};
  message.pid = static_cast<uint32_t>(::getpid());
  message.mps = mps ? 1 : 0;
  std::memcpy(message.label, label.data(), label.size());
  std::memcpy(message.device, device.data(), device.size());
  UniqueFd page;
  const ReplyMsg reply = ask(message, SimType::kHello, -1, &page);
  if (page.valid()) {
    void* mapped =
        ::mmap(nullptr, sizeof(ClientPage), PROT_READ | PROT_WRITE, MAP_SHARED, page.get(), 0);
    if (mapped != MAP_FAILED) page_ = static_cast<ClientPage*>(mapped);
  }
  return reply;
}

bool RawClient::start(bool mps) {
  return connected() && hello("test", "", mps).error == 0 && page_ != nullptr &&
         context(SimType::kContextCreate, 0).error == 0;
}

ReplyMsg RawClient::context(SimType type, uint32_t context) {
  ContextMsg message{};
  message.context = context;
  return ask(message, type);
}

ReplyMsg RawClient::alloc(uint64_t bytes, uint32_t context) {
  MemAllocMsg message{};
  message.bytes = bytes;
  message.context = context;
  return ask(message, SimType::kMemAlloc);
}

ReplyMsg RawClient::free(uint64_t address) {
  MemAllocMsg message{};
  message.address = address;
  return ask(message, SimType::kMemFree);
}

ReplyMsg RawClient::mem_info() {
  MemAllocMsg message{};
  return ask(message, SimType::kMemInfo);
}

ReplyMsg RawClient::host_map(uint64_t address, uint64_t bytes, int fd, bool charge) {
  HostMapMsg message{};
  message.address = address;
  message.bytes = bytes;
  message.charge_device_memory = charge ? 1 : 0;
  return ask(message, SimType::kHostMap, fd);
}

ReplyMsg RawClient::load(std::string_view ptx, std::string* json) {
  const UniqueFd image(::memfd_create("ptx", MFD_CLOEXEC));
  (void)!::write(image.get(), ptx.data(), ptx.size());
  ModuleMsg message{};
  message.ptx_bytes = ptx.size();
  UniqueFd description;
  const ReplyMsg reply = ask(message, SimType::kModuleLoad, image.get(), &description);
  if (json != nullptr && description.valid())
    *json = read_file("/proc/self/fd/" + std::to_string(description.get()));
  return reply;
}

ReplyMsg RawClient::unload(uint64_t module) {
  ModuleMsg message{};
  message.module = module;
  return ask(message, SimType::kModuleUnload);
}

void RawClient::stream(uint32_t stream, uint32_t blocking, int32_t priority) {
  StreamMsg message{};
  message.header = {kSimMagic, kSimVersion, static_cast<uint16_t>(SimType::kStreamCreate),
                    sizeof message, 0};
  message.stream = stream;
  message.blocking = blocking;
  message.priority = priority;
  send(&message, sizeof message);
}

uint64_t RawClient::launch(uint32_t stream, const Launch& launch) {
  auto message = op<KernelOp>(SimType::kOpKernel, stream);
  message.module = launch.module;
  message.kernel = launch.kernel;
  message.grid[0] = launch.grid_x;
  message.block[0] = launch.block_x;
  message.grid[1] = message.grid[2] = message.block[1] = message.block[2] = 1;
  message.priority = launch.priority;
  message.dynamic_smem_bytes = launch.dynamic_smem_bytes;
  message.cluster = launch.cluster;
  message.flags = launch.flags;
  message.param_bytes = static_cast<uint32_t>(launch.params.size() * sizeof(uint64_t));
  message.op.header.bytes = static_cast<uint32_t>(sizeof message + message.param_bytes);
  std::vector<uint8_t> packet(message.op.header.bytes);
  std::memcpy(packet.data(), &message, sizeof message);
  if (!launch.params.empty())
    std::memcpy(packet.data() + sizeof message, launch.params.data(), message.param_bytes);
  send(packet.data(), packet.size());
  return message.op.seq;
}

uint64_t RawClient::copy(uint32_t stream, CopyKind kind, uint64_t dst, uint64_t src,
                         uint64_t bytes) {
  auto message = op<CopyOp>(SimType::kOpCopy, stream);
  message.dst = dst;
  message.src = src;
  message.width_bytes = bytes;
  message.height = message.depth = 1;
  message.kind = static_cast<uint32_t>(kind);
  message.pinned = 1;
  send(&message, sizeof message);
  return message.op.seq;
}

uint64_t RawClient::memset32(uint32_t stream, uint64_t dst, uint32_t value, uint64_t elements) {
  auto message = op<MemsetOp>(SimType::kOpMemset, stream);
  message.dst = dst;
  message.width_elements = elements;
  message.height = 1;
  message.value = value;
  message.element_bytes = 4;
  send(&message, sizeof message);
  return message.op.seq;
}

void RawClient::record(uint32_t stream, uint32_t event, uint64_t generation) {
  auto message = op<EventOp>(SimType::kOpEventRecord, stream);
  message.event = event;
  message.generation = generation;
  send(&message, sizeof message);
}

void RawClient::wait_event(uint32_t stream, uint32_t event, uint64_t generation) {
  auto message = op<EventOp>(SimType::kOpEventWait, stream);
  message.event = event;
  message.generation = generation;
  send(&message, sizeof message);
}

void RawClient::write_value(uint32_t stream, uint64_t address, uint64_t value) {
  auto message = op<ValueOp>(SimType::kOpWriteValue, stream);
  message.address = address;
  message.value = value;
  message.bytes = 8;
  send(&message, sizeof message);
}

void RawClient::wait_value(uint32_t stream, uint64_t address, uint64_t value) {
  auto message = op<ValueOp>(SimType::kOpWaitValue, stream);
  message.address = address;
  message.value = value;
  message.bytes = 8;
  send(&message, sizeof message);
}

void RawClient::host_function(uint32_t stream, uint64_t token) {
  auto message = op<HostFunctionOp>(SimType::kOpHostFunction, stream);
  message.token = token;
  send(&message, sizeof message);
}

std::optional<uint64_t> RawClient::receive_host_function() {
  HostFunctionOp message{};
  if (!readable(socket_.get(), 20'000)) return std::nullopt;
  if (receive(socket_.get(), &message, sizeof message, nullptr) != sizeof message)
    return std::nullopt;
  if (message.op.header.type != static_cast<uint16_t>(SimType::kRunHostFunction))
    return std::nullopt;
  return message.token;
}

void RawClient::host_function_done(uint64_t token) {
  HostFunctionOp message{};
  message.op.header = {kSimMagic, kSimVersion, static_cast<uint16_t>(SimType::kHostFunctionDone),
                       sizeof message, 0};
  message.token = token;
  send(&message, sizeof message);
}

bool RawClient::sync(uint32_t stream, int limit_ms) {
  return eventually(
      [&] {
        return page_->streams[stream].completed_seq.load(std::memory_order_acquire) >= seq_[stream];
      },
      limit_ms);
}

bool RawClient::event_done(uint32_t event, uint64_t generation) const {
  return page_->events[event].completed_generation.load(std::memory_order_acquire) >= generation;
}

bool RawClient::closed_by_server(int limit_ms) {
  std::vector<uint8_t> rest(kMaxSimMessageBytes);
  for (;;) {
    if (!readable(socket_.get(), limit_ms)) return false;
    if (::recv(socket_.get(), rest.data(), rest.size(), 0) <= 0) return true;
  }
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace gacer::simdevice::test
