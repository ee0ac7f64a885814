#pragma once
// The way between the handles that users have and the controls behind them.

#include "foedus-core/occ/storage_control.h"
#include "foedus/storage.h"

namespace foedus::internal {

struct StorageAccess {
  static StorageControl* control_of(const Storage& storage) { return storage.control_; }
  template <typename Handle>
  static Handle make(StorageControl* control) {
    Handle handle;
    static_cast<Storage&>(handle).control_ = control;
    return handle;
  }
};

}  // namespace foedus::internal
