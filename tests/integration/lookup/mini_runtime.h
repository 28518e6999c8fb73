// SPDX-License-Identifier: Apache-2.0
// What matters of a CUDA runtime here: it opens the driver by name and takes everything else from
// cuGetProcAddress. Built as a static and as a shared library.
#pragma once

int mini_run(int count);  // 0: success
