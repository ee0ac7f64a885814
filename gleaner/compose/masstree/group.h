#pragma once
// MasstreeGroup: all keys of one slice of a layer, which share a page (M5). It has at most one key
// of each length up to 8 bytes, and one record or next layer for longer keys.

#include <cstdint>
#include <string>

#include "foedus-core/page/overflow_page.h"
#include "foedus-core/storage/masstree/layout/page.h"
#include "foedus/options.h"
#include "foedus/status.h"
#include "gleaner/compose/base/composition.h"
#include "gleaner/compose/masstree/lay.h"

namespace foedus::gleaner {

class MasstreeGroup {
 public:
  struct Entry {
    unsigned key_class = 0;
    page::Tid tid;
    std::string remainder;
    std::string payload;
    page::SnapshotPageId chain;  // instead of the payload
    page::SnapshotPageId layer;  // instead of the record

    MasstreeEntry view() const { return {key_class, remainder, {tid, payload, chain}, layer}; }
    // Copies the record. All of its bytes are then in this entry.
    void set(const MasstreeEntry& entry);
  };

  void begin(std::uint64_t slice) {
    slice_ = slice;
    count_ = 0;
  }
  bool is_empty() const { return count_ == 0; }
  std::uint64_t slice() const { return slice_; }
  // Appends an entry. REQUIRES: its class is above those of all entries.
  Entry& add(unsigned key_class);
  // REQUIRES: !is_empty().
  Entry& last() { return entries_[count_ - 1]; }
  void drop_last() { --count_; }

  // Moves payloads to chains, the last key's first, until all entries fit into a page. They must
  // still fit if all other keys came that this slice can have: volatile copies of the page rely on
  // it (crowded_capacity()).
  Status settle(const Composition& composition);
  // Returns true if settle() has nothing to do. Assumes that other keys take the most that they
  // can, for which most groups leave room.
  bool is_settled() {
    heap_bytes_ = heap_bytes();
    return count_ != 0 && heap_bytes_ <= kRoomAlways;
  }
  // REQUIRES: is_settled() or settle().
  bool fits(const storage::masstree::BorderPage& page) const;
  // Appends all entries to the page, and counts them. REQUIRES: fits().
  void lay_all(storage::masstree::BorderPage* page) const;

 private:
  static constexpr unsigned kEntriesMax = storage::masstree::kRemainderClass + 1;
  static constexpr std::uint32_t kRoom =
      storage::masstree::BorderPage::kBodyBytes -
      storage::masstree::BorderPage::directory_bytes(kEntriesMax);
  // Bytes of a record of the longest key. Any key longer than a slice counts as the longest: it may
  // be erased from a copy of the page, and the longest one inserted instead.
  static constexpr std::uint32_t kLongest =
      storage::masstree::footprint(kMaxKeyBytes - 8, storage::masstree::kCapacityMin);
  // The most that heap_bytes_of_others() returns: a key of each length, and one that is longer.
  static constexpr std::uint32_t kOthersMax =
      (kEntriesMax - 1) * storage::masstree::footprint(0, storage::masstree::kCapacityMin) +
      kLongest;
  static_assert(kOthersMax < kRoom);
  static constexpr std::uint32_t kRoomAlways = kRoom - kOthersMax;
  // A single key whose payload is inline is always settled. Beside a short key there is room for
  // all others. Beside the longest key no longer one can come.
  static constexpr std::uint32_t kInlineMax =
      storage::masstree::capacity_for(page::kInlinePayloadBytesMax);
  static_assert(storage::masstree::footprint(0, kInlineMax) <= kRoomAlways);
  static_assert(storage::masstree::footprint(kMaxKeyBytes - 8, kInlineMax) + kOthersMax -
                    kLongest <=
                kRoom);

  std::uint32_t heap_bytes() const {
    std::uint32_t bytes = 0;
    for (unsigned i = 0; i < count_; ++i) bytes += entries_[i].view().heap_bytes();
    return bytes;
  }
  std::uint32_t heap_bytes_of_others() const;

  std::uint64_t slice_ = 0;
  unsigned count_ = 0;
  std::uint32_t heap_bytes_ = 0;  // of all entries, once settled
  Entry entries_[kEntriesMax];
};

}  // namespace foedus::gleaner
