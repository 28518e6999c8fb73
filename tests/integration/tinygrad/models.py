# SPDX-License-Identifier: Apache-2.0
"""The two networks of the client test, written with tinygrad.nn: ResNet-18 and a small decoder-only transformer.

Weights come from a seeded numpy generator, so that every device gets the same ones.
"""
import numpy as np
from tinygrad import Tensor, nn


class BasicBlock:
    def __init__(self, channels_in, channels, stride):
        self.conv1 = nn.Conv2d(channels_in, channels, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.downsample = []
        if stride != 1 or channels_in != channels:
            self.downsample = [nn.Conv2d(channels_in, channels, 1, stride=stride, bias=False), nn.BatchNorm2d(channels)]

    def __call__(self, x):
        out = self.bn2(self.conv2(self.bn1(self.conv1(x)).relu()))
        return (out + x.sequential(self.downsample)).relu()


class ResNet18:
    def __init__(self, classes=1000):
        self.conv1 = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.blocks = []
        channels_in = 64
        for channels, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
            self.blocks += [BasicBlock(channels_in, channels, stride), BasicBlock(channels, channels, 1)]
            channels_in = channels
        self.fc = nn.Linear(512, classes)

    def __call__(self, x):
        x = self.bn1(self.conv1(x)).relu().pad((1, 1, 1, 1)).max_pool2d((3, 3), stride=2)
        return self.fc(x.sequential(self.blocks).mean((2, 3)))

    @staticmethod
    def example(rng, batch, size):
        return rng.standard_normal((batch, 3, size, size)).astype(np.float32)


class TransformerBlock:
    def __init__(self, dim, heads):
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.up, self.down = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def __call__(self, x):
        batch, length, dim = x.shape
        q, k, v = self.qkv(self.norm1(x)).reshape(batch, length, 3, self.heads, dim // self.heads).permute(2, 0, 3, 1, 4)
        mixed = q.scaled_dot_product_attention(k, v, is_causal=True).transpose(1, 2).reshape(batch, length, dim)
        x = x + self.out(mixed)
        return x + self.down(self.up(self.norm2(x)).gelu())


class Transformer:
    def __init__(self, vocabulary=256, dim=64, heads=4, layers=2, context=32):
        self.tokens, self.positions = nn.Embedding(vocabulary, dim), nn.Embedding(context, dim)
        self.blocks = [TransformerBlock(dim, heads) for _ in range(layers)]
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, vocabulary, bias=False)

    def __call__(self, ids):
        x = self.tokens(ids) + self.positions(Tensor.arange(ids.shape[1], device=ids.device).reshape(1, -1))
        return self.head(self.norm(x.sequential(self.blocks)))

    @staticmethod
    def example(rng, batch, length):
        return rng.integers(0, 256, (batch, length)).astype(np.int32)


def seed_weights(model, seed):
    """Gives every parameter values that depend on the seed, its place in the state dict and its shape only."""
    rng = np.random.default_rng(seed)
    for name, parameter in sorted(nn.state.get_state_dict(model).items()):
        parameter.replace(Tensor(seeded_values(rng, name, parameter.shape), device=parameter.device).realize())


def seeded_values(rng, name, shape):
    if name.endswith("num_batches_tracked"):
        return np.zeros(shape, np.int32)
    values = rng.standard_normal(shape).astype(np.float32)
    if name.endswith("running_var"):
        return 1 + np.abs(values)
    fan_in = int(np.prod(shape[1:])) if len(shape) > 1 else 16
    return values * np.float32(np.sqrt(2 / fan_in))
