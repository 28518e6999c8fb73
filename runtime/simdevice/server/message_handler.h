// SPDX-License-Identifier: Apache-2.0
// Turns the messages of clients into changes of their state and operations of the engine. Trusts
// nothing in them: what breaks the protocol gets the client disconnected, what a driver would
// refuse gets an error reply.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "runtime/simdevice/engine/engine.h"
#include "runtime/simdevice/server/client.h"
#include "runtime/simdevice/server/op_executor.h"
#include "runtime/simdevice/server/packet_socket.h"
#include "runtime/simdevice/server/share_registry.h"

namespace gacer::simdevice {

// Charged against the device for each context, as a real driver takes a few hundred MiB (see
// MODEL.md).
inline constexpr uint64_t kContextBytes = 416ULL << 20;

class MessageHandler {
 public:
  // One memory and one engine a device.
  MessageHandler(const DeviceModel& device, std::span<DeviceMemory> memory,
                 std::deque<Engine>& engines, ShareRegistry& shares, OpExecutor& executor,
                 ModelClock& clock, Timeline& timeline, const Clients& clients)
      : device_(device),
        memory_(memory),
        engines_(engines),
        shares_(shares),
        executor_(executor),
        clock_(clock),
        timeline_(timeline),
        clients_(clients) {}

  // Empty: handled. Otherwise why the client must be disconnected.
  std::string handle(Client& client, Packet& packet);

 private:
  std::string dispatch(Client& client, SimType type, Packet& packet);
  std::string mismatch(const HelloMsg& message) const;
  std::string hello(Client& client, std::span<const uint8_t> bytes);
  std::string context_create(Client& client, std::span<const uint8_t> bytes);
  std::string context_destroy(Client& client, std::span<const uint8_t> bytes);
  std::string module_load(Client& client, Packet& packet);
  static bool charge_module(const Client& client, LoadedModule& module);
  std::string module_unload(Client& client, std::span<const uint8_t> bytes);
  std::string module_global(Client& client, std::span<const uint8_t> bytes);
  std::string mps_query(Client& client, std::span<const uint8_t> bytes);
  std::string stream_create(Client& client, std::span<const uint8_t> bytes);
  std::string stream_destroy(Client& client, std::span<const uint8_t> bytes);
  std::string event_destroy(Client& client, std::span<const uint8_t> bytes);

  // admin_messages.cpp
  std::string fault(Client& client, std::span<const uint8_t> bytes);

  // observer_messages.cpp
  std::string observe(Client& client, std::span<const uint8_t> bytes);
  std::string figures(Client& client, std::span<const uint8_t> bytes);
  std::vector<ProcessFigures> process_figures(uint32_t device);
  std::string trace(Client& client, std::span<const uint8_t> bytes);
  std::string print_buffer(Client& client, std::span<const uint8_t> bytes);
  std::string heap_limit(Client& client, std::span<const uint8_t> bytes);

  // texture_messages.cpp
  std::string texture_create(Client& client, std::span<const uint8_t> bytes);
  std::string texture_destroy(Client& client, std::span<const uint8_t> bytes);

  // memory_messages.cpp
  bool may_take(const Client& client, const DeviceMemory* device, uint64_t bytes);
  std::string mem_alloc(Client& client, std::span<const uint8_t> bytes);
  std::string mem_free(Client& client, std::span<const uint8_t> bytes);
  std::string mem_info(Client& client, std::span<const uint8_t> bytes);
  std::string host_map(Client& client, Packet& packet);
  std::string host_unmap(Client& client, std::span<const uint8_t> bytes);
  std::string peer_access(Client& client, std::span<const uint8_t> bytes);
  std::string physical_create(Client& client, Packet& packet);
  std::string physical_release(Client& client, std::span<const uint8_t> bytes);
  std::string physical_map(Client& client, std::span<const uint8_t> bytes);
  std::string physical_unmap(Client& client, std::span<const uint8_t> bytes);
  std::string physical_access(Client& client, std::span<const uint8_t> bytes);
  std::string physical_export(Client& client, std::span<const uint8_t> bytes);
  std::string physical_import(Client& client, Packet& packet);

  // pool_messages.cpp
  std::string dispatch_pool(Client& client, SimType type, Packet& packet);
  std::string pool_create(Client& client, const PoolMsg& message);
  std::string pool_alloc(Client& client, const PoolMsg& message);
  std::string pool_request(Client& client, SimType type, const PoolMsg& message, Packet& packet);
  std::string pool_import(Client& client, const PoolMsg& message, int descriptor);
  std::string pool_import_pointer(Client& client, const PoolMsg& message);
  std::string token_request(Client& client, SimType type, const TokenMsg& message);
  std::string export_token(Client& client, const TokenMsg& message);
  std::string import_memory(Client& client, const TokenMsg& message);

  // stream_messages.cpp
  std::string dispatch_op(Client& client, SimType type, std::span<const uint8_t> bytes);
  std::string op_kernel(Client& client, std::span<const uint8_t> bytes);
  std::string op_copy(Client& client, std::span<const uint8_t> bytes);
  std::string op_memset(Client& client, std::span<const uint8_t> bytes);
  std::string op_event_record(Client& client, std::span<const uint8_t> bytes);
  std::string op_event_wait(Client& client, std::span<const uint8_t> bytes);
  std::string shared_event(Client& client, const EventOp& op, bool record);
  std::string wait_for(Client& client, const OpHeader& op, const EngineOp& awaited);
  std::string op_host_function(Client& client, std::span<const uint8_t> bytes);
  std::string host_function_done(Client& client, std::span<const uint8_t> bytes);
  std::string op_value(Client& client, std::span<const uint8_t> bytes, bool wait);
  std::string op_nop(Client& client, std::span<const uint8_t> bytes);
  std::string submit(Client& client, const OpHeader& op, OpSpec spec, Payload payload,
                     EngineOp* submitted = nullptr);
  const char* why_not_launch(const Client& client, const KernelOp& op) const;

  void place_stream_zero(Client& client, uint32_t device);

  const DeviceModel& device_;
  std::span<DeviceMemory> memory_;
  std::deque<Engine>& engines_;
  ShareRegistry& shares_;
  OpExecutor& executor_;
  ModelClock& clock_;
  Timeline& timeline_;
  const Clients& clients_;
  uint64_t next_module_ = 1;
};

}  // namespace gacer::simdevice
