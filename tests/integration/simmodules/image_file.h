// SPDX-License-Identifier: Apache-2.0
// Images that CMakeLists.txt lets nvcc write.
#pragma once

#include <fstream>
#include <sstream>
#include <string>

namespace gacer::simdriver {

inline std::string image_path(const std::string& name) {
  return std::string(IMAGE_FOLDER) + "/" + name;
}
inline std::string image_file(const std::string& name) {
  std::ifstream in(image_path(name), std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace gacer::simdriver
