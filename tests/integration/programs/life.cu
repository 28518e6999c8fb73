// SPDX-License-Identifier: Apache-2.0
// Conway's game of life on a torus, two cells a byte word: bit tricks and many generations.
#include "program.h"

__global__ void generation(const uint8_t* in, uint8_t* out, int w, int h) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < w * h; i += gridDim.x * blockDim.x) {
    const int x = i % w, y = i / w, left = (x + w - 1) % w, right = (x + 1) % w;
    const int up = (y + h - 1) % h * w, down = (y + 1) % h * w, row = y * w;
    const int count = in[up + left] + in[up + x] + in[up + right] + in[row + left] +
                      in[row + right] + in[down + left] + in[down + x] + in[down + right];
    out[i] = count == 3 || (count == 2 && in[i]);
  }
}

// 64 cells of a row in one word, neighbours counted with full adders.
__global__ void packed(const uint64_t* in, uint64_t* out, int h) {
  const int y = blockIdx.x * blockDim.x + threadIdx.x;
  if (y >= h) return;
  auto rotate = [](uint64_t v, int by) { return v << by | v >> (64 - by); };
  const uint64_t rows[3] = {in[(y + h - 1) % h], in[y], in[(y + 1) % h]};
  uint64_t one = 0, two = 0, four = 0;
  auto add = [&](uint64_t v) {
    const uint64_t carry = one & v;
    one ^= v;
    four |= two & carry;
    two ^= carry;
  };
  for (int r = 0; r < 3; ++r) {
    add(rotate(rows[r], 1));
    add(rotate(rows[r], 63));
    if (r != 1) add(rows[r]);
  }
  out[y] = two & ~four & (one | rows[1]);
}

int main() {
  const int w = 64, h = 50, generations = 20;
  Random random(18);
  std::vector<uint8_t> cells(w * h);
  std::vector<uint64_t> words(h);
  for (int i = 0; i < w * h; ++i)
    if (random.below(3) == 0) cells[i] = 1, words[i / w] |= 1ull << i % w;
  DeviceArray<uint8_t> a(cells), b(cells.size());
  DeviceArray<uint64_t> pa(words), pb(words.size());
  for (int g = 0; g < generations; g += 2) {
    generation<<<4, 256>>>(a.get(), b.get(), w, h);
    generation<<<4, 256>>>(b.get(), a.get(), w, h);
    packed<<<1, 64>>>(pa.get(), pb.get(), h);
    packed<<<1, 64>>>(pb.get(), pa.get(), h);
  }
  CHECK_LAUNCH();
  for (int g = 0; g < generations; ++g) {
    auto next = cells;
    for (int y = 0; y < h; ++y)
      for (int x = 0; x < w; ++x) {
        int count = 0;
        for (int dy = -1; dy <= 1; ++dy)
          for (int dx = -1; dx <= 1; ++dx)
            if (dx || dy) count += cells[(y + dy + h) % h * w + (x + dx + w) % w];
        next[y * w + x] = count == 3 || (count == 2 && cells[y * w + x]);
      }
    cells = next;
  }
  EXPECT(same(a.host(), cells));
  std::vector<uint64_t> want(h);
  for (int i = 0; i < w * h; ++i) want[i / w] |= uint64_t(cells[i]) << i % w;
  const auto got = pa.host();
  for (int y = 0; y < h; ++y) EXPECT(got[y] == want[y]);
  return passed("life");
}
