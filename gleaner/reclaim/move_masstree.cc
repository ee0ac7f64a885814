// Master-Trees: interior pages lead to border pages, and records to next layers and payloads.
#include <cstring>
#include <memory>

#include "foedus-core/storage/masstree/layout/page.h"
#include "gleaner/reclaim/relocation.h"

namespace foedus::gleaner {

namespace {

using page::PageKind;
using page::SnapshotPageId;
using storage::masstree::BorderPage;
using storage::masstree::InteriorPage;
using storage::masstree::Slot;
using storage::masstree::TreePage;

constexpr std::uint32_t kAnyLevel = ~0u;  // a root may have any level

class MasstreeMove {
 public:
  explicit MasstreeMove(Relocation* relocation) : relocation_(*relocation) {}

  Result<SnapshotPageId> move(SnapshotPageId id, std::uint32_t level, unsigned layer) {
    if (!is_read(id, level)) return id;
    const auto block = std::make_unique<page::PageBytes>();
    FOEDUS_CHECK(
        relocation_.read(id, PageKind::kMasstreeInterior, PageKind::kMasstreeBorder, block.get()));
    TreePage* const page = TreePage::of(block->header());
    const bool is_expected = (level == kAnyLevel || page->header.level == level) &&
                             page->header.layer == layer &&
                             page->is_border() == (page->header.kind == PageKind::kMasstreeBorder);
    if (!is_expected) return relocation_.corrupt(id, "of another level or layer");
    FOEDUS_TRY(const bool is_changed, page->is_border() ? move_below(id, BorderPage::of(page))
                                                        : move_below(id, InteriorPage::of(page)));
    if (!is_changed && !relocation_.is_victim(id)) return id;
    return relocation_.write(*block);
  }

 private:
  // Returns true if the walk reads this page.
  bool is_read(SnapshotPageId id, std::uint32_t level) const {
    return relocation_.is_wanted(id) &&
           (level != 0 || relocation_.is_victim(id) || relocation_.wants_records());
  }

  // Announces the children that the walk reads (G72).
  void announce_children(InteriorPage* page, unsigned keys) {
    for (unsigned i = 0; i <= keys; ++i) {
      const SnapshotPageId child = page->child(i).load().snapshot_page;
      if (is_read(child, page->header.level - 1u)) relocation_.announce(child);
    }
  }

  Result<bool> move_below(SnapshotPageId id, InteriorPage* page) {
    const unsigned keys = page->header.load_version().keys();
    if (keys > InteriorPage::kSeparatorsMax) return relocation_.corrupt(id, "too many children");
    announce_children(page, keys);
    bool is_changed = false;
    for (unsigned i = 0; i <= keys; ++i) {
      FOEDUS_TRY(const bool is_moved,
                 move_pointer(&page->child(i), page->header.level - 1u, page->header.layer));
      is_changed |= is_moved;
    }
    return is_changed;
  }

  Result<bool> move_below(SnapshotPageId id, BorderPage* page) {
    const unsigned keys = page->header.load_version().keys();
    if (keys > BorderPage::kKeysMax) return relocation_.corrupt(id, "too many keys");
    bool is_changed = false;
    for (unsigned i = 0; i < keys && relocation_.wants_records(); ++i) {
      const Slot slot = page->slot(i);
      if (slot.offset() + slot.record_bytes() > page::kPageBytes) {
        return relocation_.corrupt(id, "a record that is not in the page");
      }
      bool is_moved = false;
      if (slot.is_layer()) {
        FOEDUS_TRY(is_moved,
                   move_pointer(page->layer_pointer(slot), kAnyLevel, page->header.layer + 1u));
      } else if (slot.is_snapshot_overflow()) {
        FOEDUS_TRY(is_moved, move_payload(page->payload(slot)));
      }
      is_changed |= is_moved;
    }
    return is_changed;
  }

  Result<bool> move_pointer(page::DualPagePointer* pointer, std::uint32_t level, unsigned layer) {
    const SnapshotPageId below = pointer->load().snapshot_page;
    FOEDUS_TRY(const SnapshotPageId moved, move(below, level, layer));
    if (moved == below) return false;
    pointer->store({page::VolatilePageId(), moved});
    return true;
  }

  Result<bool> move_payload(char* body) {
    std::uint64_t word;
    std::memcpy(&word, body, sizeof(word));
    FOEDUS_TRY(const SnapshotPageId moved, relocation_.move_chain(SnapshotPageId(word)));
    if (moved.word() == word) return false;
    word = moved.word();
    std::memcpy(body, &word, sizeof(word));
    return true;
  }

  Relocation& relocation_;
};

}  // namespace

Result<SnapshotPageId> move_masstree(Relocation* relocation) {
  return MasstreeMove(relocation).move(relocation->storage().root, kAnyLevel, 0);
}

}  // namespace foedus::gleaner
