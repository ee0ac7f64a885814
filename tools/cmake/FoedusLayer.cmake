# Each folder is a layer, and each layer a library. The layers are object libraries, so that the
# umbrella library `foedus` (one archive, libfoedus.a) can hold the objects of all of them.

set_property(GLOBAL PROPERTY FOEDUS_LAYERS "")

# The headers that most sources of the engine include. Reading them takes a third of the compilation
# of most objects.
set(FOEDUS_PRECOMPILED
  <algorithm> <array> <bit> <functional> <map> <memory> <mutex> <optional> <set> <span> <string>
  <string_view> <utility> <vector> <foedus/foedus.h>)

# foedus_precompile(<library>): lets the sources of a library share FOEDUS_PRECOMPILED. The library
# must have the compiler flags of a layer. With CMAKE_UNITY_BUILD=OFF nothing is shared, so that
# such a build shows that each file includes what it uses.
function(foedus_precompile library)
  if(NOT CMAKE_UNITY_BUILD)
    return()
  endif()
  if(NOT TARGET foedus_headers)
    set(source "${PROJECT_BINARY_DIR}/precompiled.cc")
    file(CONFIGURE OUTPUT "${source}" CONTENT "")
    add_library(foedus_headers OBJECT "${source}")
    target_include_directories(foedus_headers PRIVATE
      "${PROJECT_SOURCE_DIR}/foedus-core/include")
    target_precompile_headers(foedus_headers PRIVATE ${FOEDUS_PRECOMPILED})
  endif()
  target_precompile_headers(${library} REUSE_FROM foedus_headers)
  target_compile_options(${library} PRIVATE ${FOEDUS_NO_FLOW_ERRORS})
endfunction()

# foedus_layer(<name> [FOLDER <subfolder>] [ROOMS <subfolder>...] [DEPENDS <layer>...])
#
# Defines the target foedus_<name> from all *.cc of the folder (default: the current one) and of its
# ROOMS. A folder without *.cc is a layer of headers. DEPENDS names the layers that this one may
# include.
function(foedus_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FOLDER" "ROOMS;DEPENDS")
  set(folder "${CMAKE_CURRENT_SOURCE_DIR}")
  if(arg_FOLDER)
    string(APPEND folder "/${arg_FOLDER}")
  endif()
  file(GLOB sources CONFIGURE_DEPENDS "${folder}/*.cc")
  file(GLOB headers CONFIGURE_DEPENDS "${folder}/*.h")
  foreach(room IN LISTS arg_ROOMS)
    file(GLOB in_room CONFIGURE_DEPENDS "${folder}/${room}/*.cc" "${folder}/${room}/*.h")
    list(APPEND sources ${in_room})
  endforeach()

  set(target foedus_${name})
  if(sources)
    add_library(${target} OBJECT ${sources} ${headers})
    set(scope PUBLIC)
    set_property(GLOBAL APPEND PROPERTY FOEDUS_LAYERS ${target})
    foedus_precompile(${target})
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(${target} ${scope}
    "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/foedus-core/include")
  list(TRANSFORM arg_DEPENDS PREPEND foedus_)
  target_link_libraries(${target} ${scope} ${arg_DEPENDS} ${FOEDUS_LIBRARIES})
endfunction()

# foedus_umbrella(): defines the library `foedus` from the objects of all layers.
function(foedus_umbrella)
  get_property(layers GLOBAL PROPERTY FOEDUS_LAYERS)
  if(layers)
    add_library(foedus STATIC)
    set(scope PUBLIC)
    foreach(layer IN LISTS layers)
      target_sources(foedus PRIVATE $<TARGET_OBJECTS:${layer}>)
    endforeach()
    set_target_properties(foedus PROPERTIES LINKER_LANGUAGE CXX)
  else()
    add_library(foedus INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(foedus::foedus ALIAS foedus)
  target_compile_features(foedus ${scope} cxx_std_20)
  target_include_directories(foedus ${scope}
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/foedus-core/include>"
    "$<INSTALL_INTERFACE:include>")
  target_link_libraries(foedus ${scope} ${FOEDUS_LIBRARIES})

  foedus_shared_library("${layers}")

  # Tests and tools may include any layer, spelled from the repository root.
  add_library(foedus_internal INTERFACE)
  target_include_directories(foedus_internal INTERFACE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(foedus_internal INTERFACE foedus)
endfunction()

# foedus_shared_library(<layers>): defines the library `foedus_shared`, libfoedus.so, from the
# objects of all layers. It has the C interface alone: that of C++ has no stable binary form.
function(foedus_shared_library layers)
  if(NOT layers OR FOEDUS_SANITIZE)
    return()
  endif()
  set(map "${PROJECT_SOURCE_DIR}/foedus-core/c/libfoedus.map")
  add_library(foedus_shared SHARED)
  foreach(layer IN LISTS layers)
    target_sources(foedus_shared PRIVATE $<TARGET_OBJECTS:${layer}>)
  endforeach()
  set_target_properties(foedus_shared PROPERTIES
    LINKER_LANGUAGE CXX
    OUTPUT_NAME foedus
    VERSION "${PROJECT_VERSION}"
    SOVERSION "${PROJECT_VERSION_MAJOR}"
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib"
    LINK_DEPENDS "${map}")
  target_link_options(foedus_shared PRIVATE
    "-Wl,--version-script=${map}" "-Wl,--no-undefined" "-Wl,--gc-sections")
  target_include_directories(foedus_shared INTERFACE
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/foedus-core/include>"
    "$<INSTALL_INTERFACE:include>")
  target_link_libraries(foedus_shared PRIVATE ${FOEDUS_LIBRARIES})
  add_library(foedus::foedus_shared ALIAS foedus_shared)
endfunction()
