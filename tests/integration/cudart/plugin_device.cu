// SPDX-License-Identifier: Apache-2.0
// The part of plugin.cu that the device linker adds.
__device__ int twice(int value) {
  return 2 * value;
}
