// SPDX-License-Identifier: Apache-2.0
#include <cctype>
#include <string_view>

#include "runtime/simdevice/driver/fatbin.h"
#include "runtime/simdevice/driver/module.h"
#include "runtime/simdevice/image/cubin.h"

namespace gacer::simdriver {
namespace {

constexpr std::string_view kEntryWord = ".entry";

// A library is loaded without a context, so its kernels are read off the text: ".entry NAME".
std::vector<std::string> entry_names(const std::string& ptx) {
  std::vector<std::string> names;
  for (size_t at = ptx.find(kEntryWord); at != std::string::npos; at = ptx.find(kEntryWord, at)) {
    at += kEntryWord.size();
    const size_t begin = ptx.find_first_not_of(" \t\r\n", at);
    if (begin == at || begin == std::string::npos) continue;
    size_t end = begin;
    while (end < ptx.size() &&
           (isalnum(static_cast<unsigned char>(ptx[end])) || ptx[end] == '_' || ptx[end] == '$'))
      ++end;
    names.push_back(ptx.substr(begin, end - begin));
  }
  return names;
}

}  // namespace

std::vector<std::string> kernel_names(const std::string& image) {
  if (!is_machine_code(image)) return entry_names(image);
  const auto cubin =
      simdevice::parse_cubin({reinterpret_cast<const uint8_t*>(image.data()), image.size()});
  std::vector<std::string> names;
  if (cubin.ok())
    for (const simdevice::CubinKernel& kernel : cubin->kernels) names.push_back(kernel.name);
  return names;
}

}  // namespace gacer::simdriver
