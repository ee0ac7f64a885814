# Executables: one for each folder that holds a main.cc, named as the folder.

# foedus_folders_with_main(<result>): the names of subfolders of the current folder with a main.cc.
function(foedus_folders_with_main result)
  file(GLOB mains CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" "*/main.cc")
  list(TRANSFORM mains REPLACE "/main.cc$" "")
  set(${result} "${mains}" PARENT_SCOPE)
endfunction()

# foedus_program(): tools/foedus becomes bin/foedus: main.cc alone over a library foedus_cli of the
# other sources, which is linked to tests, too. The target `foedus` is the engine's library. The
# command line needs CLI11. Its shell edits lines if there is libedit.
function(foedus_program)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "foedus/*.cc")
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$|/foedus/demo/")
  add_library(foedus_cli STATIC ${sources})
  target_link_libraries(foedus_cli PUBLIC foedus_internal)
  pkg_check_modules(EDITLINE IMPORTED_TARGET libedit)
  if(EDITLINE_FOUND)
    target_link_libraries(foedus_cli PRIVATE PkgConfig::EDITLINE)
    target_compile_definitions(foedus_cli PRIVATE FOEDUS_HAVE_EDITLINE)
  else()
    message(STATUS "libedit not found: the shell of bin/foedus has no history")
  endif()
  foedus_precompile(foedus_cli)
  foedus_demo()

  find_package(CLI11)
  if(NOT CLI11_FOUND)
    message(STATUS "CLI11 not found: bin/foedus is not built")
    return()
  endif()
  add_executable(foedus_program foedus/main.cc)
  target_link_libraries(foedus_program PRIVATE foedus_cli CLI11::CLI11)
  target_compile_options(foedus_program PRIVATE -Og)  # CLI11: -O3 takes twice as long
  set_target_properties(foedus_program PROPERTIES OUTPUT_NAME foedus)
endfunction()

# foedus_demo(): the command `foedus demo` of foedus_cli. Its page and the library of its charts
# become part of the program. Without cpp-httplib or that library the command says that it is not
# there.
function(foedus_demo)
  set(folder "${CMAKE_CURRENT_SOURCE_DIR}/foedus/demo")
  pkg_check_modules(HTTPLIB IMPORTED_TARGET cpp-httplib)
  find_file(FOEDUS_CHART_JS chart.js/chart.min.js PATHS /usr/share/javascript)
  if(NOT HTTPLIB_FOUND OR NOT FOEDUS_CHART_JS)
    message(STATUS "cpp-httplib or chart.js not found: bin/foedus has no demo")
    target_sources(foedus_cli PRIVATE "${folder}/unavailable.cc")
    return()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS "${folder}/*.cc")
  list(REMOVE_ITEM sources "${folder}/unavailable.cc")
  target_sources(foedus_cli PRIVATE ${sources})
  target_link_libraries(foedus_cli PRIVATE PkgConfig::HTTPLIB)
  set_source_files_properties("${folder}/assets.cc" PROPERTIES
    COMPILE_DEFINITIONS
      "FOEDUS_DEMO_FOLDER=\"${folder}\";FOEDUS_DEMO_CHART_JS=\"${FOEDUS_CHART_JS}\""
    OBJECT_DEPENDS "${folder}/page.html;${folder}/page.css;${folder}/page.js;${FOEDUS_CHART_JS}"
    SKIP_UNITY_BUILD_INCLUSION ON)
  set_source_files_properties("${folder}/server.cc" PROPERTIES
    COMPILE_OPTIONS -O1  # of a header-only library; nothing here is hot
    SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# foedus_experiment_folders(): experiments/<x> with a main.cc becomes bin/<x>, made of all *.cc
# below it, and linked with the library of experiments/common/*.cc. The folder `peers` needs the
# peers' libraries and is skipped where one of them is missing.
function(foedus_experiment_folders)
  pkg_check_modules(GLOG IMPORTED_TARGET libglog)
  pkg_check_modules(GFLAGS IMPORTED_TARGET gflags)
  if(NOT GLOG_FOUND OR NOT GFLAGS_FOUND)
    message(STATUS "glog or gflags not found: experiments are not built")
    return()
  endif()
  set(libraries foedus_internal PkgConfig::GLOG PkgConfig::GFLAGS)
  pkg_check_modules(JEMALLOC IMPORTED_TARGET jemalloc)
  if(JEMALLOC_FOUND AND NOT FOEDUS_SANITIZE)
    list(APPEND libraries PkgConfig::JEMALLOC)
  endif()

  file(GLOB shared CONFIGURE_DEPENDS "common/*.cc")
  if(shared)
    add_library(foedus_experiments_common STATIC ${shared})
    target_link_libraries(foedus_experiments_common PUBLIC ${libraries})
  else()
    add_library(foedus_experiments_common INTERFACE)
    target_link_libraries(foedus_experiments_common INTERFACE ${libraries})
  endif()

  foedus_folders_with_main(names)
  foreach(name IN LISTS names)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${name}/*.cc")
    set(peers "")
    if(name STREQUAL "peers")
      foedus_find_peers(peers)
      if(NOT peers)
        continue()
      endif()
      list(APPEND sources ${FOEDUS_PEERS_EXTRA_SOURCES})
    endif()
    add_executable(${name} ${sources})
    if(name STREQUAL "bulk_load")
      pkg_check_modules(LMDB IMPORTED_TARGET lmdb)
      if(LMDB_FOUND)
        set(peers PkgConfig::LMDB)
        target_compile_definitions(${name} PRIVATE FOEDUS_HAVE_LMDB)
      endif()
    endif()
    target_link_libraries(${name} PRIVATE ${peers} foedus_experiments_common)
    foedus_precompile_experiment(${name})
  endforeach()
endfunction()

# foedus_precompile_experiment(<program>): lets the sources of a program share the headers that most
# experiments include. The program must have the compiler flags of an experiment. With
# CMAKE_UNITY_BUILD=OFF nothing is shared.
function(foedus_precompile_experiment program)
  if(NOT CMAKE_UNITY_BUILD)
    return()
  endif()
  if(NOT TARGET foedus_experiment_headers)
    set(source "${PROJECT_BINARY_DIR}/experiment_headers.cc")
    file(CONFIGURE OUTPUT "${source}" CONTENT "int main() { return 0; }\n")
    add_executable(foedus_experiment_headers "${source}")
    set_target_properties(foedus_experiment_headers PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
    target_link_libraries(foedus_experiment_headers PRIVATE foedus_experiments_common)
    target_precompile_headers(foedus_experiment_headers PRIVATE
      <atomic> <chrono> <filesystem> <gflags/gflags.h> <glog/logging.h> <thread>
      ${FOEDUS_PRECOMPILED})
  endif()
  target_precompile_headers(${program} REUSE_FROM foedus_experiment_headers)
  target_compile_options(${program} PRIVATE ${FOEDUS_NO_FLOW_ERRORS})
endfunction()

# foedus_find_peers(<result>): libraries of the engines for comparison; empty if one is missing.
function(foedus_find_peers result)
  pkg_check_modules(ROCKSDB IMPORTED_TARGET rocksdb)
  pkg_check_modules(WIREDTIGER IMPORTED_TARGET wiredtiger)
  pkg_check_modules(LMDB IMPORTED_TARGET lmdb)
  set(${result} "" PARENT_SCOPE)
  foreach(peer ROCKSDB WIREDTIGER LMDB)
    if(NOT ${peer}_FOUND)
      message(STATUS "${peer} not found: experiments/peers is not built")
      return()
    endif()
  endforeach()
  set(${result} PkgConfig::ROCKSDB PkgConfig::WIREDTIGER PkgConfig::LMDB PARENT_SCOPE)
endfunction()
