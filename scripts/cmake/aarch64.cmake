# SPDX-License-Identifier: Apache-2.0
# Cross-compiling for 64-bit Arm on a Debian host (g++-aarch64-linux-gnu). CUDA's headers and the symbol list of its
# stub are the host's: they do not differ.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
