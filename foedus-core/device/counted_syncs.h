#pragma once
// CountedSyncs: syncs of a file that several threads write and sync. A failed sync of one thread
// may drop bytes that another thread has written before, and a later success says nothing about
// them (V2). So the syncs of a file take turns, and sync() fails if any sync has failed since the
// caller began to write. A sync that begins while several callers wait serves all of them.

#include <cstdint>
#include <mutex>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/device/device.h"

namespace foedus::device {

class CountedSyncs {
 public:
  // Returns how many syncs have failed so far. Called before the first write, for sync().
  std::uint64_t failed() const {
    const std::lock_guard lock(mutex_);
    return failed_;
  }
  // Makes durable what the caller has written since failed() has returned `failed_before`. On
  // failure it has to be written again. kIoError: also, the sync of another thread has failed.
  Status sync(File* file, std::uint64_t failed_before);

 private:
  mutable std::mutex mutex_;
  std::uint64_t failed_ = 0;  // guarded by mutex_
  base::AtomicWord<std::uint64_t> begun_;  // number of syncs that have begun; changed under mutex_
};

}  // namespace foedus::device
