#pragma once
// What is done at the end of a thread. Not the destructor of a thread_local object: others of the
// thread go before it or after it, as they were made, and find it destroyed then.

namespace foedus::base {

// Calls `call` at the end of this thread. What is registered by a destructor of the thread is
// called behind it; behind the end of main(), among objects of static duration, never. Throws
// std::bad_alloc: it was not registered.
void at_thread_end(void (*call)(void*));

}  // namespace foedus::base
