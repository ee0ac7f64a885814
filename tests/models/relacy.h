#pragma once
// Relacy (Debian: relacy-dev) without the macros that rename half of the standard library.

#include <relacy/relacy.hpp>

#undef new
#undef delete
#undef malloc
#undef calloc
#undef realloc
#undef free
#undef assert
#undef errno
#undef $
#undef memory_order_relaxed
#undef memory_order_consume
#undef memory_order_acquire
#undef memory_order_release
#undef memory_order_acq_rel
#undef memory_order_seq_cst
#undef VAR
#undef VAR_T
#undef TLS_T

// Where something happens, for Relacy's history of a failed execution.
#define MODEL_HERE ::rl::debug_info(__FUNCTION__, __FILE__, __LINE__)
