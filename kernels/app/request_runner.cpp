// SPDX-License-Identifier: Apache-2.0
#include "kernels/app/request_runner.h"

#include "kernels/model/input_values.h"

namespace gacer::kernels {

bool RequestRunner::prepare(unsigned seed) {
  input_ = session_.allocate_pinned(model_.input_bytes(), "input");
  output_ = session_.allocate_pinned(model_.output_bytes(), "output");
  if (input_ == nullptr || output_ == nullptr) return false;
  fill_input(model_.input_layer(), seed, input_);
  return true;
}

bool RequestRunner::run() {
  CudaStatus& status = session_.status();
  const CUstream stream = session_.stream();
  return status.check(cuMemcpyHtoDAsync(model_.input(), input_, model_.input_bytes(), stream),
                      "cuMemcpyHtoDAsync") &&
         model_.enqueue_forward() &&
         status.check(cuMemcpyDtoHAsync(output_, model_.output(), model_.output_bytes(), stream),
                      "cuMemcpyDtoHAsync") &&
         status.check(cuStreamSynchronize(stream), "cuStreamSynchronize");
}

std::uint64_t RequestRunner::output_checksum() const {
  const unsigned char* bytes = static_cast<const unsigned char*>(output_);
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (std::size_t i = 0; i < model_.output_bytes(); ++i)
    hash = (hash ^ bytes[i]) * 0x100000001b3ULL;
  return hash;
}

}  // namespace gacer::kernels
