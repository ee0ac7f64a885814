#include "foedus-core/device/counted_syncs.h"

#include <string>

#include "foedus-core/base/out_of_memory.h"

namespace foedus::device {

Status CountedSyncs::sync(File* file, std::uint64_t failed_before) {
  // order: acquire, a sync that is counted later has begun after the caller's writes
  const std::uint64_t begun_before = begun_.load_acquire();
  const std::lock_guard lock(mutex_);
  if (failed_ == failed_before) {
    // order: relaxed, changed under the mutex. If another thread's sync began after the caller's
    // writes, it has ended by now, without failure, and has made them durable.
    if (begun_.load_relaxed() != begun_before) return {};
    begun_.fetch_add_seq_cst(1);  // order: seq_cst, its release pairs with the load above
    Status synced = file->sync();
    if (!synced.is_ok()) ++failed_;
    return synced;
  }
  std::string text;
  base::trying([&] { text.append("another thread could not sync ").append(file->path()); });
  return Status::error(ErrorCode::kIoError, std::move(text));
}

}  // namespace foedus::device
