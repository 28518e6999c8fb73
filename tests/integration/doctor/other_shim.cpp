// SPDX-License-Identifier: Apache-2.0
// What a shim of the next release would say of itself.
extern "C" [[gnu::visibility("default")]] unsigned gacer_shim_version() {
  return 1000;
}
