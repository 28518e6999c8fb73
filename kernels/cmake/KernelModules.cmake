# SPDX-License-Identifier: Apache-2.0
# gacer_kernel_modules(TARGET modules...)   device/<module>.cu -> PTX -> static library with ptx_module()
# compute_75 is the least that CUDA 13 compiles for; drivers translate the PTX for newer devices.
function(gacer_kernel_modules target)
  set(sources "")
  set(externs "")
  set(rows "")
  file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/device/*.cuh
       ${CMAKE_CURRENT_SOURCE_DIR}/device/*.h)
  list(APPEND headers ${CMAKE_CURRENT_SOURCE_DIR}/catalog.h ${CMAKE_CURRENT_SOURCE_DIR}/catalog.def)
  set(embed ${CMAKE_CURRENT_SOURCE_DIR}/cmake/EmbedPtx.cmake)
  foreach(module IN LISTS ARGN)
    set(cu ${CMAKE_CURRENT_SOURCE_DIR}/device/${module}.cu)
    set(ptx ${CMAKE_CURRENT_BINARY_DIR}/${module}.ptx)
    set(cpp ${CMAKE_CURRENT_BINARY_DIR}/${module}_ptx.cpp)
    add_custom_command(OUTPUT ${ptx}
      COMMAND ${GACER_NVCC} -O3 -std=c++17 --ptx -arch=compute_75 -I${PROJECT_SOURCE_DIR} ${cu} -o ${ptx}
      DEPENDS ${cu} ${headers} COMMENT "PTX of ${module}.cu" VERBATIM)
    add_custom_command(OUTPUT ${cpp}
      COMMAND ${CMAKE_COMMAND} -DPTX=${ptx} -DNAME=${module} -DOUT=${cpp} -P ${embed}
      DEPENDS ${ptx} ${embed} VERBATIM)
    list(APPEND sources ${cpp})
    string(APPEND externs "extern const std::string_view kPtx_${module};\n")
    string(APPEND rows "  if (name == \"${module}\") return kPtx_${module};\n")
  endforeach()
  set(GACER_PTX_EXTERNS "${externs}")
  set(GACER_PTX_ROWS "${rows}")
  configure_file(${CMAKE_CURRENT_SOURCE_DIR}/cmake/ptx_modules.cpp.in
                 ${CMAKE_CURRENT_BINARY_DIR}/ptx_modules.cpp @ONLY)
  gacer_library(${target} SOURCES ${CMAKE_CURRENT_BINARY_DIR}/ptx_modules.cpp ${sources})
endfunction()
