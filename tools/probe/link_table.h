// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gacer::probe {

struct LinkRow {
  const char* symbol;  // NULL: end
  void* address;       // NULL: nobody has it
};

}  // namespace gacer::probe

extern "C" {
[[gnu::visibility("default")]] extern const gacer::probe::LinkRow gacer_probe_links[];
}
