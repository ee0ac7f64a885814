# cpack: packages for Debian from what is built, or a .tar.gz on other systems. FoedusInstall says
# which files belong to which of the three components:
#   libfoedus0      the shared library
#   libfoedus-dev   headers, the archive for C++, files of find_package and pkg-config
#   foedus-tools    the program `foedus`
# Debug information is left out of all.

set(FOEDUS_PACKAGE_CONTACT "foedus <packages@foedus.invalid>" CACHE STRING
  "Maintainer that packages name")

set(CPACK_PACKAGE_NAME foedus)
set(CPACK_PACKAGE_CONTACT "${FOEDUS_PACKAGE_CONTACT}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)

set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL development)
if(TARGET foedus_shared)
  list(APPEND CPACK_COMPONENTS_ALL library)
endif()
if(TARGET foedus_program)
  list(APPEND CPACK_COMPONENTS_ALL tools)
endif()
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "The shared library: the interface for C.")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
  "Headers, the library for C++ (an archive), and files of CMake and pkg-config.")
set(CPACK_COMPONENT_TOOLS_DESCRIPTION
  "The program foedus, which looks into the directory of a closed database and verifies it.")

find_program(FOEDUS_DPKG_SHLIBDEPS dpkg-shlibdeps)
if(FOEDUS_DPKG_SHLIBDEPS)
  set(CPACK_GENERATOR DEB)
else()
  set(CPACK_GENERATOR TGZ)
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME "libfoedus${PROJECT_VERSION_MAJOR}")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)  # other packages then depend on this one by name
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libfoedus-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libnuma-dev, liburing-dev, pkg-config")
if(TARGET foedus_shared)
  string(PREPEND CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "${CPACK_DEBIAN_LIBRARY_PACKAGE_NAME} (= ${PROJECT_VERSION}), ")
endif()
if(ISAL_FOUND)
  string(APPEND CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS ", libisal-dev")
endif()
if(PMEM_FOUND)
  string(APPEND CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS ", libpmem-dev")
endif()
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME foedus-tools)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION database)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SHLIBDEPS ON)

# Each package has the licence and README.md in a folder of its name, as Debian wants it.
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER "${component}" upper)
  set(folder "${CMAKE_INSTALL_DATAROOTDIR}/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME}")
  install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${folder}" RENAME copyright
    COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(FILES "${PROJECT_SOURCE_DIR}/README.md" DESTINATION "${folder}"
    COMPONENT ${component} EXCLUDE_FROM_ALL)
endforeach()

include(CPack)
