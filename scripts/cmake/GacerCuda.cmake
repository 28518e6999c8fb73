# SPDX-License-Identifier: Apache-2.0
# gacer_cuda_program(NAME SOURCES a.cu b.cpp ... [FLAGS ...] [LIBS ...] [DEPENDS ...] [ARCH compute_80])
# An ordinary CUDA program: nvcc compiles (host compiler: ours) and links it with `-cudart shared` against the toolkit's
# libcudart.so; the result is ${CMAKE_BINARY_DIR}/cuda/NAME, the target NAME. It holds PTX only, for ARCH.
# FLAGS go to every compilation and the link (-rdc=true, -std=c++20, --default-stream per-thread), LIBS to the link
# (-lgtest, -Xlinker ...). Run it with LD_LIBRARY_PATH=${CMAKE_BINARY_DIR}/sim and SIMGPU_SERVER=<path>.
#
# gacer_cuda_test(NAME ...)   the same, and a test that runs it on a simulated device of its own (SIMGPU_DIR); [ARGS ...] [ENVIRONMENT A=b ...]
function(gacer_cuda_program name)
  cmake_parse_arguments(arg "" "ARCH" "SOURCES;FLAGS;LIBS;DEPENDS" ${ARGN})
  if(NOT arg_ARCH)
    set(arg_ARCH compute_80)
  endif()
  set(flags -cudart shared -ccbin ${CMAKE_CXX_COMPILER} -arch=${arg_ARCH} -code=${arg_ARCH} -O2 ${arg_FLAGS})
  set(folder ${CMAKE_BINARY_DIR}/cuda)
  set(objects "")
  foreach(source IN LISTS arg_SOURCES)
    get_filename_component(path ${source} ABSOLUTE)
    get_filename_component(stem ${source} NAME)
    set(object ${folder}/${name}.objects/${stem}.o)
    add_custom_command(OUTPUT ${object}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}/${name}.objects
      COMMAND ${GACER_NVCC} ${flags} -I${PROJECT_SOURCE_DIR} -c ${path} -o ${object} -MD -MF ${object}.d
      DEPENDS ${path} ${arg_DEPENDS} DEPFILE ${object}.d COMMENT "nvcc ${source}" VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  add_custom_command(OUTPUT ${folder}/${name}
    COMMAND ${GACER_NVCC} ${flags} ${objects} -o ${folder}/${name} ${arg_LIBS}
    DEPENDS ${objects} ${arg_DEPENDS} COMMENT "nvcc link ${name}" VERBATIM)
  add_custom_target(${name} ALL DEPENDS ${folder}/${name})
endfunction()

function(gacer_cuda_test name)
  cmake_parse_arguments(arg "" "" "ARGS;ENVIRONMENT" ${ARGN})
  gacer_cuda_program(${name} ${arg_UNPARSED_ARGUMENTS})
  add_dependencies(${name} gacer_simcuda gacer_simcudart simgpu-server)
  add_test(NAME ${name} COMMAND ${CMAKE_BINARY_DIR}/cuda/${name} ${arg_ARGS})
  set_tests_properties(${name} PROPERTIES LABELS "integration;sim" TIMEOUT 300
    ENVIRONMENT "LD_LIBRARY_PATH=${CMAKE_BINARY_DIR}/sim;SIMGPU_SERVER=$<TARGET_FILE:simgpu-server>;SIMGPU_DIR=${CMAKE_BINARY_DIR}/cuda/${name}.d;${arg_ENVIRONMENT}")
endfunction()
