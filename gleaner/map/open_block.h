#pragma once
// OpenBlock: the block of one inbox that a mapper is filling.

#include <cstdint>
#include <cstring>

#include "gleaner/handoff/block.h"
#include "gleaner/handoff/inbox.h"
#include "gleaner/map/record_source.h"

namespace foedus::gleaner {

class OpenBlock {
 public:
  explicit OpenBlock(Inbox* inbox) : inbox_(inbox) {}

  Inbox* inbox() const { return inbox_; }
  bool is_open() const { return block_ != nullptr; }
  // REQUIRES: is_open().
  std::uint64_t record_count() const {
    return static_cast<std::uint64_t>(block_ + block_bytes_ - items_) / sizeof(SortItem);
  }

  // Returns true if a block is open and has room for an entry of that length.
  bool has_room(std::uint64_t entry_bytes) const {
    return entry_bytes + sizeof(SortItem) <= static_cast<std::uint64_t>(items_ - at_);
  }
  // Opens a block. `to`: memory of the inbox, `bytes` long. REQUIRES: !is_open().
  void open(char* to, std::uint64_t bytes) {
    block_ = to;
    block_bytes_ = bytes;
    at_ = to + sizeof(BlockHeader);
    items_ = to + bytes;
  }
  // Copies the record. `storage`: its index in the table. REQUIRES: has_room() for it.
  void add(const SourceRecord& record, std::uint32_t storage, std::uint64_t position) {
    const auto unit =
        static_cast<std::uint64_t>(at_ - inbox_->memory()) / SortItem::kUnitBytes;
    const SortItem item{position, static_cast<std::uint32_t>(unit), storage};
    // Writes the entry in place, field by field. If an entry were copied, the processor would read
    // as one word what it has just written as two halves, and stall.
    auto* const entry = reinterpret_cast<RecordEntry*>(at_);
    entry->position = position;
    entry->sequence = record.sequence;
    entry->session = record.session;
    entry->zero = 0;
    std::memcpy(at_ + sizeof(*entry), record.log, record.log->record_bytes);
    at_ += sizeof(*entry) + record.log->record_bytes;
    items_ -= sizeof(item);
    std::memcpy(items_, &item, sizeof(item));
  }
  // REQUIRES: is_open().
  std::uint64_t used_bytes() const {
    return block_bytes_ - static_cast<std::uint64_t>(items_ - at_);
  }
  // Announces the block, which no longer belongs to this mapper. REQUIRES: is_open().
  void announce() {
    const BlockHeader header{block_bytes_, record_count()};
    std::memcpy(block_, &header, sizeof(header));
    block_ = at_ = items_ = nullptr;
    inbox_->announce(header.block_bytes);
  }

 private:
  Inbox* inbox_;
  char* block_ = nullptr;  // null: none is open
  std::uint64_t block_bytes_ = 0;
  char* at_ = nullptr;     // where the next entry will be
  char* items_ = nullptr;  // the newest item
};

}  // namespace foedus::gleaner
