#pragma once
// Says in one line what these headers need of the compiler where it is missing. Included before
// anything else.

#if defined(_MSVC_LANG)
#define FOEDUS_HAS_CXX20 (_MSVC_LANG >= 202002L)  // where __cplusplus says 199711 by default
#else
#define FOEDUS_HAS_CXX20 (__cplusplus >= 202002L)
#endif

#if !FOEDUS_HAS_CXX20
#error "foedus needs C++20 (-std=c++20)"
#endif
