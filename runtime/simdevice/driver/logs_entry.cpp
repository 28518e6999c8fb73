// SPDX-License-Identifier: Apache-2.0
// cuLogs*: the newest lines of this driver, as the program may ask for them.
#include <algorithm>
#include <fstream>
#include <string>

#include "runtime/simdevice/driver/cuda_api.h"
#include "runtime/simdevice/driver/sim_log.h"

using namespace gacer::simdriver;

namespace {

constexpr size_t kMostBytes = 25600;  // of cuLogsDumpToMemory
constexpr char kTruncated[] = "(older messages are lost)\n";

// Lines from `iterator` on (NULL: all) that fit into `room`, the newest at the end.
std::string newest_lines(const CUlogIterator* iterator, size_t room) {
  const LogLines lines = kept_log_lines(iterator == nullptr ? 0 : *iterator);
  std::string text;
  size_t first = lines.texts.size();
  while (first > 0 && text.size() + lines.texts[first - 1].size() + 1 <= room)
    text = lines.texts[--first] + "\n" + text;
  const bool cut = first > 0 || lines.missed;
  if (!cut || text.empty()) return text;
  while (text.size() + sizeof kTruncated - 1 > room && !text.empty())
    text.erase(0, text.find('\n') + 1);
  return text.empty() ? text : kTruncated + text;
}

}  // namespace

CUresult cuLogsRegisterCallback(CUlogsCallback callback, void* data, CUlogsCallbackHandle* out) {
  if (callback == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const uint64_t id = add_log_listener([callback, data](gacer::LogLevel level, std::string text) {
    callback(data, level == gacer::LogLevel::kError ? CU_LOG_LEVEL_ERROR : CU_LOG_LEVEL_WARNING,
             text.data(), text.size());
  });
  if (out != nullptr) *out = reinterpret_cast<CUlogsCallbackHandle>(id);
  return CUDA_SUCCESS;
}

CUresult cuLogsUnregisterCallback(CUlogsCallbackHandle callback) {
  return remove_log_listener(reinterpret_cast<uint64_t>(callback)) ? CUDA_SUCCESS
                                                                   : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuLogsCurrent(CUlogIterator* out, unsigned flags) {
  if (out == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  *out = log_lines_so_far();
  return CUDA_SUCCESS;
}

CUresult cuLogsDumpToFile(CUlogIterator* iterator, const char* path, unsigned flags) {
  if (path == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  std::ofstream file(path);
  if (!file) return CUDA_ERROR_INVALID_VALUE;
  const CUlogIterator now = log_lines_so_far();
  file << newest_lines(iterator, SIZE_MAX);
  if (iterator != nullptr) *iterator = now;
  return file.good() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuLogsDumpToMemory(CUlogIterator* iterator, char* buffer, size_t* size, unsigned flags) {
  if (buffer == nullptr || size == nullptr || *size == 0 || flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  const size_t room = std::min(*size, kMostBytes) - 1;
  const CUlogIterator now = log_lines_so_far();
  const bool anything = !newest_lines(iterator, SIZE_MAX).empty();
  const std::string text = newest_lines(iterator, room);
  text.copy(buffer, text.size());
  buffer[text.size()] = '\0';
  *size = text.size();
  if (anything && text.empty()) return CUDA_ERROR_INVALID_VALUE;
  if (iterator != nullptr) *iterator = now;
  return CUDA_SUCCESS;
}
