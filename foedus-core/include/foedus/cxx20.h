#pragma once
// Reports a compiler without C++20, which these headers need, in one line. Included before anything
// else.

#if defined(_MSVC_LANG)
#define FOEDUS_HAS_CXX20 (_MSVC_LANG >= 202002L)  // there, __cplusplus is 199711 by default
#else
#define FOEDUS_HAS_CXX20 (__cplusplus >= 202002L)
#endif

#if !FOEDUS_HAS_CXX20
#error "foedus needs C++20 (-std=c++20)"
#endif
