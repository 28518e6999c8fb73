# SPDX-License-Identifier: Apache-2.0
# Compiler settings shared by all targets.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()

find_program(GACER_CCACHE ccache)
if(GACER_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${GACER_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${GACER_CCACHE})
endif()

set(GACER_SANITIZE "" CACHE STRING "address,undefined or thread")
add_library(gacer_warnings INTERFACE)
target_compile_options(gacer_warnings INTERFACE
  -Wall -Wextra -Werror -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Wundef
  -Wold-style-cast -Wimplicit-fallthrough -fno-strict-aliasing)
if(GACER_SANITIZE)
  add_compile_options(-O1 -g1 -fsanitize=${GACER_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${GACER_SANITIZE})
endif()

find_path(GACER_CUDA_INCLUDE cuda.h PATHS $ENV{CUDA_HOME}/include /usr/local/cuda/include
          /usr/local/cuda/targets/x86_64-linux/include)
find_program(GACER_NVCC nvcc PATHS $ENV{CUDA_HOME}/bin /usr/local/cuda/bin)
if(NOT GACER_CUDA_INCLUDE OR NOT GACER_NVCC)
  message(FATAL_ERROR "CUDA Toolkit >= 12.4 not found (cuda.h, nvcc). Run scripts/setup.sh: it says what to install.")
endif()
find_library(GACER_CUDA_STUB cuda PATHS $ENV{CUDA_HOME}/lib64/stubs /usr/local/cuda/lib64/stubs NO_DEFAULT_PATH)
