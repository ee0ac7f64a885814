# Compiler flags, output folders and external libraries of every target in the repository.

set(FOEDUS_SANITIZE "" CACHE STRING "Sanitizers: empty, 'address,undefined' or 'thread'")
option(FOEDUS_WERROR "Warnings are errors; the presets say so" OFF)
option(FOEDUS_CHECKED "A Txn that two threads use ends the program; the preset debug says so" OFF)

# Most of a compilation is headers: compiling several sources of a library as one takes a third of
# the time. OFF is for editors that need a command for each file, and for working on one file.
if(NOT DEFINED CMAKE_UNITY_BUILD)
  set(CMAKE_UNITY_BUILD ON)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)  # the archive may end up in a shared library of the user
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")

if(PROJECT_IS_TOP_LEVEL)
  add_compile_options(-Wall -Wextra -Wpedantic -Wshadow)
  if(FOEDUS_WERROR)
    add_compile_options(-Werror)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-restrict)  # false on std::string operator+ (GCC bug 105651)
    # A compilation of several sources needs about a gigabyte. Without this, a tenth of its time
    # goes into the compiler's garbage collection.
    add_compile_options(--param=ggc-min-heapsize=1000000)
  endif()
  find_program(FOEDUS_MOLD mold)  # links the tests in a quarter of the time
  if(FOEDUS_MOLD)
    add_link_options(-fuse-ld=mold)
  endif()
endif()

# Baseline of x86-64: SSE4.2 for CRC32C, cmpxchg16b for dual page pointers, carry-less multiply.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  add_compile_options(-msse4.2 -mcx16 -mpclmul)
endif()

# GCC's flow analysis gives false reports for code of precompiled headers and for instrumented code.
set(FOEDUS_NO_FLOW_ERRORS "")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(FOEDUS_NO_FLOW_ERRORS -Wno-error=maybe-uninitialized -Wno-error=stringop-overflow
    -Wno-error=stringop-overread -Wno-error=array-bounds -Wno-error=null-dereference)
endif()

if(FOEDUS_CHECKED)
  add_compile_definitions(FOEDUS_CHECKED)
endif()

set(FOEDUS_TEST_TIMEOUT_FACTOR 1)
set(FOEDUS_TEST_LAUNCHER "")
if(FOEDUS_SANITIZE)
  add_compile_options(
    -fsanitize=${FOEDUS_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${FOEDUS_SANITIZE})
  if(FOEDUS_SANITIZE MATCHES "address")
    # AddressSanitizer stops at a null pointer by itself; the check takes a third of a build.
    add_compile_options(-fno-sanitize=null)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # GCC 12 optimizes cold functions for size; such a function never returns its frame to the
      # fake stack that finds uses after a return. Some tests spent most of their time in search of
      # a free frame.
      add_compile_definitions(cold=noinline)
    endif()
  endif()
  add_compile_options(${FOEDUS_NO_FLOW_ERRORS})
  set(FOEDUS_TEST_TIMEOUT_FACTOR 5)
endif()
if(FOEDUS_SANITIZE MATCHES "thread")
  add_compile_definitions(FOEDUS_TSAN)
  # A copy that is expanded inline is not instrumented; a call is intercepted.
  add_compile_options(
    -fno-builtin-memcpy -fno-builtin-memmove -fno-builtin-memset -fno-builtin-memcmp)
  # The ThreadSanitizer of GCC 12 cannot start where the kernel randomizes more than 28 bits.
  set(rnd_bits 0)
  if(EXISTS /proc/sys/vm/mmap_rnd_bits)
    execute_process(COMMAND cat /proc/sys/vm/mmap_rnd_bits OUTPUT_VARIABLE rnd_bits ERROR_QUIET
      OUTPUT_STRIP_TRAILING_WHITESPACE)
  endif()
  if(rnd_bits GREATER 28)
    execute_process(COMMAND setarch x86_64 -R true RESULT_VARIABLE refused OUTPUT_QUIET ERROR_QUIET)
    if(refused)
      message(WARNING "vm.mmap_rnd_bits=${rnd_bits} and setarch -R is refused: "
        "tests under ThreadSanitizer may not start; set vm.mmap_rnd_bits to 28")
    else()
      set(FOEDUS_TEST_LAUNCHER setarch x86_64 -R)
    endif()
  endif()
endif()

# External libraries. libnuma, liburing and threads are required, libpmem and ISA-L are used where
# they are found.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(NUMA REQUIRED IMPORTED_TARGET numa)
pkg_check_modules(URING REQUIRED IMPORTED_TARGET liburing)
pkg_check_modules(ISAL libisal)
pkg_check_modules(PMEM IMPORTED_TARGET libpmem)
set(FOEDUS_LIBRARIES Threads::Threads PkgConfig::NUMA PkgConfig::URING)
if(ISAL_FOUND)
  # The reference to it is weak, so a linker that drops unneeded libraries would drop it, even if it
  # is named again, first and without the flag. -u is for a libisal.a.
  set(FOEDUS_ISAL_FLAG "-Wl,-u,crc32_iscsi,--push-state,--no-as-needed,LIBRARIES,--pop-state")
  string(REPLACE ";" "," isal_paths "${ISAL_LINK_LIBRARIES}")
  string(REPLACE "LIBRARIES" "${isal_paths}" isal_flag "${FOEDUS_ISAL_FLAG}")
  list(APPEND FOEDUS_LIBRARIES "$<BUILD_INTERFACE:${isal_flag}>")
  include_directories(SYSTEM ${ISAL_INCLUDE_DIRS})
  add_compile_definitions(FOEDUS_HAVE_ISAL)
else()
  message(STATUS "ISA-L not found: checksums of pages take longer")
endif()
if(PMEM_FOUND)
  list(APPEND FOEDUS_LIBRARIES PkgConfig::PMEM)
  add_compile_definitions(FOEDUS_HAVE_LIBPMEM)
else()
  message(STATUS "libpmem not found: mapped NVM uses msync")
endif()
