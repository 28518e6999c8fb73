# SPDX-License-Identifier: Apache-2.0
"""Kernels that numba-cuda compiles at run time (NVVM to PTX) and links with the driver's linker, checked with numpy."""
import math
import unittest
import warnings

import numpy as np
from numba import cuda, float32, int32, vectorize
from numba.core.errors import NumbaPerformanceWarning
from numba.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32

warnings.simplefilter("ignore", NumbaPerformanceWarning)
warnings.simplefilter("ignore", RuntimeWarning)  # that it links with the driver
TILE = 16


@cuda.jit
def add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


@cuda.jit
def matmul(a, b, c):
    ta = cuda.shared.array((TILE, TILE), float32)
    tb = cuda.shared.array((TILE, TILE), float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for k in range((a.shape[1] + TILE - 1) // TILE):
        column, row = k * TILE + ty, k * TILE + tx
        ta[tx, ty] = a[x, column] if x < a.shape[0] and column < a.shape[1] else 0
        tb[tx, ty] = b[row, y] if row < b.shape[0] and y < b.shape[1] else 0
        cuda.syncthreads()
        for j in range(TILE):
            total += ta[tx, j] * tb[j, ty]
        cuda.syncthreads()
    if x < c.shape[0] and y < c.shape[1]:
        c[x, y] = total


@cuda.jit
def histogram(values, bins):
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.add(bins, values[i], 1)


@cuda.jit(device=True)
def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@cuda.jit
def collatz_steps(out):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = collatz(i + 1)


@cuda.jit
def functions(x, out):
    i = cuda.grid(1)
    if i < x.size:
        v = x[i]
        out[i, 0] = math.sin(v)
        out[i, 1] = math.exp(-v)
        out[i, 2] = math.log1p(v)
        out[i, 3] = math.erf(v)
        out[i, 4] = math.pow(v, 1.3)
        out[i, 5] = math.atan2(v, 2.0)
        out[i, 6] = math.lgamma(v)


@cuda.jit
def warp_sums(values, out):
    i = cuda.grid(1)
    v = values[i]
    offset = 16
    while offset > 0:
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, offset)
        offset //= 2
    if cuda.laneid == 0:
        out[i // 32] = v
    if cuda.ballot_sync(0xFFFFFFFF, values[i] > 50) & 1 and cuda.laneid == 0:
        cuda.atomic.add(out, out.size - 1, 1000000)


@cuda.jit
def scan_block(values, out):
    tile = cuda.shared.array(0, int32)
    t = cuda.threadIdx.x
    tile[t] = values[t]
    cuda.syncthreads()
    step = 1
    while step < cuda.blockDim.x:
        before = tile[t - step] if t >= step else 0
        cuda.syncthreads()
        tile[t] += before
        cuda.syncthreads()
        step *= 2
    out[t] = tile[t]


@cuda.jit
def draw(states, tries, hits):
    i = cuda.grid(1)
    inside = 0
    for _ in range(tries):
        x = xoroshiro128p_uniform_float32(states, i)
        y = xoroshiro128p_uniform_float32(states, i)
        if x * x + y * y <= 1.0:
            inside += 1
    cuda.atomic.add(hits, 0, inside)


@cuda.jit
def row_walk(matrix):
    column = cuda.grid(1)
    grid = cuda.cg.this_grid()
    for row in range(1, matrix.shape[0]):
        opposite = matrix.shape[1] - column - 1
        matrix[row, column] = matrix[row - 1, opposite] + 1
        grid.sync()


class Kernels(unittest.TestCase):
    def test_vector_addition_with_host_arrays(self):
        a = np.arange(1000, dtype=np.float32)
        c = np.zeros_like(a)
        add[8, 128](a, 2 * a, c)
        np.testing.assert_array_equal(c, 3 * a)

    def test_matrix_product_through_shared_memory(self):
        rng = np.random.default_rng(1)
        a, b = rng.random((50, 37), np.float32), rng.random((37, 41), np.float32)
        c = cuda.device_array((50, 41), np.float32)
        matmul[(4, 3), (TILE, TILE)](cuda.to_device(a), cuda.to_device(b), c)
        np.testing.assert_allclose(c.copy_to_host(), a @ b, rtol=1e-5)

    def test_atomic_histogram(self):
        values = np.random.default_rng(2).integers(0, 30, 5000).astype(np.int32)
        bins = np.zeros(30, np.int32)
        histogram[40, 128](values, bins)
        np.testing.assert_array_equal(bins, np.bincount(values, minlength=30))

    def test_device_function_with_divergent_loops(self):
        out = np.zeros(500, np.int64)
        collatz_steps[3, 64](out)

        def steps(n):
            count = 0
            while n != 1:
                n, count = (n // 2 if n % 2 == 0 else 3 * n + 1), count + 1
            return count
        self.assertEqual(out.tolist(), [steps(n) for n in range(1, 501)])

    def test_math_functions_in_double_precision(self):
        x = np.linspace(0.1, 8, 200)
        out = np.zeros((200, 7))
        functions[2, 128](x, out)
        want = [np.sin(x), np.exp(-x), np.log1p(x), [math.erf(v) for v in x], x**1.3, np.arctan2(x, 2.0),
                [math.lgamma(v) for v in x]]
        for column, values in enumerate(want):
            np.testing.assert_allclose(out[:, column], values, rtol=1e-13, atol=1e-13)

    def test_warp_shuffles_and_votes(self):
        values = np.random.default_rng(3).integers(0, 100, 256).astype(np.int32)
        values[0] = 99
        out = np.zeros(9, np.int32)
        warp_sums[2, 128](values, out)
        np.testing.assert_array_equal(out[:8], values.reshape(8, 32).sum(axis=1))
        self.assertEqual(out[8], 1000000 * int((values.reshape(8, 32)[:, 0] > 50).sum()))

    def test_dynamic_shared_memory_scan_on_a_stream(self):
        values = np.random.default_rng(4).integers(-50, 50, 200).astype(np.int32)
        stream = cuda.stream()
        data, out = cuda.to_device(values, stream), cuda.device_array(200, np.int32, stream=stream)
        begin, end = cuda.event(), cuda.event()
        begin.record(stream)
        scan_block[1, 200, stream, 800](data, out)
        end.record(stream)
        stream.synchronize()
        np.testing.assert_array_equal(out.copy_to_host(), np.cumsum(values))
        self.assertGreater(begin.elapsed_time(end), 0)

    def test_reduction_of_the_library(self):
        total = cuda.reduce(lambda a, b: a + b)
        values = np.arange(3001, dtype=np.int64)
        self.assertEqual(total(values), int(values.sum()))

    def test_universal_function(self):
        @vectorize(["float64(float64, float64)"], target="cuda")
        def distance(a, b):
            return math.sqrt(a * a + b * b)
        a, b = np.linspace(0, 1, 300), np.linspace(2, 3, 300)
        np.testing.assert_allclose(distance(a, b), np.hypot(a, b), rtol=1e-14)

    def test_random_states(self):
        states = create_xoroshiro128p_states(256, seed=7)
        hits = np.zeros(1, np.int64)
        draw[2, 128](states, 100, hits)
        self.assertAlmostEqual(4 * hits[0] / 25600, math.pi, delta=0.08)

    def test_cooperative_grid(self):
        matrix = np.zeros((20, 256), np.int32)
        row_walk[8, 32](matrix)
        np.testing.assert_array_equal(matrix, np.repeat(np.arange(20, dtype=np.int32)[:, None], 256, axis=1))

    def test_complex_and_structured_data(self):
        @cuda.jit
        def turn(points, out):
            i = cuda.grid(1)
            if i < points.size:
                out[i] = complex(points[i]["x"], points[i]["y"]) * 1j
        points = np.zeros(50, dtype=[("x", np.float64), ("y", np.float64), ("tag", np.int16)])
        points["x"], points["y"] = np.arange(50), np.arange(50) ** 2
        out = np.zeros(50, np.complex128)
        turn[1, 64](points, out)
        np.testing.assert_array_equal(out, (points["x"] + 1j * points["y"]) * 1j)


if __name__ == "__main__":
    unittest.main()
