# SPDX-License-Identifier: Apache-2.0
# gacer_library(NAME SOURCES ... LIBS ...)   static library with our include root and warnings
# gacer_test(NAME SOURCES ... LIBS ... LABELS ...)   GoogleTest binary, one ctest entry per binary
find_package(Threads REQUIRED)
if(NOT CMAKE_CROSSCOMPILING)
  find_package(GTest REQUIRED)
endif()

# What the sanitizer gates build: tests with label unit, tests with label concurrency.
add_custom_target(gacer_sanitized_tests)
add_custom_target(gacer_concurrency_tests)

function(gacer_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${arg_LIBS} PRIVATE gacer_warnings)
endfunction()

function(gacer_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;LIBS;LABELS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${arg_LIBS} gacer_warnings GTest::gtest_main GTest::gmock Threads::Threads)
  add_test(NAME ${name} COMMAND ${name})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  if("unit" IN_LIST arg_LABELS)
    add_dependencies(gacer_sanitized_tests ${name})
  endif()
  if("concurrency" IN_LIST arg_LABELS)
    add_dependencies(gacer_concurrency_tests ${name})
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT})
endfunction()
