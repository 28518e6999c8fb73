// SPDX-License-Identifier: Apache-2.0
// The command line of gacer-model.
#pragma once

#include <string>

#include "kernels/app/arrivals.h"
#include "kernels/host/stream_priority.h"
#include "kernels/model/model_list.h"

namespace gacer::kernels {

struct Options {
  const ModelRow* model = nullptr;
  ModelOptions shape;
  long long requests = 0;  // 0: no limit
  double seconds = 0.0;    // 0: no limit
  int warmup = 2;
  ArrivalSpec arrival;
  unsigned seed = 1;
  StreamPriority priority = StreamPriority::kDefault;
  int device = 0;
  bool graph = false;
  bool checksum = false;
  bool list = false;
  std::string json_path;  // "-": stdout
  std::string start_file, stop_file;
};

struct ParsedOptions {
  Options options;
  bool stop = false;  // print `text` and leave with `exit_code`
  int exit_code = 0;  // 0 help, 2 bad usage
  std::string text;
};

ParsedOptions parse_options(int argc, const char* const* argv);

}  // namespace gacer::kernels
