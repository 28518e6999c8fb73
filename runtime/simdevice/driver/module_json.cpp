// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "runtime/simdevice/driver/module.h"

namespace gacer::simdriver {
namespace {

using Json = nlohmann::json;

// Everything is checked before it is converted: the library throws otherwise.
template <typename T>
T number(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<T>() : T{};
}

std::string text(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

bool flag(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return false;
  return found->is_boolean() ? found->get<bool>()
                             : found->is_number_integer() && found->get<int>() != 0;
}

bool read_params(const Json& list, std::vector<ParamDescription>& out) {
  if (!list.is_array()) return false;
  for (const Json& pair : list) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number_integer() ||
        !pair[1].is_number_integer())
      return false;
    out.push_back({pair[0].get<uint32_t>(), pair[1].get<uint32_t>()});
  }
  return true;
}

bool read_kernel(const Json& object, KernelDescription& out) {
  if (!object.is_object()) return false;
  out.name = text(object, "name");
  out.param_bytes = number<uint32_t>(object, "param_bytes");
  out.regs = number<uint32_t>(object, "regs");
  out.static_smem_bytes = number<uint32_t>(object, "smem");
  out.local_bytes = number<uint32_t>(object, "local");
  out.max_threads = number<uint32_t>(object, "max_threads");
  out.cooperative = flag(object, "cooperative");
  out.prints = flag(object, "prints");
  if (const auto cluster = object.find("cluster"); cluster != object.end() && cluster->is_array())
    for (size_t i = 0; i < 3 && i < cluster->size(); ++i)
      if ((*cluster)[i].is_number_unsigned()) out.cluster[i] = (*cluster)[i].get<uint32_t>();
  const auto params = object.find("params");
  if (out.name.empty() || params == object.end() || !read_params(*params, out.params)) return false;
  for (const ParamDescription& param : out.params)
    if (param.offset > out.param_bytes || param.bytes > out.param_bytes - param.offset)
      return false;
  return true;
}

bool read_global(const Json& object, GlobalDescription& out) {
  if (!object.is_object()) return false;
  out = {text(object, "name"), number<uint64_t>(object, "address"),
         number<uint64_t>(object, "bytes"), flag(object, "managed")};
  return !out.name.empty();
}

template <typename T, typename Reader>
bool read_list(const Json& document, const char* key, std::vector<T>& out, const Reader& reader) {
  const auto list = document.find(key);
  if (list == document.end() || !list->is_array()) return false;
  for (const Json& item : *list)
    if (!reader(item, out.emplace_back())) return false;
  return true;
}

}  // namespace

Result<ModuleDescription> parse_module_json(std::string_view source) {
  const Json document = Json::parse(source, nullptr, false);
  ModuleDescription result;
  if (!document.is_object() || !read_list(document, "kernels", result.kernels, read_kernel) ||
      !read_list(document, "globals", result.globals, read_global))
    return Error{CUDA_ERROR_INVALID_IMAGE,
                 "the device server described the module in a way this driver cannot read"};
  for (KernelDescription& kernel : result.kernels)
    kernel.virtual_arch = number<uint32_t>(document, "virtual_arch");
  return result;
}

}  // namespace gacer::simdriver
