// SPDX-License-Identifier: Apache-2.0
// One line of a doctor's answer.
#pragma once

#include <string>
#include <vector>

namespace gacer::tools::doctor {

enum class Level {
  kOk,
  kWarn,  // regulated, but something is not as it could be
  kFail,  // something runs unregulated, or not at all
};

struct Check {
  Level level = Level::kOk;
  std::string name;                  // a fixed word, for scripts
  std::string text;                  // what was found, where, what to do
  std::vector<std::string> details;  // shown with --verbose and in the document
};
using Checks = std::vector<Check>;

inline Check ok(std::string name, std::string text) {
  return {Level::kOk, std::move(name), std::move(text), {}};
}
inline Check warn(std::string name, std::string text) {
  return {Level::kWarn, std::move(name), std::move(text), {}};
}
inline Check fail(std::string name, std::string text) {
  return {Level::kFail, std::move(name), std::move(text), {}};
}

}  // namespace gacer::tools::doctor
