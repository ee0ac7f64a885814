// Each broken rule of a layout is reported, although the checksum is right.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "foedus-core/page/overflow_page.h"
#include "foedus-core/storage/array/array_page.h"
#include "foedus-core/storage/hash/layout/page.h"
#include "foedus-core/storage/masstree/layout/page.h"
#include "foedus-core/storage/sequential/sequential_snapshot_page.h"
#include "tests/tools/foedus/damage_rig.h"

namespace foedus::cli::verify_rules_test {
namespace {

using page::OverflowPage;
using page::PageKind;
using page::SnapshotPageId;
using page::Tid;
using storage::array::ArrayBorderPage;
using storage::array::ArrayInteriorPage;
using storage::hash::HashBinPage;
using storage::hash::HashInteriorPage;
using storage::hash::HashSlot;
using storage::masstree::BorderPage;
using storage::masstree::InteriorPage;
using storage::masstree::Slot;
using storage::sequential::SequentialRunsPage;
using storage::sequential::SequentialSnapshotPage;

class VerifyRulesTest : public DamageTest {};

// A page as no composer writes it, with the right checksum.
struct Damage {
  PageKind kind;
  const char* what;                         // the expected message
  std::function<bool(PageBytes&)> damages;  // returns false if this page cannot have it
};

template <typename Page>
std::function<bool(PageBytes&)> with(std::function<bool(Page&)> damages) {
  return [damages](PageBytes& block) { return damages(*block.as<Page>()); };
}

void store(page::DualPagePointer* pointer, SnapshotPageId id) {
  pointer->store({page::VolatilePageId(), id});
}

void set_count(page::PageHeader* header, unsigned keys, unsigned layers) {
  header->store_version(page::PageVersion(keys, layers));
}

// Returns the first record of a border page that is no layer, or null.
page::RecordHeader* record_of(BorderPage& page) {
  for (unsigned i = 0; i < page.header.load_version().keys(); ++i) {
    if (!page.slot(i).is_layer()) return page.record(i);
  }
  return nullptr;
}

// Returns the first layer, or kNone.
unsigned layer_of(BorderPage& page) {
  for (unsigned i = 0; i < page.header.load_version().keys(); ++i) {
    if (page.slot(i).is_layer()) return i;
  }
  return BorderPage::kNone;
}

bool swap_keys(BorderPage& page) {
  if (page.header.load_version().keys() < 2) return false;
  BorderPage::Group& group = page.group(0);
  std::swap(group.slices[0], group.slices[1]);
  const std::uint64_t slot = group.slots[0].load_relaxed();
  group.slots[0].store_relaxed(group.slots[1].load_relaxed());
  group.slots[1].store_relaxed(slot);
  return true;
}

bool set_tid(page::RecordHeader* record, Tid tid) {
  if (record != nullptr) record->tid.store_relaxed(tid.word());
  return record != nullptr;
}

bool add_tid(page::RecordHeader* record, std::uint64_t flags) {
  return record != nullptr && set_tid(record, record->load_tid().with(flags));
}

std::vector<Damage> damages_of_headers() {
  return {
      {PageKind::kMasstreeBorder, "it is of storage 77",
       [](PageBytes& block) {
         block.header()->storage_id = page::StorageId{77};
         return true;
       }},
      {PageKind::kArrayBorder, "it is locked",
       [](PageBytes& block) {
         block.header()->lock.store_relaxed(1);
         return true;
       }},
      {PageKind::kHashBin, "it says that it was moved",
       [](PageBytes& block) {
         block.header()->store_version(
             block.header()->load_version().with(page::PageVersion::kMoved));
         return true;
       }},
      {PageKind::kArrayBorder, "it is of kind 1, level 0; in its place is kind 2, level 0",
       [](PageBytes& block) {
         block.header()->kind = PageKind::kArrayInterior;
         return true;
       }},
      {PageKind::kOverflow, "in its place is kind 9, level 0",
       [](PageBytes& block) {
         block.header()->level = 1;
         return true;
       }},
  };
}

std::vector<Damage> damages_of_border_pages() {
  const auto border = PageKind::kMasstreeBorder;
  return {
      {border, "in its place are", with<BorderPage>([](BorderPage& page) {
         page.low += 1;
         return true;
       })},
      {border, "in its place are", with<BorderPage>([](BorderPage& page) {
         page.last -= 1;
         return true;
       })},
      {border, "it has foster twins", with<BorderPage>([](BorderPage& page) {
         page.foster_minor.store_relaxed(5);
         return true;
       })},
      {border, "of another layer", with<BorderPage>([](BorderPage& page) {
         page.header.layer += 1;
         return true;
       })},
      {border, "is not behind the one before it", with<BorderPage>(swap_keys)},
      {border, "not all keys are sorted", with<BorderPage>([](BorderPage& page) {
         page.sorted_keys.store_relaxed(0);
         return page.header.load_version().keys() != 0;
       })},
      {border, "more keys than a page can have", with<BorderPage>([](BorderPage& page) {
         set_count(&page.header, 65, 0);
         return true;
       })},
      {border, "is not of the page's range", with<BorderPage>([](BorderPage& page) {
         if (page.low == 0 || page.header.load_version().keys() == 0) return false;
         page.group(0).slices[0] = page.low - 1;
         return true;
       })},
      {border, "keys and records overlap", with<BorderPage>([](BorderPage& page) {
         page.heap_begin = 100;
         return page.header.load_version().keys() != 0;
       })},
      {border, "an impossible slot", with<BorderPage>([](BorderPage& page) {
         page.slot_word(0).store_relaxed(page.slot(0).word() + 1);
         return page.header.load_version().keys() != 0;
       })},
      {border, "records overlap", with<BorderPage>([](BorderPage& page) {
         if (page.header.load_version().keys() < 2) return false;
         const Slot slot = page.slot(0);
         page.slot_word(1).store_relaxed((page.slot(1).word() & ~0xffffull) | slot.offset());
         return true;
       })},
      {border, "ends behind the page", with<BorderPage>([](BorderPage& page) {
         if (page.header.load_version().keys() == 0) return false;
         page.slot_word(0).store_relaxed(page.slot(0).word() | std::uint64_t{0xff00} << 32);
         return page.slot(0).offset() + page.slot(0).record_bytes() > page::kPageBytes;
       })},
      {border, "is longer than it says", with<BorderPage>([](BorderPage& page) {
         const unsigned keys = page.header.load_version().keys();
         if (keys == 0 || page.slot(keys - 1).key_class() >= 8) return false;
         BorderPage::Group& group = page.group(keys - 1);
         group.slices[(keys - 1) % BorderPage::Group::kKeys] |= 1;
         return true;
       })},
  };
}

std::vector<Damage> damages_of_border_records() {
  const auto border = PageKind::kMasstreeBorder;
  return {
      {border, "has TID flags",
       with<BorderPage>([](BorderPage& page) { return add_tid(record_of(page), Tid::kDeleted); })},
      {border, "the snapshot covers epochs", with<BorderPage>([](BorderPage& page) {
         return set_tid(record_of(page), Tid(Epoch(1'000'000), 1));
       })},
      {border, "is of epoch 0",
       with<BorderPage>([](BorderPage& page) { return set_tid(record_of(page), Tid()); })},
      {border, "a payload larger than its room", with<BorderPage>([](BorderPage& page) {
         const unsigned keys = page.header.load_version().keys();
         if (keys == 0 || page.slot(0).is_layer()) return false;
         page.slot_word(0).store_relaxed(page.slot(0).with_payload(3'000).word());
         return true;
       })},
      {border, "next layers and has", with<BorderPage>([](BorderPage& page) {
         const page::PageVersion version = page.header.load_version();
         set_count(&page.header, version.keys(), version.layers() + 1);
         return true;
       })},
      {border, "a pointer to no page", with<BorderPage>([](BorderPage& page) {
         const unsigned layer = layer_of(page);
         if (layer == BorderPage::kNone) return false;
         store(page.layer_pointer(page.slot(layer)), SnapshotPageId());
         return true;
       })},
      {border, "its TID does not say so", with<BorderPage>([](BorderPage& page) {
         const unsigned layer = layer_of(page);
         if (layer == BorderPage::kNone) return false;
         page::RecordHeader* const record = page.record(layer);
         return set_tid(record, record->load_tid().without(Tid::kFlags));
       })},
  };
}

std::vector<Damage> damages_of_tree_interiors() {
  const auto interior = PageKind::kMasstreeInterior;
  return {
      {interior, "in its place are", with<InteriorPage>([](InteriorPage& page) {
         page.last -= 1;
         return page.header.load_version().keys() > 2;
       })},
      {interior, "separators do not ascend", with<InteriorPage>([](InteriorPage& page) {
         if (page.header.load_version().keys() < 2) return false;
         const std::uint64_t first = page.separator(0);
         page.set_separator(0, page.separator(1));
         page.set_separator(1, first);
         return true;
       })},
      {interior, "a pivot is not", with<InteriorPage>([](InteriorPage& page) {
         page.pivots[0].store_relaxed(1);
         return page.header.load_version().keys() >= 8;
       })},
      {interior, "a pointer to no page", with<InteriorPage>([](InteriorPage& page) {
         store(&page.child(1), SnapshotPageId());
         return page.header.load_version().keys() >= 1;
       })},
      {interior, "a pointer to page 5 of snapshot-00000009-3, a file that",
       with<InteriorPage>([](InteriorPage& page) {
         store(&page.child(0), SnapshotPageId(page::SnapshotNumber{9}, 3, 5));
         return true;
       })},
      {interior, "which has pages 1 to", with<InteriorPage>([](InteriorPage& page) {
         store(&page.child(0), SnapshotPageId(page::SnapshotNumber{1}, 0, 9'999'999));
         return true;
       })},
      {interior, "a pointer to a volatile page", with<InteriorPage>([](InteriorPage& page) {
         page.child(0).store({page::VolatilePageId(0, 4), page.child(0).load().snapshot_page});
         return true;
       })},
  };
}

std::vector<Damage> damages_of_hashes() {
  const auto interior = PageKind::kHashInterior;
  const auto bin = PageKind::kHashBin;
  return {
      {interior, "its owners are no prefixes", with<HashInteriorPage>([](HashInteriorPage& page) {
         page.owners[127].store_relaxed(3);
         return true;
       })},
      {interior, "it spreads by the bits", with<HashInteriorPage>([](HashInteriorPage& page) {
         page.header.flags += 7;
         return true;
       })},
      {interior, "it is no interior page", with<HashInteriorPage>([](HashInteriorPage& page) {
         page.header.level = 0;
         return true;
       })},
      {interior, "a pointer of a digit that another one owns",
       with<HashInteriorPage>([](HashInteriorPage& page) {
         if (page.owner_of(127) == 127) return false;
         store(&page.pointers[127], SnapshotPageId(page::SnapshotNumber{1}, 0, 1));
         return true;
       })},
      {bin, "its prefix or its first page", with<HashBinPage>([](HashBinPage& page) {
         page.prefix ^= std::uint64_t{1} << 63;
         return true;
       })},
      {bin, "its prefix or its first page", with<HashBinPage>([](HashBinPage& page) {
         page.header.flags += 1;
         return true;
       })},
      {bin, "keys, its bin has", with<HashBinPage>([](HashBinPage& page) {
         set_count(&page.header, page.load_count() + 1, 0);
         return true;
       })},
      {bin, "more records than a page can have", with<HashBinPage>([](HashBinPage& page) {
         page.record_count.store_relaxed(97);
         return true;
       })},
      {bin, "its records do not end where it says", with<HashBinPage>([](HashBinPage& page) {
         page.data_end += 8;
         return true;
       })},
      {bin, "has a wrong tag", with<HashBinPage>([](HashBinPage& page) {
         page.tags[0].store_relaxed(page.tags[0].load_relaxed() ^ 1);
         return true;
       })},
      {bin, "belongs to another bin by its hash", with<HashBinPage>([](HashBinPage& page) {
         char* const key = reinterpret_cast<char*>(page.record(page.slot(0)) + 1);
         key[0] = static_cast<char>(key[0] ^ 1);
         return page.prefix_bits() >= 5;
       })},
      {bin, "has an impossible place or length", with<HashBinPage>([](HashBinPage& page) {
         const HashSlot slot = page.slot(0);
         page.slot_word(0).store_relaxed(
             HashSlot(slot.offset(), slot.key_bytes(), slot.room(), slot.room() + 1).word());
         return true;
       })},
      {bin, "has an impossible place or length", with<HashBinPage>([](HashBinPage& page) {
         page.slot_word(0).store_relaxed(~std::uint64_t{0});
         return true;
       })},
      {bin, "has TID flags", with<HashBinPage>([](HashBinPage& page) {
         return add_tid(page.record(page.slot(0)), Tid::kMoved);
       })},
      {bin, "a pointer to page 4095 of", with<HashBinPage>([](HashBinPage& page) {
         page.next_page.store_relaxed(SnapshotPageId(page::SnapshotNumber{4}, 0, 4095).word());
         return true;
       })},
  };
}

std::vector<Damage> damages_of_arrays_and_chains() {
  return {
      {PageKind::kArrayBorder, "it says that it begins at index",
       [](PageBytes& block) {
         block.header()->kind_word += 1;
         return true;
       }},
      {PageKind::kArrayInterior, "a pointer behind the end of the array",
       with<ArrayInteriorPage>([](ArrayInteriorPage& page) {
         store(&page.pointers[250], SnapshotPageId(page::SnapshotNumber{1}, 0, 3));
         return page.header.level == 2;
       })},
      {PageKind::kArrayBorder, "has TID flags", with<ArrayBorderPage>([](ArrayBorderPage& page) {
         auto* const record = reinterpret_cast<page::RecordHeader*>(page.data);
         return record->load_tid() != Tid() && add_tid(record, Tid::kBeingWritten);
       })},
      {PageKind::kOverflow, "not the next part", with<OverflowPage>([](OverflowPage& page) {
         page.bytes_here -= 1;
         return true;
       })},
      {PageKind::kOverflow, "not the next part", with<OverflowPage>([](OverflowPage& page) {
         page.payload_bytes += 4096;
         return page.bytes_here < OverflowPage::kDataBytes;
       })},
      {PageKind::kOverflow, "a payload of impossible size",
       with<OverflowPage>([](OverflowPage& page) {
         page.payload_bytes = 0;
         return page.next_page != 0 && page.payload_bytes == 0;
       })},
      {PageKind::kOverflow, "a next page behind the end",
       with<OverflowPage>([](OverflowPage& page) {
         page.next_page = 99;
         return page.bytes_here < OverflowPage::kDataBytes;
       })},
      {PageKind::kOverflow, "a pointer to no page", with<OverflowPage>([](OverflowPage& page) {
         return std::exchange(page.next_page, 0) != 0;
       })},
  };
}

std::vector<Damage> damages_of_sequential_storages() {
  return {
      {PageKind::kSequential, "not the page of the run",
       with<SequentialSnapshotPage>([](SequentialSnapshotPage& page) {
         page.header.kind_word += 1;
         return true;
       })},
      {PageKind::kSequential, "do not end where it says",
       with<SequentialSnapshotPage>([](SequentialSnapshotPage& page) {
         page.record_count -= 1;
         return page.record_count != 0;
       })},
      {PageKind::kSequential, "ends behind the page's end",
       with<SequentialSnapshotPage>([](SequentialSnapshotPage& page) {
         page.record_at(0)->payload_bytes = 3'000;
         page.data_end = 2'000;
         return true;
       })},
      {PageKind::kSequential, "would have had room",
       with<SequentialSnapshotPage>([](SequentialSnapshotPage& page) {
         page.record_at(0)->payload_bytes = 0;
         return page.header.kind_word != 0;
       })},
      {PageKind::kSequential, "is not behind the one before it",
       with<SequentialSnapshotPage>([](SequentialSnapshotPage& page) {
         return page.header.kind_word != 0 && set_tid(&page.record_at(0)->header, Tid(Epoch(1), 0));
       })},
      {PageKind::kSequentialHeads, "and should have",
       with<SequentialRunsPage>([](SequentialRunsPage& page) {
         page.runs[0].record_count += 1;
         return true;
       })},
      {PageKind::kSequentialHeads, "are not between its neighbours'",
       with<SequentialRunsPage>([](SequentialRunsPage& page) {
         page.runs[0].first_epoch = page.runs[0].last_epoch + 1;
         return true;
       })},
      {PageKind::kSequentialHeads, "a run of impossible length",
       with<SequentialRunsPage>([](SequentialRunsPage& page) {
         page.runs[0].page_count = ~0u;
         return true;
       })},
      {PageKind::kSequentialHeads, "it is no page of runs",
       with<SequentialRunsPage>([](SequentialRunsPage& page) {
         page.run_count = 101;
         return true;
       })},
  };
}

void expect_all(const std::string& dir, const std::vector<Damage>& damages,
                const std::function<void(const DamagedCopy&, std::uint64_t, const char*)>& expect) {
  const DamagedCopy copy(dir);
  for (const Damage& damage : damages) {
    std::unique_ptr<PageBytes> damaged;
    const std::uint64_t page = copy.find(kFile, [&](PageBytes& block) {
      if (block.header()->kind != damage.kind) return false;
      damaged = std::make_unique<PageBytes>(block);
      return damage.damages(*damaged);
    });
    ASSERT_NE(page, 0u) << damage.what;
    const auto intact = copy.read(kFile, page);
    copy.write(kFile, page, damaged.get());
    expect(copy, page, damage.what);
    copy.write(kFile, page, intact.get());
  }
}

// Goal: faults that a checksum cannot find are reported. Method: each rule of a layout is broken
// once, in a page that then gets the right checksum; the finding must name the page and the rule.
TEST_F(VerifyRulesTest, a_header_that_is_wrong_is_named) {
  expect_all(rig_->dir(), damages_of_headers(), expect_damage);
}

TEST_F(VerifyRulesTest, each_rule_of_master_trees_is_looked_at) {
  expect_all(rig_->dir(), damages_of_border_pages(), expect_damage);
  expect_all(rig_->dir(), damages_of_border_records(), expect_damage);
  expect_all(rig_->dir(), damages_of_tree_interiors(), expect_damage);
}

TEST_F(VerifyRulesTest, each_rule_of_hash_storages_is_looked_at) {
  expect_all(rig_->dir(), damages_of_hashes(), expect_damage);
}

TEST_F(VerifyRulesTest, each_rule_of_arrays_and_chains_is_looked_at) {
  expect_all(rig_->dir(), damages_of_arrays_and_chains(), expect_damage);
}

TEST_F(VerifyRulesTest, each_rule_of_sequential_storages_is_looked_at) {
  expect_all(rig_->dir(), damages_of_sequential_storages(), expect_damage);
}

TEST_F(VerifyRulesTest, a_page_that_two_pointers_lead_to_is_named) {
  const DamagedCopy copy(rig_->dir());
  const std::uint64_t page = copy.find(kFile, [&](PageBytes& block) {
    return is_of(block, PageKind::kArrayInterior) && block.header()->level == 1;
  });
  const auto block = copy.read(kFile, page);
  auto& interior = *block->as<ArrayInteriorPage>();
  const SnapshotPageId twice = interior.pointers[0].load().snapshot_page;
  ASSERT_FALSE(twice.is_null());
  store(&interior.pointers[1], twice);
  copy.write(kFile, page, block.get());
  expect_damage(copy, twice.page(), "a second pointer leads to it, from page");
}

}  // namespace
}  // namespace foedus::cli::verify_rules_test
