// Hash storages: a pointer does not say whether it leads to a bin, so the walk reads all pages that
// are not older than the victims.
#include <cstring>
#include <deque>
#include <memory>

#include "foedus-core/storage/hash/layout/page_check.h"
#include "gleaner/reclaim/relocation.h"

namespace foedus::gleaner {

namespace {

using page::PageKind;
using page::SnapshotPageId;
using storage::hash::HashBinPage;
using storage::hash::HashInteriorPage;
using storage::hash::HashSlot;

class HashMove {
 public:
  explicit HashMove(Relocation* relocation) : relocation_(*relocation) {}

  // Moves a page and those below it. `bits`: how many bits of the hash lead to the page.
  Result<SnapshotPageId> move(SnapshotPageId id, unsigned bits) {
    if (!relocation_.is_wanted(id)) return id;
    const auto block = std::make_unique<page::PageBytes>();
    FOEDUS_CHECK(relocation_.read(id, PageKind::kHashInterior, PageKind::kHashBin, block.get()));
    if (block->header()->flags != bits) return relocation_.corrupt(id, "of another prefix");
    if (block->header()->kind == PageKind::kHashBin) return move_bin(id, block.get());
    return move_interior(id, block.get());
  }

 private:
  Result<SnapshotPageId> move_interior(SnapshotPageId id, page::PageBytes* block) {
    auto* const page = block->as<HashInteriorPage>();
    announce_children(*page);
    bool is_changed = relocation_.is_victim(id);
    for (std::uint32_t digit = 0; digit < HashInteriorPage::kPointers; ++digit) {
      if (page->owner_of(digit) != digit) continue;
      const SnapshotPageId child = page->pointers[digit].load().snapshot_page;
      FOEDUS_TRY(const SnapshotPageId moved,
                 move(child, storage::hash::bits_below(*page, digit)));
      if (moved == child) continue;
      page->pointers[digit].store({page::VolatilePageId(), moved});
      is_changed = true;
    }
    if (!is_changed) return id;
    return relocation_.write(*block);
  }

  // Announces the children that the walk reads (G72).
  void announce_children(const HashInteriorPage& page) {
    for (std::uint32_t digit = 0; digit < HashInteriorPage::kPointers; ++digit) {
      const SnapshotPageId child = page.pointers[digit].load().snapshot_page;
      if (page.owner_of(digit) == digit && relocation_.is_wanted(child)) {
        relocation_.announce(child);
      }
    }
  }

  // Moves a bin. A chain of pages is in one file, and each page names the first, so all of them are
  // moved or none. Payloads go first, because no other page may come between the pages of a bin.
  Result<SnapshotPageId> move_bin(SnapshotPageId id, page::PageBytes* block) {
    std::deque<SnapshotPageId> payloads;  // the new ids of the bin's payloads, in their order
    bool is_changed = relocation_.is_victim(id);
    for (SnapshotPageId at = id;;) {
      FOEDUS_TRY(const bool is_moved, move_payloads(at, block, &payloads));
      is_changed |= is_moved;
      at = next_of(block);
      if (at.is_null() || !(is_changed || relocation_.wants_records())) break;
      FOEDUS_CHECK(relocation_.read(at, PageKind::kHashBin, block));
    }
    if (!is_changed) return id;
    const SnapshotPageId head = relocation_.next_id();
    for (SnapshotPageId at = id, to = head; !at.is_null(); to = to.plus(1)) {
      if (block->header()->page_id != at.word()) {
        FOEDUS_CHECK(relocation_.read(at, PageKind::kHashBin, block));
      }
      auto* const page = block->as<HashBinPage>();
      if (page->head != id.word()) return relocation_.corrupt(at, "of another bin");
      page->head = head.word();
      put_payloads(page, &payloads);
      at = next_of(block);
      // order: relaxed, the page is this walk's copy.
      if (!at.is_null()) page->next_page.store_relaxed(to.plus(1).word());
      FOEDUS_CHECK(relocation_.write(*block).status());
    }
    return head;
  }

  static SnapshotPageId next_of(page::PageBytes* block) {
    // order: relaxed, the page is this walk's copy.
    return SnapshotPageId(block->as<HashBinPage>()->next_page.load_relaxed());
  }
  static char* chain_of(HashBinPage* page, HashSlot slot) {
    return storage::hash::payload_of(page->record(slot), slot);
  }

  Result<bool> move_payloads(SnapshotPageId id, page::PageBytes* block,
                             std::deque<SnapshotPageId>* payloads) {
    auto* const page = block->as<HashBinPage>();
    if (page->load_count() > HashBinPage::kRecordsMax) {
      return relocation_.corrupt(id, "more records than a page can have");
    }
    bool is_moved = false;
    for (std::uint32_t i = 0; i < page->load_count(); ++i) {
      const HashSlot slot = page->slot(i);
      if (slot.length() != page::kSnapshotOverflowLength) continue;
      const std::uint32_t bytes = storage::hash::record_bytes_of(slot.key_bytes(), slot.room());
      if (slot.offset() + bytes > page::kPageBytes || slot.room() < sizeof(std::uint64_t)) {
        return relocation_.corrupt(id, "a record beyond its bounds");
      }
      std::uint64_t word;
      std::memcpy(&word, chain_of(page, slot), sizeof(word));
      FOEDUS_TRY(const SnapshotPageId moved, relocation_.move_chain(SnapshotPageId(word)));
      payloads->push_back(moved);
      is_moved |= moved.word() != word;
    }
    return is_moved;
  }
  static void put_payloads(HashBinPage* page, std::deque<SnapshotPageId>* payloads) {
    for (std::uint32_t i = 0; i < page->load_count(); ++i) {
      const HashSlot slot = page->slot(i);
      if (slot.length() != page::kSnapshotOverflowLength) continue;
      const std::uint64_t word = payloads->front().word();
      payloads->pop_front();
      std::memcpy(chain_of(page, slot), &word, sizeof(word));
    }
  }

  Relocation& relocation_;
};

}  // namespace

Result<SnapshotPageId> move_hash(Relocation* relocation) {
  return HashMove(relocation).move(relocation->storage().root, 0);
}

}  // namespace foedus::gleaner
