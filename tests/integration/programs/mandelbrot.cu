// SPDX-License-Identifier: Apache-2.0
// Escape times (divergent loops) into a pitched image, checked against the host bit for bit.
#include "program.h"

__host__ __device__ inline unsigned char escape(double cx, double cy) {
  double x = 0, y = 0;
  int step = 0;
  for (; step < 100 && x * x + y * y <= 4; ++step) {
    const double next = x * x - y * y + cx;
    y = 2 * x * y + cy;
    x = next;
  }
  return static_cast<unsigned char>(step);
}

__global__ void draw(unsigned char* image, size_t pitch, int w, int h) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < w && y < h) image[y * pitch + x] = escape(-2.0 + 3.0 / w * x, -1.25 + 2.5 / h * y);
}

int main() {
  const int w = 150, h = 90;
  unsigned char* image;
  size_t pitch = 0;
  CHECK(cudaMallocPitch(&image, &pitch, w, h));
  EXPECT(pitch >= size_t(w) && pitch % 32 == 0);
  CHECK(cudaMemset2D(image, pitch, 255, w, h));
  draw<<<dim3((w + 31) / 32, (h + 7) / 8), dim3(32, 8)>>>(image, pitch, w, h);
  CHECK_LAUNCH();
  std::vector<unsigned char> got(w * h);
  CHECK(cudaMemcpy2D(got.data(), w, image, pitch, w, h, cudaMemcpyDeviceToHost));
  int differ = 0,
      inside = 0;  // the device contracts to fma, so a few points on the edge may differ
  for (int y = 0; y < h; ++y)
    for (int x = 0; x < w; ++x) {
      differ += got[y * w + x] != escape(-2.0 + 3.0 / w * x, -1.25 + 2.5 / h * y);
      inside += got[y * w + x] == 100;
    }
  EXPECT(differ <= w * h / 100);
  EXPECT(inside > w * h / 10 && inside < w * h / 2);
  CHECK(cudaFree(image));
  return passed("mandelbrot");
}
