#include "gleaner/compose/read_ahead.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "foedus-core/base/invariant.h"
#include "foedus-core/page/page_bytes.h"
#include "foedus-core/storage/array/array_page.h"
#include "gleaner/compose/hash/pages.h"
#include "gleaner/compose/masstree/old_page.h"

namespace foedus::gleaner {

namespace {

using page::SnapshotPageId;
using storage::array::ArrayInteriorPage;
using storage::hash::HashInteriorPage;
using storage::masstree::BorderPage;
using storage::masstree::InteriorPage;
using storage::masstree::TreePage;

// A page, and the records that fall into it.
struct Wanted {
  Subtree page;            // its range: positions; slices in a lower layer of a Master-Tree
  std::uint8_t layer = 0;  // of a Master-Tree
  unsigned bits = 0;       // length of the prefix, in a hash storage
  std::size_t begin = 0;
  std::size_t end = 0;
};

class Descent {
 public:
  Descent(const Composition& composition, std::span<const StreamRecord> records)
      : composition_(composition), records_(records) {}

  void run() {
    want({{{}, composition_.previous_root, kAnyLevel}, 0, 0, 0, records_.size()});
    while (!next_.empty()) {
      const std::vector<Wanted> level = std::exchange(next_, {});
      for (const Wanted& wanted : level) composition_.previous->will_read(wanted.page.page);
      for (const Wanted& wanted : level) look_below(wanted);
    }
  }

 private:
  void want(const Wanted& wanted) {
    if (!wanted.page.page.is_null() && wanted.begin != wanted.end) next_.push_back(wanted);
  }

  // Adds a child with those of its parent's records that are in its range.
  void want_child(const Wanted& parent, std::size_t* at, Wanted child) {
    const auto position = [&](std::size_t i) { return position_of(records_[i], parent.layer); };
    while (*at < parent.end && position(*at) < child.page.range.begin) ++*at;
    child.begin = *at;
    while (*at < parent.end && position(*at) <= child.page.range.last) ++*at;
    child.end = *at;
    want(child);
  }

  // Returns the record's place in the order of a layer: its slice in a lower layer of a
  // Master-Tree, else its position.
  static std::uint64_t position_of(const StreamRecord& record, std::uint8_t layer) {
    if (layer == 0) return record.position;
    return storage::masstree::slice_of(record.log->key().substr(layer * std::size_t{8}));
  }
  bool goes_deeper(const StreamRecord& record, std::uint8_t layer) const {
    return record.log->key_bytes > (layer + std::size_t{1}) * 8;
  }

  void look_below(const Wanted& wanted) {
    switch (composition_.meta->kind) {
      case StorageKind::kArray:
        return look_below_array(wanted);
      case StorageKind::kHash:
        return look_below_hash(wanted);
      case StorageKind::kMasstree:
        return look_below_masstree(wanted);
      case StorageKind::kSequential:
        return;  // nothing is merged (G30)
    }
    FOEDUS_INVARIANT(false, composition_.meta->kind);
  }

  void look_below_array(const Wanted& wanted) {
    if (wanted.page.level == 0) return;
    if (!composition_.previous->read(wanted.page.page, block_->header()).is_ok()) return;
    const page::PageHeader& header = *block_->header();
    const std::uint64_t first_index = header.kind_word;
    const bool is_expected = wanted.page.level == kAnyLevel || header.level == wanted.page.level;
    if (header.kind != page::PageKind::kArrayInterior || !is_expected || header.level == 0 ||
        header.level > storage::array::kLevelsMax || first_index != wanted.page.range.begin) {
      return;
    }
    std::uint64_t positions =
        storage::array::shape_of(composition_.meta->payload_bytes).records_per_page;
    for (unsigned i = 1; i < header.level; ++i) positions *= ArrayInteriorPage::kPointers;
    const std::uint32_t level = header.level - 1u;
    std::size_t at = wanted.begin;
    while (at < wanted.end) {
      const std::uint64_t index = (records_[at].position - first_index) / positions;
      if (index >= ArrayInteriorPage::kPointers) return;
      const std::uint64_t begin = first_index + index * positions;
      const auto& pointer = block_->as<ArrayInteriorPage>()->pointers[index];
      want_child(wanted, &at,
                 {{{begin, begin + positions - 1}, pointer.load().snapshot_page, level}});
    }
  }

  // Looks for pages below an interior page. A page has to be read to find out that it is a bin,
  // unless it has several digits.
  void look_below_hash(const Wanted& wanted) {
    if (wanted.bits % storage::hash::kDigitBits != 0) return;
    if (wanted.bits >= storage::hash::kPrefixBitsMax) return;  // no page can be below
    if (!read_hash_page(composition_, wanted.page.page, block_.get()).is_ok()) return;
    if (block_->header()->kind != page::PageKind::kHashInterior) return;
    const HashPrefix prefix{wanted.page.range.begin, wanted.bits};
    const auto children = children_of(composition_, prefix, wanted.page.page, block_.get());
    if (!children.is_ok()) return;
    std::size_t at = wanted.begin;
    for (std::uint32_t digit = 0; digit < HashInteriorPage::kPointers && at < wanted.end; ++digit) {
      const HashChild& child = (*children)[digit];
      if (child.span == 0) continue;
      const HashPrefix below = prefix.below(digit, child.span);
      want_child(wanted, &at, {{below.range(), child.page, kAnyLevel}, 0, below.bits});
    }
  }

  void look_below_masstree(const Wanted& wanted) {
    bool is_last = wanted.page.level == 0;
    for (std::size_t i = wanted.begin; is_last && i < wanted.end; ++i) {
      is_last = !goes_deeper(records_[i], wanted.layer);
    }
    if (is_last) return;
    if (!read_old_page(composition_, wanted.page, wanted.layer, block_.get()).is_ok()) return;
    TreePage* const page = TreePage::of(block_->header());
    if (page->is_border()) return look_into_border(wanted, BorderPage::of(page));
    InteriorPage* const interior = InteriorPage::of(page);
    const unsigned keys = interior->header.load_version().keys();
    std::size_t at = wanted.begin;
    for (unsigned i = 0; i <= keys && at < wanted.end; ++i) {
      want_child(wanted, &at, {child_of(interior, i), wanted.layer});
    }
  }

  // Adds the next layers into which records fall.
  void look_into_border(const Wanted& wanted, BorderPage* page) {
    const unsigned keys = page->header.load_version().keys();
    std::size_t at = wanted.begin;
    for (unsigned i = 0; i < keys && at < wanted.end; ++i) {
      if (!page->slot(i).is_layer()) continue;
      const std::uint64_t slice = page->slice(i);
      const auto position = [&] { return position_of(records_[at], wanted.layer); };
      while (at < wanted.end &&
             (position() < slice ||
              (position() == slice && !goes_deeper(records_[at], wanted.layer)))) {
        ++at;
      }
      const std::size_t begin = at;
      while (at < wanted.end && position() == slice) ++at;
      const SnapshotPageId root = page->layer_pointer(page->slot(i))->load().snapshot_page;
      const auto layer = static_cast<std::uint8_t>(wanted.layer + 1);
      want({{{}, root, kAnyLevel}, layer, 0, begin, at});
    }
  }

  const Composition& composition_;
  const std::span<const StreamRecord> records_;
  std::vector<Wanted> next_;
  const std::unique_ptr<page::PageBytes> block_ = std::make_unique<page::PageBytes>();
};

}  // namespace

void read_ahead(const Composition& composition, std::span<const StreamRecord> records) {
  if (composition.previous_root.is_null() || records.empty()) return;
  Descent(composition, records).run();
}

}  // namespace foedus::gleaner
