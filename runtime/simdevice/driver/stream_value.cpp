// SPDX-License-Identifier: Apache-2.0
// cuStreamWriteValue*, cuStreamWaitValue*, cuStreamBatchMemOp
#include <memory>

#include "runtime/simdevice/driver/driver.h"
#include "runtime/simdevice/driver/entry_pairs.h"
#include "runtime/simdevice/driver/stream_value.h"
#include "runtime/simdevice/driver/submit.h"

namespace gacer::simdriver {
namespace {

constexpr unsigned kWaitFlush = CU_STREAM_WAIT_VALUE_FLUSH;

CUresult check_address(const MemoryMap& memory, const ValueWork& value) {
  const bool aligned = value.address % value.bytes == 0;
  return aligned && memory.find(value.address, value.bytes) ? CUDA_SUCCESS
                                                            : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

CUresult make_write(const MemoryMap& memory, uint64_t address, uint64_t value, uint32_t bytes,
                    unsigned flags, ValueWork& out) {
  if ((flags & ~static_cast<unsigned>(CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER)) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  out = {false, address, value, bytes, simdevice::WaitCompare::kGeq};
  return check_address(memory, out);
}

CUresult make_wait(const MemoryMap& memory, uint64_t address, uint64_t value, uint32_t bytes,
                   unsigned flags, ValueWork& out) {
  const unsigned compare = flags & ~kWaitFlush;
  if (compare > CU_STREAM_WAIT_VALUE_NOR) return CUDA_ERROR_INVALID_VALUE;
  out = {true, address, value, bytes, static_cast<simdevice::WaitCompare>(compare)};
  return check_address(memory, out);
}

CUstreamBatchMemOpParams describe_value(const ValueWork& value) {
  CUstreamBatchMemOpParams out{};
  const bool wide = value.bytes == 8;
  if (value.wait) {
    out.operation = wide ? CU_STREAM_MEM_OP_WAIT_VALUE_64 : CU_STREAM_MEM_OP_WAIT_VALUE_32;
    out.waitValue.address = value.address;
    out.waitValue.value64 = value.value;
    out.waitValue.flags = static_cast<unsigned>(value.compare);
  } else {
    out.operation = wide ? CU_STREAM_MEM_OP_WRITE_VALUE_64 : CU_STREAM_MEM_OP_WRITE_VALUE_32;
    out.writeValue.address = value.address;
    out.writeValue.value64 = value.value;
  }
  return out;
}

CUresult make_batch(const MemoryMap& memory, const CUstreamBatchMemOpParams* list, unsigned count,
                    BatchWork& out) {
  if (list == nullptr || count == 0 || count > 256) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count; ++i) {
    const CUstreamBatchMemOpParams& p = list[i];
    ValueWork value;
    switch (p.operation) {
      case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        SIM_TRY(make_write(memory, p.writeValue.address, p.writeValue.value, 4, p.writeValue.flags,
                           value));
        break;
      case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        SIM_TRY(make_write(memory, p.writeValue.address, p.writeValue.value64, 8,
                           p.writeValue.flags, value));
        break;
      case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        SIM_TRY(
            make_wait(memory, p.waitValue.address, p.waitValue.value, 4, p.waitValue.flags, value));
        break;
      case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        SIM_TRY(make_wait(memory, p.waitValue.address, p.waitValue.value64, 8, p.waitValue.flags,
                          value));
        break;
      case CU_STREAM_MEM_OP_BARRIER:
        continue;  // operations of a stream are ordered anyway
      default:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    out.operations.push_back(value);
  }
  return CUDA_SUCCESS;
}

}  // namespace gacer::simdriver

using namespace gacer::simdriver;

namespace {

using Maker = CUresult (*)(const MemoryMap&, uint64_t, uint64_t, uint32_t, unsigned, ValueWork&);

CUresult submit_value(CUstream handle, Maker make, CUdeviceptr address, uint64_t value,
                      uint32_t bytes, unsigned flags) {
  std::shared_ptr<Stream> stream;
  SIM_TRY(resolve_stream(handle, stream));
  ValueWork work;
  SIM_TRY(make(Driver::get().memory, address, value, bytes, flags, work));
  return submit(stream, BatchWork{{work}});
}

CUresult submit_batch(CUstream handle, unsigned count, const CUstreamBatchMemOpParams* list,
                      unsigned flags) {
  std::shared_ptr<Stream> stream;
  SIM_TRY(resolve_stream(handle, stream));
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  BatchWork work;
  SIM_TRY(make_batch(Driver::get().memory, list, count, work));
  return submit(stream, std::move(work));
}

}  // namespace

// The first version of these calls differs from _v2 in what a device attribute promises, not in
// behaviour.
// NOLINTBEGIN(bugprone-macro-parentheses): `make` is passed on, not computed with
#define VALUE(name, make, bits)                                                                   \
  SIM_STREAM_PAIR(name, _ptsz,                                                                    \
                  (CUstream stream, CUdeviceptr address, cuuint##bits##_t value, unsigned flags), \
                  submit_value, stream, make, address, value, bits / 8, flags)

VALUE(cuStreamWriteValue32, make_write, 32)
VALUE(cuStreamWriteValue64, make_write, 64)
VALUE(cuStreamWaitValue32, make_wait, 32)
VALUE(cuStreamWaitValue64, make_wait, 64)
VALUE(cuStreamWriteValue32_v2, make_write, 32)
VALUE(cuStreamWriteValue64_v2, make_write, 64)
VALUE(cuStreamWaitValue32_v2, make_wait, 32)
VALUE(cuStreamWaitValue64_v2, make_wait, 64)
// NOLINTEND(bugprone-macro-parentheses)
SIM_STREAM_PAIR(cuStreamBatchMemOp, _ptsz,
                (CUstream stream, unsigned count, CUstreamBatchMemOpParams* list, unsigned flags),
                submit_batch, stream, count, list, flags)
SIM_STREAM_PAIR(cuStreamBatchMemOp_v2, _ptsz,
                (CUstream stream, unsigned count, CUstreamBatchMemOpParams* list, unsigned flags),
                submit_batch, stream, count, list, flags)
