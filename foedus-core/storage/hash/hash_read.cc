// get, get_for_update, prefetch.

#include "foedus-core/base/clock.h"
#include "foedus-core/storage/hash/hash_find.h"
#include "foedus-core/storage/hash/hash_function.h"
#include "foedus-core/storage/hash/hash_snapshot_read.h"
#include "foedus-core/storage/hash/hash_storage.h"
#include "foedus-core/storage/hash/hash_trie.h"

namespace foedus::storage::hash {

namespace {

// Reads what `range` wants; lock_first: takes the record's lock before, for which it must be
// volatile.
Status read(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
            occ::ReadRange* range, bool lock_first) {
  const std::uint64_t hash = hash_of(key);
  const Intent intent = lock_first ? Intent::kWrite : Intent::kRead;
  base::SpinWait spin;
  for (unsigned i = 0; i < occ::kReadTries; ++i) {
    Lookup found;
    FOEDUS_CHECK(look_up(ctx, control, key, hash, intent, &found, range));
    if (found.is_cold) [[unlikely]] {
      return found.is_cold_found ? Status() : Status(ErrorCode::kNotFound);
    }
    if (found.record == nullptr) {
      ctx.remember_page(&found.bin->header, found.version, control);
      return ErrorCode::kNotFound;
    }
    if (lock_first) FOEDUS_CHECK(ctx.hold(control, found.record, key));
    switch (read_found(ctx, control, found, range)) {
      case occ::Found::kPresent: return {};
      case occ::Found::kAbsent: return ErrorCode::kNotFound;
      case occ::Found::kConflict: return unsettled(ctx, control, key);
      case occ::Found::kMoved: spin.once();
    }
  }
  return ctx.conflict(ConflictReason::kRetryBound, control, key);
}

}  // namespace

Status get(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
           occ::ReadRange* range) {
  return read(ctx, control, key, range, false);
}

Status get_for_update(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                      occ::ReadRange* range) {
  return read(ctx, control, key, range, true);
}

void prefetch(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key) {
  // Prefetches the first lines of the bin; which record it will be takes a look at them.
  const std::uint64_t hash = hash_of(key);
  HashBinPage* const bin = peek_bin(ctx.pool(), control, hash);
  if (bin == nullptr) [[unlikely]] return prefetch_cold_bin(ctx, control, hash);
  constexpr std::size_t kSlotLines = 256;
  base::prefetch_lines(reinterpret_cast<const char*>(bin) + page::kPageBytes - kSlotLines,
                       kSlotLines);
}

}  // namespace foedus::storage::hash
