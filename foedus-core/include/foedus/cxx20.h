#pragma once
// Stops the build with one line if the compiler lacks C++20, which these headers need. Without this
// check, the other headers would cause many errors. So foedus.h includes this header first.

#if defined(_MSVC_LANG)
#define FOEDUS_HAS_CXX20 (_MSVC_LANG >= 202002L)  // MSVC leaves __cplusplus at 199711
#else
#define FOEDUS_HAS_CXX20 (__cplusplus >= 202002L)
#endif

#if !FOEDUS_HAS_CXX20
#error "foedus needs C++20 (-std=c++20)"
#endif
