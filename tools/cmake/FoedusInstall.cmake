# cmake --install: libfoedus.a for C++, libfoedus.so for C, the public headers, find_package(foedus)
# and pkg-config files, licence and README, and the program `foedus` if it was built, with its
# manual page and its completion for bash. The components library, development and tools are the
# packages of FoedusPackages.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(FOEDUS_PACKAGE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/foedus")
set(FOEDUS_PC_REQUIRES "numa liburing")
set(FOEDUS_PC_LIBS "-l:libfoedus.a")  # -lfoedus would find libfoedus.so, which is for C
file(RELATIVE_PATH FOEDUS_PC_TO_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
if(ISAL_FOUND)
  string(APPEND FOEDUS_PC_REQUIRES " libisal")
  string(REPLACE "LIBRARIES" "-lisal" isal_flag "${FOEDUS_ISAL_FLAG}")
  string(APPEND FOEDUS_PC_LIBS " ${isal_flag}")
endif()
if(PMEM_FOUND)
  string(APPEND FOEDUS_PC_REQUIRES " libpmem")
endif()

install(TARGETS foedus EXPORT foedusTargets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development)
# `cmake --install --strip` leaves archives as they are.
install(CODE "if(CMAKE_INSTALL_DO_STRIP)
  execute_process(COMMAND \"${CMAKE_STRIP}\" --strip-debug
    \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/libfoedus.a\")
endif()" COMPONENT development)
if(TARGET foedus_shared)
  install(TARGETS foedus_shared EXPORT foedusTargets
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT library
    NAMELINK_COMPONENT development)
  configure_file("${CMAKE_CURRENT_LIST_DIR}/foedus_c.pc.in" "${PROJECT_BINARY_DIR}/foedus_c.pc"
    @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/foedus_c.pc"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT development)
endif()
if(TARGET foedus_program)
  install(TARGETS foedus_program OPTIONAL
    RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT tools)
  install(FILES "${PROJECT_SOURCE_DIR}/tools/foedus/foedus.1"
    DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT tools)
  install(FILES "${PROJECT_SOURCE_DIR}/tools/foedus/foedus.bash-completion"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" RENAME foedus
    COMPONENT tools)
endif()
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/README.md"
  DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT documents)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/foedus-core/include/foedus"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT development FILES_MATCHING PATTERN "*.h")
install(EXPORT foedusTargets NAMESPACE foedus:: DESTINATION "${FOEDUS_PACKAGE_DIR}"
  COMPONENT development)

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/foedusConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/foedusConfig.cmake" INSTALL_DESTINATION "${FOEDUS_PACKAGE_DIR}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/foedusConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
configure_file("${CMAKE_CURRENT_LIST_DIR}/foedus.pc.in" "${PROJECT_BINARY_DIR}/foedus.pc" @ONLY)

install(FILES "${PROJECT_BINARY_DIR}/foedusConfig.cmake"
  "${PROJECT_BINARY_DIR}/foedusConfigVersion.cmake" DESTINATION "${FOEDUS_PACKAGE_DIR}"
  COMPONENT development)
install(FILES "${PROJECT_BINARY_DIR}/foedus.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
  COMPONENT development)
