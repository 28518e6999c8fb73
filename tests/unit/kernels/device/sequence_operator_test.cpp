// SPDX-License-Identifier: Apache-2.0
// Embedding, decode attention and the LSTM cell against their references.
#include "tests/unit/kernels/device/operator_fixture.h"

namespace gacer::kernels {
namespace {

using SequenceTest = OperatorTest;

TEST_F(SequenceTest, EmbeddingWithAndWithoutSegment) {
  Array &words = ids(14, 30), &tokens = input(30 * 40), &positions = input(20 * 40);
  Array &segment = input(40), &with = output(14 * 40), &without = output(14 * 40);
  expect_same([&](Ops& ops, const Side& at) {
    const int* id = reinterpret_cast<const int*>(at(words));
    ops.embed_tokens({id, at(tokens), at(positions), at(segment), at(with), 14, 40, 7, 0});
    ops.embed_tokens({id, at(tokens), at(positions), nullptr, at(without), 14, 40, 7, 13});
  });
}

struct DecodeCase {
  int batch, heads, head_dim, length, capacity;
};

class DecodeTest : public OperatorTest, public testing::WithParamInterface<DecodeCase> {};

TEST_P(DecodeTest, AttendsToTheCacheAndAppends) {
  const DecodeCase& c = GetParam();
  const int hidden = c.heads * c.head_dim;
  Array& qkv = input(c.batch * 3 * hidden);
  Array& keys = in_out(1LL * c.batch * hidden * c.capacity);
  Array& values = in_out(1LL * c.batch * hidden * c.capacity);
  Array& out = output(c.batch * hidden);
  expect_same([&](Ops& ops, const Side& at) {
    ops.attention_decode(
        {at(qkv), at(keys), at(values), at(out), c.heads, c.head_dim, c.length, c.capacity, 0.3f},
        c.batch);
  });
}

INSTANTIATE_TEST_SUITE_P(Shapes, DecodeTest,
                         testing::Values(DecodeCase{1, 2, 64, 100, 128}, DecodeCase{2, 3, 64, 1, 4},
                                         DecodeCase{1, 1, 128, 300, 300},
                                         DecodeCase{2, 1, 48, 33, 40}));

TEST_F(SequenceTest, LstmCell) {
  Array &gates = input(3 * 4 * 100, -4.0f, 4.0f), &cell = in_out(3 * 100), &hidden = output(300);
  expect_same([&](Ops& ops, const Side& at) {
    ops.lstm_cell({at(gates), at(cell), at(hidden), 3, 100});
  });
}

}  // namespace
}  // namespace gacer::kernels
