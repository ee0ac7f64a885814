#pragma once
// Makes pages and records that no other session can reach yet.

#include <cstdint>
#include <string_view>

#include "foedus-core/occ/txn_context.h"
#include "foedus-core/storage/masstree/layout/page.h"

namespace foedus::storage::masstree {

// Makes a page that no other session can reach; null: out of pages.
BorderPage* make_border(page::PagePool& pool, page::SessionPages& pages,
                        occ::StorageControl* control, std::uint8_t layer);
InteriorPage* make_interior(page::PagePool& pool, page::SessionPages& pages,
                            occ::StorageControl* control, std::uint8_t layer, std::uint8_t level);
inline InteriorPage* make_interior(occ::TxnContext& ctx, occ::StorageControl* control,
                                   std::uint8_t layer, std::uint8_t level) {
  return make_interior(ctx.pool(), ctx.pages(), control, layer, level);
}
void set_range(TreePage* page, std::uint64_t low, std::uint64_t last);
// Takes back a page that was never reachable; null is allowed.
void discard(page::SessionPages& pages, occ::StorageControl* control, TreePage* page);
inline void discard(occ::TxnContext& ctx, occ::StorageControl* control, TreePage* page) {
  discard(ctx.pages(), control, page);
}
// Retires a page to which no pointer leads any more.
void retire(occ::TxnContext& ctx, occ::StorageControl* control, TreePage* page);

// The contents of a record to lay out.
struct NewRecord {
  std::uint64_t slice = 0;
  std::uint32_t key_bytes = 0;  // in this layer, or Slot::kLayerKeyBytes
  std::string_view remainder;
  std::uint32_t capacity = 0;
  page::Tid tid;
  std::uint32_t payload_field = 0;
};
// Lays a record out after the first `keys` of the page. Then the caller fills the payload, and
// counts the record. REQUIRES: the page's lock or an unreachable page, and room.
Slot lay_record(BorderPage* page, unsigned keys, const NewRecord& record);
// Starts to load the lines that lay_record() will write for the next record of a page with `keys`.
// Nothing has read these lines, so the unlock after the next insert would wait for the memory.
void prefetch_next_record(BorderPage* page, unsigned keys);
// Fills the payload of `to_slot` from a record of another page. REQUIRES: the lock of that record.
void copy_payload(BorderPage* from, Slot from_slot, BorderPage* to, Slot to_slot);

// Returns the most room that the payload of a record of this slice and length may have (M5). All
// keys that can have the same slice must still fit into the page. `own`: the record's slot, or
// kNone.
std::uint32_t crowded_capacity(BorderPage* page, unsigned keys, std::uint64_t slice,
                               std::size_t key_bytes, unsigned own);
// The space that is kept at least for a record of a key longer than 8 bytes: the record may be
// purged, and one of a longer key come instead. A layer is never purged, and keeps its size.
// gleaner/compose/masstree/group.cc does the same.
inline constexpr std::uint32_t kLongestBytes = footprint(kMaxKeyBytes - 8, kCapacityMin);
// The limit of key and payload bytes for a record whose slice no other key of the page has. It
// leaves room for all others that can have the slice, one of each length class, which may come yet.
inline constexpr std::uint32_t kAloneBytes =
    BorderPage::kBodyBytes - BorderPage::directory_bytes(kRemainderClass + 1) - footprint(15, 0) -
    kRemainderClass * footprint(0, kCapacityMin) - kLongestBytes;

// Makes a storage: its first, empty border page. REQUIRES: no other session knows the storage yet.
Status create(page::PagePool* pool, page::SessionPages* pages, occ::StorageControl* control);

}  // namespace foedus::storage::masstree
