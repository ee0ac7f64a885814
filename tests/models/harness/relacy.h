#pragma once
// Relacy (Debian: relacy-dev) without the macros that rename half of the standard library.

// These headers come before Relacy defines macros of their names.
#include <pthread.h>
#include <semaphore.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <semaphore>
#include <thread>

#pragma push_macro("errno")
#include <relacy/relacy.hpp>
#pragma pop_macro("errno")

#undef new
#undef delete
#undef malloc
#undef calloc
#undef realloc
#undef free
#undef assert
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

// The place of an access, for Relacy's history of a failed execution.
#define MODEL_HERE ::rl::debug_info(__FUNCTION__, __FILE__, __LINE__)
