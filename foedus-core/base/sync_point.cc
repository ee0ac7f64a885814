#include "foedus-core/base/sync_point.h"

namespace foedus::base {

namespace internal {
AtomicWord<SyncPointHook> sync_point_hook{nullptr};
}

void set_sync_point_hook(SyncPointHook hook) {
  // order: release, pairs with the acquire in sync_point().
  internal::sync_point_hook.store_release(hook);
}

}  // namespace foedus::base
