// SPDX-License-Identifier: Apache-2.0
// Protocol between the simulated driver (libcuda.so.1, one per process: "facade") and the server
// that owns the simulated device. SOCK_SEQPACKET, one message a packet, versioned like runtime/abi:
// exact match or refused.
//
//   facade --Hello--> server --HelloReply + fds [client page]--> facade
//   requests carry request_id != 0 and are answered by one Reply with the same id (possibly with an
//   fd); stream operations carry request_id 0, are never answered, and complete through the client
//   page.
//
// Order: messages of one client are handled in the order they were sent, so an operation may name a
// stream, event or module created by an earlier message. A broken message gets the client
// disconnected.
// Addresses: device i has [kDeviceBase + i * kDeviceSpan, + memory_bytes); what kPhysicalMap maps
// lies in [kVirtualBase, kVirtualEnd) where the facade chooses (cuMemAddressReserve). The facade
// reserves what is in use of both (PROT_NONE) so that no host pointer can equal a device pointer.
// Host pinned and managed memory keeps its host address (UVA).
// Stream 0 is the legacy stream of context 0 (the primary context of the first device that the
// process sees) and exists from the start; any other context's legacy stream is made with
// kStreamCreate (blocking = 2) so that its sequence numbers have a slot of their own. A stream is
// on the device of its context. The server reads foreign host memory with process_vm_readv: where
// Yama restricts ptrace the facade calls prctl(PR_SET_PTRACER, pid of the server from SO_PEERCRED).
// What one process exports for another (kPhysicalExport) is a descriptor that the server knows
// again; the memory lives until all copies of it are closed and no client refers to it.
// The server stops reading a client that has more than kSimMaxPendingOps operations pending:
// sending then blocks, as launching does on a real device whose queue is full. kHostFunctionDone is
// therefore sent without MSG_DONTWAIT too; while a host function or value wait is outstanding the
// server keeps reading.
#pragma once

#include <atomic>
#include <cstdint>

namespace gacer::simdevice {

inline constexpr uint32_t kSimVersion = 4;
inline constexpr uint32_t kSimMagic = 0x47'4D'49'53U;  // "SIMG"
inline constexpr uint32_t kMaxDevices = 8;
inline constexpr uint64_t kDeviceBase = 0x0000'0200'0000'0000ULL;
inline constexpr uint64_t kDeviceSpan = 0x0000'0040'0000'0000ULL;  // 256 GiB, more than any has
inline constexpr uint64_t kVirtualBase = kDeviceBase + kMaxDevices * kDeviceSpan;
inline constexpr uint64_t kVirtualEnd = kVirtualBase + 0x0000'0400'0000'0000ULL;
inline constexpr uint64_t kPieceAlignment = 512;           // of pieces of pools
inline constexpr uint64_t kPhysicalGranularity = 2 << 20;  // of physical memory and its mappings
inline constexpr uint32_t kMaxSimMessageBytes = 64 * 1024;
inline constexpr uint32_t kSimStreams =
    1024;  // ids 0..1023 of one client; 0: legacy stream of the primary context
inline constexpr uint32_t kSimEvents = 32768;
inline constexpr uint32_t kSimMaxPendingOps = 4096;

enum class SimType : uint16_t {
  // Requests (request_id != 0)
  kHello = 1,
  kContextCreate,   // ContextMsg
  kContextDestroy,  // ContextMsg: streams, events, modules and memory of the context go too
  kMemAlloc,        // MemAllocMsg -> Reply.value = device address
  kMemFree,         // MemAllocMsg.address; the facade has synchronised before
  kMemInfo,         // -> Reply.value = free, Reply.value2 = total
  kHostMap,         // HostMapMsg (+ fd: memfd with F_SEAL_SHRINK, shared from offset 0; without fd:
                    // foreign memory, copies and stream
                    // writes only, through process_vm_readv/writev)
  kHostUnmap,       // HostMapMsg.address
  kModuleLoad,      // ModuleMsg + fd with PTX text or machine code (an ELF image) -> Reply.value =
                    // module id, fd with JSON (see below);
                    // on error Reply.error and Reply.text (compiler log line)
  kModuleUnload,    // ModuleMsg
  kMpsQuery,        // -> Reply.value = 1 when this client runs under MPS
  kPeerAccess,      // PeerMsg
  kPhysicalCreate,  // PhysicalMsg (+ memfd for host memory, as kHostMap) -> Reply.value = handle
  kPhysicalRelease,   // PhysicalMsg.handle; mappings keep the memory
  kPhysicalMap,       // PhysicalMsg: no access yet
  kPhysicalUnmap,     // PhysicalMsg.address, bytes: one or several whole mappings
  kPhysicalAccess,    // PhysicalMsg.address, bytes (whole mappings), location, access
  kPhysicalExport,    // PhysicalMsg.handle -> descriptor
  kPhysicalImport,    // PhysicalMsg + such a descriptor -> Reply.value = handle, value2 = bytes,
                      // detail = location; for host memory its memfd
  kPoolCreate,        // PoolMsg.location, bytes (most it may reserve, 0: all) -> Reply.value = pool
  kPoolDestroy,       // PoolMsg.pool: what is allocated keeps its memory
  kPoolAlloc,         // PoolMsg.pool, bytes, context -> Reply.value = address; freed by kMemFree
  kPoolTrim,          // PoolMsg.pool, bytes: reserved bytes to keep
  kPoolUsage,         // PoolMsg.pool, figure -> Reply.value = current, value2 = highest
  kPoolResetHighest,  // PoolMsg.pool, figure
  kPoolAccess,        // PoolMsg.pool, location, access
  kPoolExport,        // PoolMsg.pool -> descriptor
  kPoolImport,        // PoolMsg + such a descriptor -> Reply.value = pool, detail = location
  kPoolImportPointer,  // PoolMsg.pool, token -> as kImportMemory
  kExportToken,        // TokenMsg.address or shared_event -> Reply.value, value2 = token
  kImportMemory,       // TokenMsg.token, context -> Reply.value = address, value2 = bytes, detail =
                       // location; freed by kMemFree
  kSharedEventCreate,  // TokenMsg -> Reply.value = id
  kSharedEventImport,  // TokenMsg.token -> Reply.value = id
  kSharedEventDestroy,  // TokenMsg.shared_event
  kSharedEventQuery,    // TokenMsg.shared_event -> Reply.value = 1: its newest record is done
  kModuleGlobal,        // ModuleGlobalMsg, right after kModuleLoad: a managed variable's place
  kObserve,  // ObserveMsg in place of kHello -> its reply without a page. An observer may send only
             // kFigures and does not keep the server alive
  kFigures,  // ObserveMsg.device -> kFiguresReply
  kFault,    // FaultMsg: failures on request, of this client or (an observer) of any
  kPrintBuffer,  // SimHeader -> descriptor of a file that printf in kernels appends to, from now on
  kHeapLimit,    // ContextMsg, with bytes of the heap of malloc in kernels in `value`
  kTrace,  // TraceMsg -> descriptor of this client's TracePage, always the same; operations that
           // are submitted from now on are recorded, or no longer
  kTextureCreate,   // TextureMsg -> Reply.value = handle of a texture or surface object
  kTextureDestroy,  // TextureMsg.handle; launches that were sent before still know it
  // One-way (request_id 0)
  kStreamCreate = 64,  // StreamMsg
  kStreamDestroy,      // StreamMsg: what is queued still runs
  kEventDestroy,       // EventOp.event
  kOpKernel,           // KernelOp + param_bytes
  kOpCopy,             // CopyOp
  kOpMemset,           // MemsetOp
  kOpEventRecord,      // EventOp
  kOpEventWait,        // EventOp
  kOpHostFunction,     // HostFunctionOp; server -> facade kRunHostFunction; facade -> server
                       // kHostFunctionDone
  kHostFunctionDone,   // HostFunctionOp
  kOpWriteValue,       // ValueOp
  kOpWaitValue,        // ValueOp
  kOpNop,              // OpHeader only: completes when all before it have (graph joins)
  // Server -> facade
  kReply = 128,
  kRunHostFunction,
  kFiguresReply,  // FiguresReply + processes * ProcessFigures
};

struct SimHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t type;
  uint32_t bytes;  // of the whole message
  uint32_t request_id;
};

struct HelloMsg {
  SimHeader header;
  uint32_t pid;
  uint32_t mps;  // 1: an MPS control daemon answers at CUDA_MPS_PIPE_DIRECTORY
  uint32_t mps_active_thread_percentage;  // 0 or 100: all SMs
  int32_t mps_client_priority;            // 0 normal, 1 below
  uint32_t devices;                       // SIMGPU_DEVICES or 0
  uint32_t reserved;
  uint64_t context_bytes;  // SIMGPU_CONTEXT_MEM: charged for a context; UINT64_MAX:
                           // the usual
  // SIMGPU_POOL_BLOCK: steps in which a pool grows; 0: the usual
  uint64_t pool_block_bytes;
  uint64_t module_bytes;  // SIMGPU_MODULE_MEM: charged for a module besides its
                          // variables
  char device[32];        // SIMGPU_DEVICE or ""
  char label[64];         // SIMGPU_LABEL, else executable name: names the track of the timeline
  uint64_t mps_memory_limit[kMaxDevices];  // bytes that an MPS client may have; 0: no limit
};

// The hello reply's text is the device's key; both sides look its numbers up in device_models.def.
// Its value is how many of them there are.
struct ReplyMsg {
  SimHeader header;
  int32_t error;  // CUresult
  uint32_t detail;
  uint64_t value;
  uint64_t value2;
  char text[1024];  // device key for hello; one line on error
};

struct ContextMsg {
  SimHeader header;
  uint32_t context;  // 0: primary of the first visible device; else chosen by the facade
  uint32_t flags;
  uint32_t device;  // index among the server's devices
  uint32_t reserved;
  uint64_t value;  // kHeapLimit
};

// Kernels of `context` may (or no longer may) touch what was allocated in `peer`.
struct PeerMsg {
  SimHeader header;
  uint32_t context;
  uint32_t peer;
  uint32_t enable;
  uint32_t reserved;
};

// Physical memory and its mappings (cuMemCreate, cuMemMap).
struct PhysicalMsg {
  SimHeader header;
  uint64_t handle;
  uint64_t address;
  uint64_t bytes;
  uint64_t offset;    // into the physical memory
  uint32_t location;  // index of a device, or kHostLocation
  uint32_t access;    // 0 none, 1 read, 3 read and write
};
inline constexpr uint32_t kHostLocation = UINT32_MAX;

// Memory pools (cuMemPoolCreate, cuMemAllocAsync). When a stream gets to a free is the facade's
// business: the server hands out again what kMemFree gave back.
struct ShareToken {
  uint64_t half[2];
};
enum class PoolFigure : uint32_t { kReserved = 0, kUsed = 1 };
struct PoolMsg {
  SimHeader header;
  uint64_t pool;
  uint64_t bytes;
  ShareToken token;
  uint32_t context;
  uint32_t location;
  uint32_t access;
  uint32_t figure;  // PoolFigure
};

// What crosses process boundaries as plain bytes (cuIpcGetMemHandle and its kin). A token is random
// and means an object only while that lives.
struct TokenMsg {
  SimHeader header;
  ShareToken token;
  uint64_t address;
  uint32_t context;
  uint32_t shared_event;  // 0: none
};

struct MemAllocMsg {
  SimHeader header;
  uint64_t address;
  uint64_t bytes;
  uint32_t context;
  uint32_t reserved;
};

struct HostMapMsg {
  SimHeader header;
  uint64_t address;  // in the client, page-aligned when an fd is sent
  uint64_t bytes;
  uint32_t context;
  uint32_t charge_device_memory;  // managed memory counts against the device
};

struct ModuleMsg {
  SimHeader header;
  uint32_t context;
  uint32_t max_registers;  // load: CU_JIT_MAX_REGISTERS or 0
  uint64_t module;         // unload
  uint64_t ptx_bytes;      // load
};
struct ModuleGlobalMsg {
  SimHeader header;
  uint32_t context;
  uint32_t global;  // position among the module's
  uint64_t module;
  uint64_t address;  // of memory that kHostMap made known
};
// JSON of a loaded module:
// {"kernels":[{"name","params":[[offset,bytes],..],"param_bytes","regs","smem","local","max_threads","cooperative"}],
//  "globals":[{"name","address","bytes","managed"}]}   kernel index = position

struct FaultMsg {
  SimHeader header;
  uint32_t pid;     // of an observer: whom it concerns; 0: every process
  uint32_t clear;   // 1: forget the rules
  char rules[512];  // server/fault_rules.h
};

// What texture (surface 0) and surface objects read and write. Kinds as in
// exec/texture/texture_table.h; what addresses lead to is checked when a kernel gets there.
inline constexpr uint32_t kMaxTextureLevels = 18;
inline constexpr uint32_t kMaxTextures = 1U << 16;  // of one client
inline constexpr uint32_t kTextureFractions = 1;  // integers of the format always read as fractions
inline constexpr uint32_t kTextureLinear = 2;
inline constexpr uint32_t kTextureLinearLevels = 4;
inline constexpr uint32_t kTextureNormalised = 8;  // coordinates
inline constexpr uint32_t kTextureAsInteger = 16;
inline constexpr uint32_t kTextureSrgb = 32;
struct TextureLevel {
  uint64_t address;      // a multiple of 16, as the pitches are
  uint64_t pitch;        // of rows in bytes
  uint64_t slice_pitch;  // of slices and layers in bytes
  uint32_t width, height, depth;
  uint32_t reserved;
};
struct TextureMsg {
  SimHeader header;
  uint64_t handle;  // destroy
  uint32_t context;
  uint32_t surface;
  uint32_t image_kind;
  uint32_t texel_kind;
  uint32_t component_bytes;
  uint32_t channels;
  uint32_t flags;
  uint32_t address_modes[3];
  float bias, least_level, greatest_level;
  float border[4];
  uint32_t levels;
  TextureLevel level[kMaxTextureLevels];
};

struct StreamMsg {
  SimHeader header;
  uint32_t context;
  uint32_t stream;    // 1..kSimStreams-1, chosen by the facade
  uint32_t blocking;  // 1: synchronises with the legacy stream of its context; 0:
                      // CU_STREAM_NON_BLOCKING; 2: is itself the legacy stream of its context (a
                      // context other than the primary one)
  int32_t priority;   // CUDA convention: lower number = higher priority, 0..-5
  // SMs that its kernels may run on, a bit each; all zero: all. Of a green context or an execution
  // affinity.
  uint64_t sm_mask[4];
  uint32_t group;  // 0: the streams of `context`; else those of a green context in it, whose
                   // default stream and blocking streams wait for each other only
  uint32_t reserved;
};

inline constexpr uint32_t kLegacyOfContext = 2;

// Every stream operation starts with this. `seq` counts 1, 2, 3, ... per stream; when it and all
// before it on the stream are done, ClientPage.streams[stream].completed_seq reaches seq. When a
// stream or event id is used again after its destruction, seq and generation go on from where they
// were: the server never resets a slot.
struct OpHeader {
  SimHeader header;
  uint32_t context;
  uint32_t stream;  // 0: legacy default stream of the primary context (see StreamMsg for those of
                    // others)
  uint64_t seq;
};

struct KernelOp {
  OpHeader op;
  uint64_t module;
  uint32_t kernel;
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t dynamic_smem_bytes;
  int32_t priority;  // of the launch; INT32_MIN: the stream's
  uint32_t flags;    // kKernelCooperative, kOpFromGraph
  uint32_t param_bytes;
  uint32_t cluster;  // blocks of a cluster, eight bits a dimension, x lowest; 0: no clusters
  // param_bytes bytes follow
};
inline constexpr uint32_t kKernelCooperative = 1;  // may use the barrier of the whole grid
inline constexpr uint32_t kOpFromGraph = 2;        // shorter launch latency

enum class CopyKind : uint32_t { kHtoD = 1, kDtoH = 2, kDtoD = 3, kHtoH = 4 };
// Rows of width_bytes; linear copies have height 1, depth 1. Host addresses are read and written in
// the client's memory at the time the operation runs.
struct CopyOp {
  OpHeader op;
  uint64_t dst, src;
  uint64_t width_bytes;
  uint64_t height, depth;
  uint64_t dst_pitch, src_pitch;
  uint64_t dst_slice_pitch, src_slice_pitch;
  uint32_t kind;  // CopyKind
  uint32_t pinned;
};

struct MemsetOp {
  OpHeader op;
  uint64_t dst;
  uint64_t width_elements, height, pitch;
  uint32_t value;
  uint32_t element_bytes;  // 1, 2, 4
};

struct EventOp {
  OpHeader op;
  uint32_t event;  // 0..kSimEvents-1 of the client, chosen by the facade; or kSharedEvent | id of a
                   // shared event, whose generations do not count
  uint32_t timing;
  uint64_t generation;  // record: counts up per event; wait: the generation to wait for
};

struct HostFunctionOp {
  OpHeader op;
  uint64_t token;
};

inline constexpr uint32_t kSharedEvent = 0x8000'0000U;

enum class WaitCompare : uint32_t {
  kGeq = 0,
  kEq = 1,
  kAnd = 2,
  kNor = 3
};  // as CUstreamWaitValue_flags
struct ValueOp {
  OpHeader op;
  uint64_t address;  // device address or registered host address
  uint64_t value;
  uint32_t bytes;    // 4 or 8
  uint32_t compare;  // wait only
};

// What an observer (NVML) learns of a device. Times are model time; a window is the newest sample
// period.
struct ObserveMsg {
  SimHeader header;
  uint32_t device;
  uint32_t reserved;
};
struct ProcessFigures {
  uint32_t pid;
  uint32_t mps;         // 1: an MPS client
  uint64_t used_bytes;  // of device memory
  uint64_t busy_ns;     // of the window, with a kernel of this process running
};
struct FiguresReply {
  SimHeader header;
  uint32_t device;
  uint32_t processes;  // with a context on the device
  uint64_t total_bytes;
  uint64_t free_bytes;
  uint64_t window_ns;     // 0: the device has only just begun
  uint64_t busy_ns;       // of the window, with a kernel running
  uint64_t memory_bytes;  // to and from device memory in the window
  uint64_t model_ns;
};
inline constexpr uint32_t kMaxFiguresProcesses = 1024;

// When the operations of a client ran, for CUPTI. The server writes a record before it tells the
// end of the operation; the client moves `taken` on. A full ring loses the newest. Kernels, copies
// and memsets only.
struct TraceRecord {
  uint64_t seq;
  uint32_t stream;
  uint32_t reserved;
  uint64_t start_ns;  // model time moved to CLOCK_REALTIME
  uint64_t end_ns;
};
struct TraceMsg {
  SimHeader header;
  uint32_t enable;
  uint32_t reserved;
};
inline constexpr uint32_t kTraceRecords = 1U << 15;
struct TracePage {
  std::atomic<uint64_t> written;  // release by server, acquire by client
  std::atomic<uint64_t> taken;    // release by client, acquire by server
  std::atomic<uint64_t> lost;
  uint8_t reserved[40];
  TraceRecord records[kTraceRecords];
};

// Shared with one client; the server writes, the client reads and futex-waits on the low half of
// the words.
struct alignas(64) ClientStream {
  std::atomic<uint64_t> completed_seq;  // release by server, acquire by facade
  std::atomic<uint32_t> waiters;        // facade: > 0 while a thread waits; server wakes `futex`
  std::atomic<uint32_t> futex;          // bumped after completed_seq when waiters != 0
};
struct alignas(32) ClientEvent {
  std::atomic<uint64_t> completed_generation;
  std::atomic<uint64_t> device_ns;  // model time of the newest completed record
  std::atomic<uint32_t> waiters;
  std::atomic<uint32_t> futex;
};
struct ClientPage {
  uint32_t magic;
  uint32_t version;
  std::atomic<uint32_t> sticky_error;  // CUresult; set once
  std::atomic<uint32_t> alive;         // 1 while the server runs
  std::atomic<uint64_t> device_ns;     // model time, updated while work runs
  uint8_t reserved[40];
  char error_text[512];  // what faulted, one line, before sticky_error
  ClientStream streams[kSimStreams];
  ClientEvent events[kSimEvents];
};

}  // namespace gacer::simdevice
