/* SPDX-License-Identifier: Apache-2.0 */
#include <cuda.h>

int main(void) {
  return cuInit(0) == CUDA_SUCCESS ? 0 : 1;
}
