// SPDX-License-Identifier: Apache-2.0
// gacer-model: a DNN model as a plain CUDA driver-API program.
// Exit codes: 0 done, 1 CUDA or output error, 2 bad usage.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <thread>

#include "kernels/app/options.h"
#include "kernels/app/report.h"
#include "kernels/app/request_loop.h"
#include "kernels/app/request_runner.h"

namespace gacer::kernels {
namespace {

volatile std::sig_atomic_t interrupted = 0;

// SIGINT and SIGTERM end the measurement; the report is still printed.
void on_signal(int) {
  interrupted = 1;
}

void catch_signals() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool exists(const std::string& path) {
  return access(path.c_str(), F_OK) == 0;
}

int fail(int exit_code, const std::string& message) {
  std::fprintf(stderr, "gacer-model: %s\n", message.c_str());
  return exit_code;
}

bool warm_up(DeviceModel& model, RequestRunner& runner, const Options& options) {
  if (!model.load(options.seed) || !runner.prepare(options.seed) || !runner.run()) return false;
  if (options.graph && !model.capture()) return false;
  for (int i = 1; i < options.warmup; ++i)
    if (!runner.run()) return false;
  return true;
}

void wait_for_start(const std::string& path) {
  std::fprintf(stderr, "gacer-model: warm\n");
  while (!path.empty() && !exists(path) && interrupted == 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

LoopLimits limits_of(const Options& options) {
  return {options.requests, options.seconds, [&options] {
            return interrupted != 0 || (!options.stop_file.empty() && exists(options.stop_file));
          }};
}

// Runs the measured requests. False on a CUDA failure.
bool measure(RequestRunner& runner, Arrivals& arrivals, const Options& options, Report& report) {
  const std::uint64_t expected = runner.output_checksum();
  const auto request = [&] {
    if (!runner.run()) return false;
    if (options.checksum && runner.output_checksum() != expected) ++report.differing_outputs;
    return true;
  };
  SteadyLoopClock clock;
  const LoopResult result = run_requests(request, arrivals, limits_of(options), clock);
  report.requests = static_cast<long long>(result.latencies_ns.size());
  report.elapsed_s = result.elapsed_s;
  report.latency = summarise(result.latencies_ns);
  if (options.checksum) report.checksum = runner.output_checksum();
  return !result.failed;
}

int write_report(const Options& options, const Report& report) {
  const std::string json = report_json(options, report);
  if (options.json_path == "-") {
    std::fputs(json.c_str(), stdout);
    return 0;
  }
  std::fputs(report_text(options, report).c_str(), stdout);
  if (options.json_path.empty()) return 0;
  std::ofstream file(options.json_path);
  if (!(file << json << std::flush)) return fail(1, options.json_path + ": cannot be written");
  return 0;
}

int run(const Options& options) {
  Outcome<Arrivals> arrivals = Arrivals::create(options.arrival, options.seed);
  if (!arrivals) return fail(2, arrivals.error);
  catch_signals();
  CudaSession session;
  if (!session.open(options.device, options.priority)) return fail(1, session.status().message());
  DeviceModel model(options.model->build(options.shape), session);
  RequestRunner runner(model, session);
  if (!warm_up(model, runner, options)) return fail(1, session.status().message());
  wait_for_start(options.start_file);
  Report report;
  report.device = session.device_name();
  if (!measure(runner, *arrivals.value, options, report))
    return fail(1, session.status().message());
  return write_report(options, report);
}

}  // namespace
}  // namespace gacer::kernels

int main(int argc, char** argv) {
  using namespace gacer::kernels;
  const ParsedOptions parsed = parse_options(argc, argv);
  if (parsed.stop) {
    std::fprintf(parsed.exit_code == 0 ? stdout : stderr, "%s\n", parsed.text.c_str());
    return parsed.exit_code;
  }
  if (parsed.options.list) {
    std::fputs(model_list_text().c_str(), stdout);
    return 0;
  }
  return run(parsed.options);
}
