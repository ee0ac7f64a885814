#include "foedus-core/device/counted_syncs.h"

#include <string>

#include "foedus-core/base/out_of_memory.h"

namespace foedus::device {

Status CountedSyncs::sync(File* file, std::uint64_t failed_before) {
  const std::lock_guard lock(mutex_);
  if (failed_ == failed_before) {
    Status synced = file->sync();
    if (!synced.is_ok()) ++failed_;
    return synced;
  }
  std::string text;
  base::trying([&] { text.append("another thread could not sync ").append(file->path()); });
  return Status::error(ErrorCode::kIoError, std::move(text));
}

}  // namespace foedus::device
