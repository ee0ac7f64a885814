#include "foedus-core/base/system/sync_point.h"

#include <cstdint>

#include "foedus-core/base/system/clock.h"

namespace foedus::base {

namespace {

AtomicWord<std::uint64_t> calls_under_way;
thread_local std::uint64_t calls_of_thread = 0;

struct Call {
  // order: sequentially consistent, Dekker. A caller counts itself, then loads the hook; the setter
  // stores the hook, then looks at the count. One of the two sees the other.
  Call() {
    calls_under_way.fetch_add_seq_cst(1);
    ++calls_of_thread;
  }
  ~Call() {
    --calls_of_thread;
    calls_under_way.fetch_add_seq_cst(~std::uint64_t{0});
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
};

}  // namespace

namespace internal {

AtomicWord<SyncPointHook> sync_point_hook{nullptr};

void call_sync_point_hook(const char* place) {
  const Call call;
  const SyncPointHook hook = sync_point_hook.load_seq_cst();
  if (hook != nullptr) hook(place);
}

}  // namespace internal

void set_sync_point_hook(SyncPointHook hook) {
  internal::sync_point_hook.store_seq_cst(hook);
  // A hook may replace itself: the calls of this thread are not waited for.
  SpinWait spin;
  while (calls_under_way.load_seq_cst() != calls_of_thread) spin.once();
}

}  // namespace foedus::base
