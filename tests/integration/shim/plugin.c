// SPDX-License-Identifier: Apache-2.0
const int shim_plugin = 1;
