// SPDX-License-Identifier: Apache-2.0
// Nothing, as a shared object.
const char gacer_empty_shim[] = "nothing";
