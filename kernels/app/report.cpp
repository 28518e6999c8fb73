// SPDX-License-Identifier: Apache-2.0
#include "kernels/app/report.h"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace gacer::kernels {
namespace {

template <class... Args>
std::string print(const char* format, Args... args) {
  char line[256];
  std::snprintf(line, sizeof(line), format, args...);
  return line;
}

double requests_per_s(const Report& report) {
  return report.elapsed_s > 0.0 ? static_cast<double>(report.requests) / report.elapsed_s : 0.0;
}

std::string hex(std::uint64_t value) {
  return print("%016llx", static_cast<unsigned long long>(value));
}

}  // namespace

std::string report_text(const Options& options, const Report& report) {
  const int batch = options.shape.batch;
  const double rate = requests_per_s(report);
  const LatencySummary& latency = report.latency;
  std::string text =
      print("%s batch %d on %s\n", options.model->name, batch, report.device.c_str());
  text += print("%lld requests in %.3f s: %.2f requests/s, %.2f %s/s\n", report.requests,
                report.elapsed_s, rate, rate * batch, options.model->items);
  text += print("latency ms: p50 %.3f  p90 %.3f  p99 %.3f  max %.3f  mean %.3f\n", latency.p50_ms,
                latency.p90_ms, latency.p99_ms, latency.max_ms, latency.mean_ms);
  if (report.checksum)
    text += print("checksum %s, %lld differing outputs\n", hex(*report.checksum).c_str(),
                  report.differing_outputs);
  return text;
}

std::string report_json(const Options& options, const Report& report) {
  const double rate = requests_per_s(report);
  nlohmann::ordered_json json = {
      {"model", options.model->name},
      {"batch", options.shape.batch},
      {"device", report.device},
      {"requests", report.requests},
      {"elapsed_s", report.elapsed_s},
      {"p50_ms", report.latency.p50_ms},
      {"p90_ms", report.latency.p90_ms},
      {"p99_ms", report.latency.p99_ms},
      {"max_ms", report.latency.max_ms},
      {"mean_ms", report.latency.mean_ms},
      {"requests_per_s", rate},
      {"items_per_s", rate * options.shape.batch},
      {"items", options.model->items},
      {"graph", options.graph},
      {"seed", options.seed},
  };
  if (report.checksum) {
    json["checksum"] = hex(*report.checksum);
    json["differing_outputs"] = report.differing_outputs;
  }
  return json.dump(2) + "\n";
}

std::string model_list_text() {
  std::string text = print("%-12s %10s %8s  %s\n", "model", "params M", "GMACs", "");
  for (const ModelRow& row : kModels) {
    const LayerTable table = row.build({});
    text += print("%-12s %10.2f %8.2f  %s\n", row.name,
                  static_cast<double>(parameter_count(table)) * 1e-6,
                  static_cast<double>(multiply_adds(table)) * 1e-9, row.purpose);
  }
  return text;
}

}  // namespace gacer::kernels
