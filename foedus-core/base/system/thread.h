#pragma once
// Thread: a thread of the engine.
//
//   T6  SIGXFSZ is blocked in every thread of the engine: where a file meets RLIMIT_FSIZE, the call
//       fails with EFBIG and the program lives. What it does with signals is its own affair.
//   T7  A thread of the engine has a stack of 2 MiB, whatever `ulimit -s` says. Ten of the usual 8
//       MiB would leave little of an address space that is limited.

#include <pthread.h>

#include <functional>
#include <string>

namespace foedus::base {

class Thread {
 public:
  // Runs `run` in a new thread; the system shows the first 15 bytes of `name`. Throws NoThread.
  Thread(const char* name, std::function<void()> run);
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  // Waits until `run` has returned. Once, and before the destructor.
  void join();

 private:
  const std::function<void()> run_;
  pthread_t thread_;
};

// Returns the name that the system shows for the calling thread.
std::string thread_name();

}  // namespace foedus::base
