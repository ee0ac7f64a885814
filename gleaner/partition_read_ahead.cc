#include "gleaner/partition_read_ahead.h"

#include <algorithm>
#include <tuple>

#include "gleaner/compose/read_ahead.h"

namespace foedus::gleaner {

namespace {

// Enough pages to keep a device busy while those below them are looked for.
constexpr std::size_t kWindowRecords = 1024;

}  // namespace

PartitionReadAhead::PartitionReadAhead(PartitionComposer* composer, const Reducer& reducer)
    : composer_(composer) {
  for (const BlockHeader* const block : reducer.blocks()) {
    if (block->entry_bytes == 0) continue;
    cursors_.push_back({block->storage_id, block->entries_begin(), block->entries_end()});
  }
  std::make_heap(cursors_.begin(), cursors_.end(), is_later);
  window_.reserve(kWindowRecords);
}

bool PartitionReadAhead::is_later(const Cursor& a, const Cursor& b) {
  return std::tuple(a.storage, a.position()) > std::tuple(b.storage, b.position());
}

std::uint64_t PartitionReadAhead::step() {
  if (cursors_.empty() || composer_->is_done()) return kUntilNotified;
  std::pop_heap(cursors_.begin(), cursors_.end(), is_later);
  Cursor& next = cursors_.back();
  window_.clear();
  while (next.at != next.end && window_.size() < kWindowRecords) {
    const RecordEntry* const entry = RecordEntry::at(next.at);
    window_.push_back(entry->record());
    next.at += entry->bytes();
  }
  read_ahead(composer_->composition_of(next.storage), window_);
  if (next.at == next.end) {
    cursors_.pop_back();
  } else {
    std::push_heap(cursors_.begin(), cursors_.end(), is_later);
  }
  return 0;
}

}  // namespace foedus::gleaner
