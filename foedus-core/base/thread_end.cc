#include "foedus-core/base/thread_end.h"

#include <cxxabi.h>

#include <new>

// Of the program or shared library that this is linked to: it stays loaded until the call.
extern "C" [[gnu::visibility("hidden")]] void* __dso_handle;

namespace foedus::base {

void at_thread_end(void (*call)(void*)) {
  if (abi::__cxa_thread_atexit(call, nullptr, &__dso_handle) != 0) throw std::bad_alloc();
}

}  // namespace foedus::base
