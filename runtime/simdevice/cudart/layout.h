// SPDX-License-Identifier: Apache-2.0
// Structures that both interfaces define alike: one type of the runtime seen as the driver's.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <type_traits>

namespace gacer::cudart {

// Enumerations and structures of one size and alignment; layout_check.cpp holds their fields
// together.
template <typename To, typename From>
auto* same_layout(From* from) {
  using Target = std::conditional_t<std::is_const_v<From>, const To, To>;
  static_assert(sizeof(To) == sizeof(From) && alignof(To) == alignof(From));
  return reinterpret_cast<Target*>(from);
}

inline CUdeviceptr device_address(const void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}
inline CUdeviceptr* device_address_out(void** pointer) {
  static_assert(sizeof(CUdeviceptr) == sizeof(void*));
  return reinterpret_cast<CUdeviceptr*>(pointer);
}
inline CUarray driver_array(cudaArray_const_t array) {
  return reinterpret_cast<CUarray>(const_cast<cudaArray_t>(array));
}
inline CUmipmappedArray driver_mipmap(cudaMipmappedArray_const_t mipmap) {
  return reinterpret_cast<CUmipmappedArray>(const_cast<cudaMipmappedArray_t>(mipmap));
}
inline CUmemLocation driver_location(const cudaMemLocation& location) {
  CUmemLocation out{};
  out.type = static_cast<CUmemLocationType>(location.type);
  out.id = location.id;
  return out;
}

}  // namespace gacer::cudart
