#pragma once
// StorageAccess: makes a user's handle for a StorageControl, and returns the control of a handle.

#include <cstring>

#include "foedus-core/base/invariant.h"
#include "foedus-core/storage_meta/storage_control.h"
#include "foedus/options.h"
#include "foedus/storage.h"

namespace foedus::internal {

struct StorageAccess {
  static constexpr std::size_t kNameBytes = Storage::kNameBytes;

  // Returns the control; it may be followed only while the database of database_of() is open.
  static StorageControl* control_of(const Storage& storage) { return storage.control_; }
  // Returns the number (E32) of the database that made the handle; 0: it is a default handle.
  static std::uint64_t database_of(const Storage& storage) { return storage.database_; }

  template <typename Handle>
  static Handle make(StorageControl* control) {
    const storage_meta::StorageMeta& meta = control->meta;
    FOEDUS_INVARIANT(meta.name.size() <= kNameBytes, meta.name.size());
    Handle handle;
    Storage& storage = handle;
    storage.control_ = control;
    storage.database_ = control->database;
    storage.records_ = meta.records;
    storage.payload_bytes_ = meta.payload_bytes;
    storage.id_ = static_cast<std::uint32_t>(meta.id);
    storage.kind_ = meta.kind;
    storage.name_bytes_ = static_cast<std::uint8_t>(meta.name.size());
    std::memcpy(storage.name_, meta.name.data(), meta.name.size());
    return handle;
  }
};
static_assert(StorageAccess::kNameBytes == kMaxStorageNameBytes);

}  // namespace foedus::internal
