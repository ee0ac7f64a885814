#include "foedus-core/base/system/thread.h"

#include <signal.h>

#include <cstring>
#include <utility>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/out_of_memory.h"

namespace foedus::base {

namespace {

// T6. Blocks the signal in the calling thread.
void block_file_size_signal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGXFSZ);
  const int failed = pthread_sigmask(SIG_BLOCK, &set, nullptr);
  FOEDUS_INVARIANT(failed == 0, failed);
}

// T7. Frames of sanitizers are larger.
constexpr std::size_t kStackBytes = 2u << 20;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kHasSmallStacks = false;
#else
constexpr bool kHasSmallStacks = true;
#endif

}  // namespace

Thread::Thread(const char* name, std::function<void()> run) : run_(std::move(run)) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) throw NoThread();
  if (kHasSmallStacks) pthread_attr_setstacksize(&attributes, kStackBytes);
  const auto entry = [](void* thread) -> void* {
    block_file_size_signal();
    static_cast<Thread*>(thread)->run_();
    return nullptr;
  };
  const int failed = pthread_create(&thread_, &attributes, entry, this);
  pthread_attr_destroy(&attributes);
  if (failed != 0) throw NoThread();
  char shown[16];
  std::strncpy(shown, name, sizeof(shown) - 1);
  shown[sizeof(shown) - 1] = '\0';
  pthread_setname_np(thread_, shown);
}

void Thread::join() {
  const int failed = pthread_join(thread_, nullptr);
  FOEDUS_INVARIANT(failed == 0, failed);
}

std::string thread_name() {
  char name[16] = "";
  return pthread_getname_np(pthread_self(), name, sizeof(name)) == 0 ? name : "";
}

}  // namespace foedus::base
