#pragma once
// FileInMaking: the snapshot file of a storage that is being loaded.
//
//   F9 The file is in no manifest, and gleans come and go before a manifest lists it. Until then,
//       removals of orphaned files spare it. After a crash no FileInMaking names it any more, so
//       it is an orphaned file.

#include <mutex>
#include <optional>

#include "foedus-core/snapshot/files/format.h"

namespace foedus::snapshot {

// Any thread.
class FileInMaking {
 public:
  void set(const SnapshotName& name) {
    const std::lock_guard lock(mutex_);
    name_ = name;
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    name_.reset();
  }
  bool is(const SnapshotName& name) const {
    const std::lock_guard lock(mutex_);
    return name_.has_value() && name_->snapshot == name.snapshot && name_->soc == name.soc;
  }

 private:
  mutable std::mutex mutex_;
  std::optional<SnapshotName> name_;
};

}  // namespace foedus::snapshot
