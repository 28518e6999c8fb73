// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace gacer::simdevice {

// Appends `text` as a JSON string with quotes; bytes outside printable ASCII are escaped one by
// one.
void append_json_string(std::string& json, std::string_view text);

}  // namespace gacer::simdevice
