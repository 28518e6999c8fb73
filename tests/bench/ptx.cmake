# SPDX-License-Identifier: Apache-2.0
# gacer_bench_ptx builds all that scripts/bench.sh ptx needs.
if(NOT TARGET gacer_exec)
  return()
endif()
find_package(benchmark REQUIRED)

set(bench_ptx ${CMAKE_BINARY_DIR}/bench/ptx_kernels.ptx)
add_custom_command(OUTPUT ${bench_ptx}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/bench
  COMMAND ${GACER_NVCC} -O3 -std=c++17 -ptx -arch=compute_80 ${CMAKE_CURRENT_SOURCE_DIR}/ptx_kernels.cu -o ${bench_ptx}
  DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/ptx_kernels.cu VERBATIM)
add_custom_target(gacer_bench_ptx_kernels DEPENDS ${bench_ptx})

add_executable(ptx_bench ptx_bench.cpp)
set_target_properties(ptx_bench PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
target_compile_definitions(ptx_bench PRIVATE GACER_BENCH_PTX="${bench_ptx}")
target_link_libraries(ptx_bench PRIVATE gacer_exec benchmark::benchmark gacer_warnings)
add_dependencies(ptx_bench gacer_bench_ptx_kernels)

add_custom_target(gacer_bench_ptx)
add_dependencies(gacer_bench_ptx ptx_bench)
foreach(part gacer-model gacer_simcuda simgpu-server)
  if(TARGET ${part})
    add_dependencies(gacer_bench_ptx ${part})
  endif()
endforeach()
