// SPDX-License-Identifier: Apache-2.0
// Packets of a hostile client, as simgpu-server sees them, with a small device behind. Input:
// records of two bytes (type, flags; bit 0: the size in the header lies) and the message's body;
// its length comes from a table by type, so that most get past the first check.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <deque>
#include <memory>

#include "runtime/base/log.h"
#include "runtime/simdevice/server/message_handler.h"
#include "tests/fuzz/support/fuzz_target.h"

namespace gacer::fuzz {
namespace {

using namespace simdevice;

constexpr uint64_t kMemoryBytes = 32 << 20;
// Nobody: copies of foreign host memory must reach no process.
constexpr pid_t kNoProcess = 0x7fff'fff0;
constexpr const char* kPtx =
    ".version 7.0\n.target sm_70\n.address_size 64\n.global .align 4 .u32 v = 1;\n"
    ".visible .entry k(.param .u64 a)\n{ .reg .b64 %rd<2>; .reg .b32 %r1;\n"
    "ld.param.u64 %rd1, [a]; mov.u32 %r1, %tid.x; st.global.u32 [%rd1], %r1; ret; }\n";

struct Rig {
  Rig() : client_clock(real, 1.0) {
    real.advance(1'000'000);
    auto device_memory = DeviceMemory::create(kMemoryBytes, 0);
    auto registry = ShareRegistry::create();
    require(device_memory.ok() && registry.ok(), "a device");
    memory.push_back(std::move(*device_memory));
    shares = std::make_unique<ShareRegistry>(std::move(*registry));
    executor = std::make_unique<OpExecutor>(runner, client_clock, timeline);
    engines.emplace_back(device, *executor);
    handler = std::make_unique<MessageHandler>(device, memory, engines, *shares, *executor,
                                               client_clock, timeline, clients);
    int ends[2];
    require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends) == 0, "a socket");
    peer.reset(ends[1]);
    auto page = ClientPageOwner::create();
    require(page.ok(), "a page");
    auto owned = std::make_unique<Client>(UniqueFd(ends[0]), kNoProcess, std::move(*page), memory);
    client = owned.get();
    clients[ends[0]] = std::move(owned);
  }
  ~Rig() {
    for (size_t i = 0; i < client->engine_clients.size(); ++i)
      engines[i].remove_client(client->engine_clients[i], client_clock.now_ns());
    executor->forget_client(*client);
    clients.clear();
  }
  void advance() {
    real.advance(2'000'000);
    engines[0].advance_to(client_clock.now_ns());
    if (executor->has_waits()) executor->poll_waits(client_clock.now_ns());
    char reply[4096];
    while (recv(peer.get(), reply, sizeof reply, MSG_DONTWAIT) > 0) {
    }
  }

  const DeviceModel& device = *find_device_model("A100");
  ManualClock real;
  ModelClock client_clock;
  std::vector<DeviceMemory> memory;
  std::unique_ptr<ShareRegistry> shares;
  Timeline timeline{""};
  KernelRunner runner{device, ExecMode::kSample, 1, 20'000};
  std::unique_ptr<OpExecutor> executor;
  std::deque<Engine> engines;
  Clients clients;
  std::unique_ptr<MessageHandler> handler;
  UniqueFd peer;
  Client* client = nullptr;
};

size_t bytes_of(SimType type) {
  switch (type) {
    case SimType::kHello:
      return sizeof(HelloMsg);
    case SimType::kContextCreate:
    case SimType::kContextDestroy:
    case SimType::kHeapLimit:
      return sizeof(ContextMsg);
    case SimType::kMemAlloc:
    case SimType::kMemFree:
    case SimType::kMemInfo:
      return sizeof(MemAllocMsg);
    case SimType::kHostMap:
    case SimType::kHostUnmap:
      return sizeof(HostMapMsg);
    case SimType::kModuleLoad:
    case SimType::kModuleUnload:
      return sizeof(ModuleMsg);
    case SimType::kModuleGlobal:
      return sizeof(ModuleGlobalMsg);
    case SimType::kFault:
      return sizeof(FaultMsg);
    case SimType::kObserve:
    case SimType::kFigures:
      return sizeof(ObserveMsg);
    case SimType::kPeerAccess:
      return sizeof(PeerMsg);
    case SimType::kStreamCreate:
    case SimType::kStreamDestroy:
      return sizeof(StreamMsg);
    case SimType::kOpKernel:
      return sizeof(KernelOp) + 8;
    case SimType::kOpCopy:
      return sizeof(CopyOp);
    case SimType::kOpMemset:
      return sizeof(MemsetOp);
    case SimType::kEventDestroy:
    case SimType::kOpEventRecord:
    case SimType::kOpEventWait:
      return sizeof(EventOp);
    case SimType::kOpHostFunction:
    case SimType::kHostFunctionDone:
      return sizeof(HostFunctionOp);
    case SimType::kOpWriteValue:
    case SimType::kOpWaitValue:
      return sizeof(ValueOp);
    case SimType::kOpNop:
      return sizeof(OpHeader);
    case SimType::kExportToken:
    case SimType::kImportMemory:
    case SimType::kSharedEventCreate:
    case SimType::kSharedEventImport:
    case SimType::kSharedEventDestroy:
    case SimType::kSharedEventQuery:
      return sizeof(TokenMsg);
    default:
      if (type >= SimType::kPhysicalCreate && type <= SimType::kPhysicalImport)
        return sizeof(PhysicalMsg);
      if (type >= SimType::kPoolCreate && type <= SimType::kPoolImportPointer)
        return sizeof(PoolMsg);
      return sizeof(SimHeader);
  }
}

// PTX for loads, sealed memory for mappings.
UniqueFd descriptor_for(SimType type) {
  const bool image = type == SimType::kModuleLoad;
  const bool mapping = type == SimType::kHostMap || type == SimType::kPhysicalCreate;
  if (!image && !mapping) return UniqueFd();
  UniqueFd fd(memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (image) {
    (void)!write(fd.get(), kPtx, strlen(kPtx));
  } else if (ftruncate(fd.get(), 2 << 20) == 0) {
    fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK);
  }
  return fd;
}

// False: the client is disconnected.
bool one_message(Rig& rig, Input& input, Packet& packet, uint32_t number) {
  const auto type = static_cast<SimType>(input.value<uint8_t>());
  const auto flags = input.value<uint8_t>();
  packet.size = bytes_of(type);
  input.take(packet.buffer.data() + sizeof(SimHeader), packet.size - sizeof(SimHeader));
  const bool one_way = type >= SimType::kStreamCreate;
  const SimHeader header{kSimMagic, kSimVersion, static_cast<uint16_t>(type),
                         static_cast<uint32_t>(packet.size - (flags & 1)), one_way ? 0 : number};
  memcpy(packet.buffer.data(), &header, sizeof header);
  if ((flags & 2) != 0 && type == SimType::kOpKernel)
    memcpy(packet.buffer.data() + offsetof(KernelOp, param_bytes), "\x08\0\0\0", 4);
  packet.fd = (flags & 4) != 0 ? UniqueFd() : descriptor_for(type);
  return rig.handler->handle(*rig.client, packet).empty();
}

}  // namespace
}  // namespace gacer::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gacer::fuzz;
  setenv("CUDA_MPS_PIPE_DIRECTORY", "/nonexistent", 1);
  gacer::set_log_level(gacer::LogLevel::kError);
  Rig rig;
  const auto packet = std::make_unique<Packet>();
  Input input(data, size);
  for (uint32_t number = 1; !input.empty() && number < 200; ++number) {
    if (!one_message(rig, input, *packet, number)) break;
    rig.advance();
  }
  return 0;
}
