// SPDX-License-Identifier: Apache-2.0
#include "kernels/app/options.h"

#include <CLI/CLI.hpp>
#include <map>

namespace gacer::kernels {
namespace {

constexpr long long kDefaultRequests = 100;

// What CLI11 fills; turned into Options once all of it is known.
struct RawOptions {
  Options options;
  std::string model, arrival = "closed", priority = "default";
  bool tiny = false;
};

// Finer limits depend on the model, see check_options().
void add_shape_options(CLI::App& app, RawOptions& raw) {
  ModelOptions& shape = raw.options.shape;
  const CLI::Range positive(1, 1 << 20);
  const auto add = [&](const char* name, int& value, const char* help) {
    return app.add_option(name, value, help)->check(positive)->type_name("N");
  };
  add("--batch", shape.batch, "items per request")->capture_default_str();
  add("--image", shape.image, "pixels a side (image models)");
  add("--seq", shape.sequence, "tokens or time steps (bert-base 128, lstm 25)");
  add("--context", shape.context, "cached tokens (gpt2-decode 512)");
  add("--layers", shape.layers, "at most this many layers, or blocks per stage");
  add("--width-divisor", shape.width_divisor, "divide channels by this");
  app.add_flag("--tiny", raw.tiny, "a small version of the model, for quick tests");
}

void add_run_options(CLI::App& app, RawOptions& raw) {
  Options& options = raw.options;
  app.add_option("--requests", options.requests, "requests to measure (default 100)")
      ->check(CLI::Range(1LL, 1000000000LL));
  app.add_option("--seconds", options.seconds, "time to measure")->check(CLI::Range(0.001, 1e6));
  app.add_option("--warmup", options.warmup, "requests before measuring")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--arrival", raw.arrival, "closed, poisson:RATE or trace:FILE")
      ->capture_default_str();
  app.add_option("--seed", options.seed, "weights, input and arrivals")->capture_default_str();
  app.add_option("--device", options.device, "CUDA device ordinal")->capture_default_str();
  app.add_option("--stream-priority", raw.priority, "high, low or default")
      ->check(CLI::IsMember({"high", "low", "default"}))
      ->capture_default_str();
  app.add_flag("--graph", options.graph, "capture the forward pass and replay it as a graph");
  app.add_option("--start-file", options.start_file, "after warm-up, wait until this path exists");
  app.add_option("--stop-file", options.stop_file, "end when this path exists");
}

void add_output_options(CLI::App& app, RawOptions& raw) {
  app.add_flag("--checksum", raw.options.checksum, "print a hash of the output's bits");
  app.add_option("--json", raw.options.json_path, "write the report as JSON; - for stdout");
  app.add_flag("--list", raw.options.list, "list the models and leave");
}

ParsedOptions refuse(const std::string& why) {
  ParsedOptions parsed;
  parsed.stop = true;
  parsed.exit_code = 2;
  parsed.text = "gacer-model: " + why;
  return parsed;
}

StreamPriority priority_of(const std::string& name) {
  if (name == "high") return StreamPriority::kHigh;
  return name == "low" ? StreamPriority::kLow : StreamPriority::kDefault;
}

// --tiny gives defaults; what was asked for by name stays.
void apply_tiny(ModelOptions& shape) {
  const ModelOptions tiny = tiny_options(shape.batch);
  if (shape.image == 0) shape.image = tiny.image;
  if (shape.layers == 0) shape.layers = tiny.layers;
  if (shape.sequence == 0) shape.sequence = tiny.sequence;
  if (shape.context == 0) shape.context = tiny.context;
  if (shape.width_divisor == 1) shape.width_divisor = tiny.width_divisor;
}

ParsedOptions finish(RawOptions raw) {
  Options& options = raw.options;
  if (options.list) return {options, false, 0, {}};
  if (raw.model.empty()) return refuse("no model named; models: " + model_names());
  options.model = find_model(raw.model);
  if (options.model == nullptr)
    return refuse("unknown model '" + raw.model + "'; models: " + model_names());
  if (raw.tiny) apply_tiny(options.shape);
  if (std::string wrong = check_options(*options.model, options.shape); !wrong.empty())
    return refuse(wrong);
  const Outcome<ArrivalSpec> arrival = parse_arrival(raw.arrival);
  if (!arrival) return refuse(arrival.error);
  options.arrival = *arrival.value;
  options.priority = priority_of(raw.priority);
  const bool endless = options.seconds > 0.0 || !options.stop_file.empty() ||
                       options.arrival.kind == ArrivalKind::kTrace;
  if (options.requests == 0 && !endless) options.requests = kDefaultRequests;
  return {options, false, 0, {}};
}

}  // namespace

ParsedOptions parse_options(int argc, const char* const* argv) {
  RawOptions raw;
  CLI::App app("Runs a DNN model on a CUDA device and reports latency and throughput.",
               "gacer-model");
  app.add_option("model", raw.model, "one of: " + model_names());
  add_shape_options(app, raw);
  add_run_options(app, raw);
  add_output_options(app, raw);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return {raw.options, true, 0, app.help()};
  } catch (const CLI::ParseError& error) {
    return refuse(error.what());
  }
  return finish(std::move(raw));
}

}  // namespace gacer::kernels
