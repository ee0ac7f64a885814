# Tests: every *_test.cc and *_test.py anywhere below tests/. One ctest test per file, named by its
# path without extension; the first folder is its label. The first 20 lines of a file may say
#   // ctest-labels: concurrency crash      more labels
#   // ctest-timeout: 300                   seconds in the release build, five-fold with sanitizers;
#                                           those with more start first
#   // ctest-program: own                   not linked with others: it replaces a function of all
# (# instead of // in Python).

set(FOEDUS_TEST_TIMEOUT_S 120)
# glibc's malloc gives large buffers back to the kernel as soon as they are free; a test that opens
# ten thousand logs spends three quarters of its time in page faults then.
set(FOEDUS_TEST_MALLOC
  "MALLOC_MMAP_THRESHOLD_=268435456;MALLOC_TRIM_THRESHOLD_=268435456")
set(FOEDUS_SANITIZED_LABELS concurrency)
if(FOEDUS_SANITIZE MATCHES "address")
  list(APPEND FOEDUS_SANITIZED_LABELS crash memory)
endif()
# The tests of the code whose coverage tools/coverage.py measures.
set(FOEDUS_COVERED_TESTS "^(txn|log|snapshot|engine|occ)/|^gleaner/(glean|reclaim/)|^fuzz/|\
^faults/memory|^storage/(transitions|small_cache)_test|^storage/masstree/(install|cold)/|\
^storage/(array|hash|sequential)/(.*_)?(cold|install|merge)_")

# Reads labels and timeout of one test file; a change of the file is seen by the next build.
function(foedus_read_test_header file result_labels result_timeout)
  set_property(DIRECTORY APPEND PROPERTY
    CMAKE_CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${file}")
  string(REGEX MATCH "^([^/]+)/" has_folder "${file}")
  set(labels "${CMAKE_MATCH_1}")
  if(NOT has_folder)
    set(labels tests)
  endif()
  set(timeout ${FOEDUS_TEST_TIMEOUT_S})
  file(STRINGS "${file}" lines LIMIT_COUNT 20 REGEX "^(//|#) *ctest-(labels|timeout):")
  foreach(line IN LISTS lines)
    if(line MATCHES "ctest-labels: *(.*)$")
      separate_arguments(more UNIX_COMMAND "${CMAKE_MATCH_1}")
      list(APPEND labels ${more})
    elseif(line MATCHES "ctest-timeout: *([0-9]+)")
      set(timeout ${CMAKE_MATCH_1})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES labels)
  math(EXPR timeout "${timeout} * ${FOEDUS_TEST_TIMEOUT_FACTOR}")
  set(${result_labels} "${labels}" PARENT_SCOPE)
  set(${result_timeout} ${timeout} PARENT_SCOPE)
endfunction()

# foedus_without_unbuilt(<list>): removes the tests of folders that need a target which is not
# built.
function(foedus_without_unbuilt list)
  if(NOT FOEDUS_BUILD_TOOLS)
    list(FILTER ${list} EXCLUDE REGEX "^(tools|hostile|simulation)/")
  endif()
  if(NOT TARGET foedus_experiments_common)
    list(FILTER ${list} EXCLUDE REGEX "^(experiments|kills|soak)/")
  endif()
  set(${list} "${${list}}" PARENT_SCOPE)
endfunction()

# foedus_cc_tests(): GoogleTest executables in bin/tests/, linked with tests/testing/*.cc. The
# target `sanitized_tests` builds those that run under the sanitizer at hand, `covered_tests` those
# of FOEDUS_COVERED_TESTS.
function(foedus_cc_tests)
  add_custom_target(sanitized_tests)
  add_custom_target(covered_tests)
  find_package(GTest)
  if(NOT GTest_FOUND)
    message(STATUS "GoogleTest not found: C++ tests are not built")
    return()
  endif()

  file(GLOB testing CONFIGURE_DEPENDS "testing/*.cc")
  list(FILTER testing EXCLUDE REGEX "_test\\.cc$")
  if(testing)
    add_library(foedus_testing STATIC ${testing})
    target_link_libraries(foedus_testing PUBLIC foedus_internal GTest::gtest GTest::gmock)
    foedus_precompile(foedus_testing)
  else()
    add_library(foedus_testing INTERFACE)
    target_link_libraries(foedus_testing INTERFACE foedus_internal GTest::gtest GTest::gmock)
  endif()
  # Half of a test's compilation is these headers, and much of the rest is the optimizer's work on
  # assertions. With -O0, calls of inline functions slow some tests down by more than is saved. The
  # build no longer shows that a test includes all that it uses.
  set(test_options -Og)
  if(FOEDUS_SANITIZE)
    set(test_options -O1)
  endif()
  list(APPEND test_options ${FOEDUS_NO_FLOW_ERRORS})
  # The target is a program because its flags have to be those of the tests.
  file(CONFIGURE OUTPUT precompiled.cc CONTENT "int main() { return 0; }\n")
  add_executable(foedus_testing_headers "${CMAKE_CURRENT_BINARY_DIR}/precompiled.cc")
  set_target_properties(foedus_testing_headers PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
  target_link_libraries(foedus_testing_headers PRIVATE foedus_testing)
  target_compile_options(foedus_testing_headers PRIVATE ${test_options})
  target_precompile_headers(foedus_testing_headers PRIVATE
    <gmock/gmock.h> <gtest/gtest.h> <algorithm> <chrono> <filesystem> <fstream> <functional> <map>
    <memory> <optional> <set> <string> <thread> <vector> <foedus/foedus.h>)

  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" "*_test.cc")
  foedus_without_unbuilt(files)
  foreach(file IN LISTS files)
    foedus_read_test_header("${file}" labels timeout)
    foedus_program_of("${file}" "${labels}" program filter)
    list(APPEND programs ${program})
    list(APPEND sources_of_${program} "${file}")
    foedus_add_cc_test("${file}" "${labels}" ${timeout} ${program} "${filter}")
    if(file MATCHES "${FOEDUS_COVERED_TESTS}")
      list(APPEND covered ${program})
    endif()
    foreach(label IN LISTS FOEDUS_SANITIZED_LABELS)
      if(label IN_LIST labels)
        list(APPEND sanitized ${program})
      endif()
    endforeach()
  endforeach()

  list(REMOVE_DUPLICATES programs)
  foreach(program IN LISTS programs)
    list(GET sources_of_${program} 0 file)
    add_executable(${program} ${sources_of_${program}})
    set_target_properties(${program} PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin/tests"
      UNITY_BUILD_BATCH_SIZE 12)
    target_link_libraries(${program} PRIVATE foedus_testing GTest::gtest_main)
    target_compile_options(${program} PRIVATE ${test_options})
    target_precompile_headers(${program} REUSE_FROM foedus_testing_headers)
    if(file MATCHES "^experiments/" AND TARGET foedus_experiments_common)
      target_link_libraries(${program} PRIVATE foedus_experiments_common)
    endif()
    foreach(folder isolation simulation)
      if(file MATCHES "^${folder}/")
        target_link_libraries(${program} PRIVATE foedus_${folder})
      endif()
    endforeach()
    if(file MATCHES "^(tools|hostile)/")
      target_link_libraries(${program} PRIVATE foedus_cli)
    endif()
  endforeach()
  add_dependencies(covered_tests ${covered})
  add_dependencies(sanitized_tests ${sanitized})
endfunction()

# foedus_program_of(<file> <labels> <program> <filter>): the executable of a test, and the
# --gtest_filter of the file's cases. The tests below a first folder are one executable. A
# sanitizer's build has two, and builds only the one whose labels it runs. A suite belongs to one
# file of them. Half of a compilation is headers, so several files are compiled as one, and each has
# a namespace of its name. With CMAKE_UNITY_BUILD=OFF each file is an executable.
function(foedus_program_of file labels result_program result_filter)
  string(REGEX REPLACE "\\.cc$" "" program "${file}")
  set(filter "")
  file(STRINGS "${file}" own LIMIT_COUNT 20 REGEX "^// *ctest-program: *own$")
  if(CMAKE_UNITY_BUILD AND NOT own)
    string(REGEX MATCH "^[^/]+" program "${file}")
    set(part "_tests")
    foreach(label IN LISTS FOEDUS_SANITIZED_LABELS)
      if(FOEDUS_SANITIZE AND label IN_LIST labels)
        set(part "_sanitized_tests")
      endif()
    endforeach()
    string(APPEND program "${part}")
    file(STRINGS "${file}" cases REGEX "^(TEST|TEST_F|TEST_P|TYPED_TEST)\\(")
    list(TRANSFORM cases REPLACE "^[A-Z_]+\\(([A-Za-z0-9_]+),.*" "\\1")
    list(REMOVE_DUPLICATES cases)
    if(NOT cases)
      message(FATAL_ERROR "${file} has no test case")
    endif()
    foreach(suite IN LISTS cases)
      get_property(other GLOBAL PROPERTY FOEDUS_SUITE_${program}_${suite})
      if(other)
        message(FATAL_ERROR "${suite} is in ${other} and in ${file}")
      endif()
      set_property(GLOBAL PROPERTY FOEDUS_SUITE_${program}_${suite} "${file}")
      # Suite.case, Suite/type.case, Instance/Suite.case/value
      list(APPEND filter "${suite}.*" "${suite}/*" "*/${suite}.*")
    endforeach()
    list(JOIN filter ":" filter)
  endif()
  string(REPLACE "/" "_" program "${program}")
  set(${result_program} "${program}" PARENT_SCOPE)
  set(${result_filter} "${filter}" PARENT_SCOPE)
endfunction()

# foedus_add_cc_test(<file> <labels> <timeout> <program> <filter>)
function(foedus_add_cc_test file labels timeout program filter)
  string(REGEX REPLACE "\\.cc$" "" name "${file}")
  set(environment "FOEDUS_SOURCE_DIR=${PROJECT_SOURCE_DIR};\
FOEDUS_BIN_DIR=${PROJECT_BINARY_DIR}/bin;${FOEDUS_TEST_MALLOC}")
  set(command $<TARGET_FILE:${program}>)
  if(filter)
    list(APPEND command "--gtest_filter=${filter}")
  endif()
  add_test(NAME "${name}" COMMAND ${FOEDUS_TEST_LAUNCHER} ${command})
  set_tests_properties("${name}" PROPERTIES LABELS "${labels}" TIMEOUT ${timeout} COST ${timeout}
    ENVIRONMENT "${environment};\
ASAN_OPTIONS=detect_stack_use_after_return=1:malloc_context_size=6:quarantine_size_mb=64;\
UBSAN_OPTIONS=print_stacktrace=1;\
TSAN_OPTIONS=halt_on_error=1")
  # The second run has a simulated device that promises no more than persistent memory does.
  if("crash" IN_LIST labels AND NOT FOEDUS_SANITIZE)
    add_test(NAME "persistent_memory/${name}" COMMAND ${command})
    set_tests_properties("persistent_memory/${name}" PROPERTIES LABELS "persistent_memory"
      TIMEOUT ${timeout} COST ${timeout}
      ENVIRONMENT "${environment};FOEDUS_TEST_PERSISTENT_MEMORY=1")
  endif()
endfunction()

# foedus_python_tests(): each *_test.py is run by python3 with FOEDUS_SOURCE_DIR, FOEDUS_BIN_DIR
# and FOEDUS_BINARY_DIR in its environment.
function(foedus_python_tests)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" "*_test.py")
  foedus_without_unbuilt(files)
  foreach(file IN LISTS files)
    string(REGEX REPLACE "\\.py$" "" name "${file}")
    foedus_read_test_header("${file}" labels timeout)
    foedus_add_python_test("${name}" "${labels}" ${timeout} "${CMAKE_CURRENT_SOURCE_DIR}/${file}")
  endforeach()

  foedus_add_python_test(habits/check_layers habits 60
    "${PROJECT_SOURCE_DIR}/tools/check_layers.py" --root "${PROJECT_SOURCE_DIR}")
  foedus_add_python_test(habits/check_rules habits 60
    "${PROJECT_SOURCE_DIR}/tools/check_rules.py" --root "${PROJECT_SOURCE_DIR}")
  foedus_add_python_test(habits/tidy habits 60
    "${PROJECT_SOURCE_DIR}/tools/tidy.py" --root "${PROJECT_SOURCE_DIR}")
  foedus_add_python_test(habits/planted_bugs habits 60
    "${PROJECT_SOURCE_DIR}/tools/planted_bugs.py" --root "${PROJECT_SOURCE_DIR}" --check)
endfunction()

# foedus_add_python_test(<name> <labels> <timeout> <command>...)
function(foedus_add_python_test name labels timeout)
  add_test(NAME "${name}" COMMAND "${Python3_EXECUTABLE}" -B ${ARGN})
  set_tests_properties("${name}" PROPERTIES LABELS "${labels}" TIMEOUT ${timeout} COST ${timeout}
    ENVIRONMENT "FOEDUS_SOURCE_DIR=${PROJECT_SOURCE_DIR};FOEDUS_BIN_DIR=${PROJECT_BINARY_DIR}/bin;\
FOEDUS_BINARY_DIR=${PROJECT_BINARY_DIR};PYTHONDONTWRITEBYTECODE=1")
endfunction()
