// SPDX-License-Identifier: Apache-2.0
// BERT-base, one GPT-2 decode step, and an LSTM.
// Sources: Devlin 2018 (arXiv 1810.04805); Radford 2019 (GPT-2, 124M); torch.nn.LSTM's layout.
#include <algorithm>

#include "kernels/model/builders.h"
#include "kernels/model/table_builder.h"

namespace gacer::kernels {
namespace {

constexpr int kHeadDim = 64;

struct TransformerSize {
  int hidden, heads, layers, vocabulary, positions;
};

TransformerSize transformer_size(const TableBuilder& table, int vocabulary, int positions) {
  const int heads = std::max(1, table.width(768) / kHeadDim);
  return {heads * kHeadDim, heads, table.depth(12), table.width(vocabulary), positions};
}

int tokens(TableBuilder& table, int rows, int vocabulary) {
  Layer layer;
  layer.op = LayerOp::kTokens;
  layer.name = "tokens";
  layer.out = {rows, 1};
  layer.limit = vocabulary;
  return table.add(std::move(layer));
}

Layer embedding(int x, int rows, const TransformerSize& size) {
  Layer layer;
  layer.op = LayerOp::kEmbedding;
  layer.name = "embedding";
  layer.inputs = {x};
  layer.out = {rows, size.hidden};
  layer.limit = size.vocabulary;
  layer.positions = size.positions;
  return layer;
}

Layer attention(LayerOp op, int x, const std::string& name, const Shape& qkv, int heads) {
  Layer layer;
  layer.op = op;
  layer.name = name;
  layer.inputs = {x};
  layer.out = {qkv.n, qkv.c / 3};
  layer.heads = heads;
  return layer;
}

// Norm after each residual sum.
int encoder_layer(TableBuilder& table, int x, const std::string& name, const TransformerSize& size,
                  int sequence) {
  const int qkv = table.linear(x, name + ".qkv", {3 * size.hidden});
  Layer mix =
      attention(LayerOp::kAttention, qkv, name + ".attention", table.shape(qkv), size.heads);
  mix.sequence = sequence;
  int y = table.add(std::move(mix));
  y = table.linear(y, name + ".attention.output", {size.hidden, kActNone, x});
  x = table.layer_norm(y, name + ".attention.norm");
  y = table.linear(x, name + ".intermediate", {4 * size.hidden, kActGelu});
  y = table.linear(y, name + ".output", {size.hidden, kActNone, x});
  return table.layer_norm(y, name + ".norm");
}

// Norm before each branch.
int decoder_layer(TableBuilder& table, int x, const std::string& name, const TransformerSize& size,
                  int context) {
  int y = table.layer_norm(x, name + ".ln_1");
  y = table.linear(y, name + ".attn.c_attn", {3 * size.hidden});
  Layer mix = attention(LayerOp::kDecodeAttention, y, name + ".attn", table.shape(y), size.heads);
  mix.context = context;
  y = table.add(std::move(mix));
  x = table.linear(y, name + ".attn.c_proj", {size.hidden, kActNone, x});
  y = table.layer_norm(x, name + ".ln_2");
  y = table.linear(y, name + ".mlp.c_fc", {4 * size.hidden, kActGelu});
  return table.linear(y, name + ".mlp.c_proj", {size.hidden, kActNone, x});
}

Layer tied_head(int x, int rows, const TransformerSize& size, int embedding_row) {
  Layer layer;
  layer.op = LayerOp::kLinear;
  layer.name = "lm_head";
  layer.inputs = {x};
  layer.out = {rows, size.vocabulary};
  layer.weights_of = embedding_row;
  return layer;
}

}  // namespace

LayerTable build_bert_base(const ModelOptions& options) {
  TableBuilder table("bert-base", options);
  const TransformerSize size = transformer_size(table, 30522, 512);
  const int sequence = options.sequence > 0 ? options.sequence : 128;
  const int rows = options.batch * sequence;
  Layer embed = embedding(tokens(table, rows, size.vocabulary), rows, size);
  embed.sequence = sequence;
  embed.segment = true;
  int x = table.layer_norm(table.add(std::move(embed)), "embedding.norm");
  for (int i = 0; i < size.layers; ++i)
    x = encoder_layer(table, x, "layer." + std::to_string(i), size, sequence);
  Layer pooler;
  pooler.op = LayerOp::kLinear;
  pooler.name = "pooler";
  pooler.inputs = {x};
  pooler.out = {options.batch, size.hidden};
  pooler.epilogue = Epilogue::kBias;
  pooler.activation = kActTanh;
  pooler.row_step = sequence;
  table.add(std::move(pooler));
  return table.take();
}

LayerTable build_gpt2_decode(const ModelOptions& options) {
  TableBuilder table("gpt2-decode", options);
  const TransformerSize size = transformer_size(table, 50257, 1024);
  const int context = options.context > 0 ? options.context : 512;
  Layer embed = embedding(tokens(table, options.batch, size.vocabulary), options.batch, size);
  embed.first_position = context - 1;
  const int embedding_row = table.add(std::move(embed));
  int x = embedding_row;
  for (int i = 0; i < size.layers; ++i)
    x = decoder_layer(table, x, "h." + std::to_string(i), size, context);
  x = table.layer_norm(x, "ln_f");
  table.add(tied_head(x, options.batch, size, embedding_row));
  return table.take();
}

LayerTable build_lstm(const ModelOptions& options) {
  TableBuilder table("lstm", options);
  const int steps = options.sequence > 0 ? options.sequence : 25;
  const int hidden = table.width(512);
  Layer input;
  input.name = "input";
  input.out = {steps * options.batch, hidden};
  int x = table.add(std::move(input));
  for (int i = 0; i < table.depth(2); ++i) {
    Layer layer;
    layer.op = LayerOp::kLstm;
    layer.name = "lstm.l" + std::to_string(i);
    layer.inputs = {x};
    layer.out = {steps * options.batch, hidden};
    layer.sequence = steps;
    x = table.add(std::move(layer));
  }
  return table.take();
}

}  // namespace gacer::kernels
