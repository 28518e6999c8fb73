// SPDX-License-Identifier: Apache-2.0
// What kernels need beside their launch: where printf goes, and the heap of malloc.
#include <cuda.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "runtime/simdevice/server/message_handler.h"
#include "runtime/simdevice/server/message_parse.h"
#include "runtime/simdevice/server/replies.h"

namespace gacer::simdevice {
namespace {

constexpr uint64_t kMostHeapBytes = uint64_t{1} << 36;

// Appends whoever writes, so that threads do not overwrite each other's text.
UniqueFd print_file() {
  UniqueFd fd(::memfd_create("simgpu-print", MFD_CLOEXEC));
  if (fd.valid() && ::fcntl(fd.get(), F_SETFL, O_APPEND) != 0) fd.reset();
  return fd;
}

}  // namespace

std::string MessageHandler::print_buffer(Client& client, std::span<const uint8_t> bytes) {
  SimHeader header;
  if (!parse(bytes, header)) return kWrongSize;
  if (!client.print_file.valid()) client.print_file = print_file();
  if (!client.print_file.valid()) return reply(client, header.request_id, CUDA_ERROR_OUT_OF_MEMORY);
  return reply(client, header.request_id, CUDA_SUCCESS, {.fd = client.print_file.get()});
}

std::string MessageHandler::heap_limit(Client& client, std::span<const uint8_t> bytes) {
  ContextMsg message;
  if (!parse(bytes, message)) return kWrongSize;
  const uint32_t id = message.header.request_id;
  if (!client.memory.has_context(message.context))
    return reply_text(client, id, CUDA_ERROR_INVALID_CONTEXT, "no such context");
  if (message.value > kMostHeapBytes)
    return reply_text(client, id, CUDA_ERROR_INVALID_VALUE, "a heap of more than 64 GiB");
  auto& heap = client.heaps[message.context];
  if (heap == nullptr) heap = std::make_unique<DeviceHeap>(0);
  if (!heap->resize(message.value))
    return reply_text(client, id, CUDA_ERROR_INVALID_VALUE,
                      "the heap cannot be resized while kernels have memory of it");
  return reply(client, id, CUDA_SUCCESS);
}

}  // namespace gacer::simdevice
