// Checks of snapshot pages. Goal: each rule is checked. Method: a sound page is changed so that it
// breaks one rule, which the check must then name. Rules of Master-Trees:
// masstree/masstree_page_check_test.cc.
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "foedus-core/page/overflow_page.h"
#include "foedus-core/storage/array/array_page_check.h"
#include "tests/storage/sound_pages.h"

namespace foedus::storage::page_check_test {
namespace {

using array::ArrayBorderPage;
using array::ArrayInteriorPage;
using page::OverflowPage;
using page::PageHeader;
using page::PageKind;
using page::PageVersion;
using page::SnapshotNumber;
using page::SnapshotPageId;
using page::Tid;
using page::VolatilePageId;

TEST(PageCheckTest, nothing_is_said_of_pages_as_they_were_written) {
  std::set<PageKind> kinds;
  for (const auto& page : SoundPages::get().all()) {
    kinds.insert(page->header()->kind);
    EXPECT_STREQ(broken_rule(*page->header(), SoundPages::get().newest()), nullptr);
  }
  EXPECT_EQ(kinds.size(), 9u);
}

TEST(PageCheckTest, a_header_is_of_a_page_that_nobody_changes) {
  const auto says = [](const char* rule, auto&& change) {
    for (const auto& page : SoundPages::get().all()) {
      const auto copy = std::make_unique<PageBytes>(*page);
      change(*copy->header());
      EXPECT_STREQ(broken_rule(*copy->header(), SoundPages::get().newest()), rule);
    }
  };
  says("it is of no storage", [](PageHeader& page) { page.storage_id = {}; });
  says("it is locked", [](PageHeader& page) { page.lock.store_relaxed(1); });
  for (const auto flag : {PageVersion::kMoved, PageVersion::kRetired, PageVersion::kDropped}) {
    says("it says that it was moved, retired or dropped", [&](PageHeader& page) {
      page.store_version(page.load_version().with(flag));
      page.birth_version = page.load_version().word();
    });
  }
  says("it was born with other keys", [](PageHeader& page) { ++page.birth_version; });
  says("it says that records were purged from it", [](PageHeader& page) { page.purged_tid = 16; });
  says("it is of no kind", [](PageHeader& page) { page.kind = PageKind::kNone; });
  says("it is of no kind", [](PageHeader& page) { page.kind = PageKind{10}; });
}

// P17, with the first pointer of an array.
TEST(PageCheckTest, a_page_leads_to_what_was_written_before_it) {
  const auto says = [](const char* rule, auto&& ids_for) {
    expect_said<ArrayInteriorPage>(PageKind::kArrayInterior, rule, [&](ArrayInteriorPage& page) {
      const SnapshotPageId own = id_of(page.header);
      if (static_cast<std::uint32_t>(own.snapshot()) < 2) return false;
      page.pointers[0].store(ids_for(own));
      return true;
    });
  };
  const auto leads = [&](const char* rule, auto&& id_for) {
    says(rule, [&](SnapshotPageId own) { return page::DualPageIds{{}, id_for(own)}; });
  };
  const auto in = [](SnapshotPageId own, int snapshots, int socs, std::uint32_t page) {
    const auto snapshot = static_cast<std::uint32_t>(own.snapshot()) + snapshots;
    return SnapshotPageId(SnapshotNumber(snapshot), own.soc() + socs, page);
  };
  constexpr const char* kNowhere = "a pointer that leads nowhere";
  leads(nullptr, [](SnapshotPageId) { return SnapshotPageId(); });
  leads(nullptr, [&](SnapshotPageId own) { return in(own, -1, 0, own.page() + 100); });
  leads(nullptr, [&](SnapshotPageId own) { return in(own, 0, 1, own.page() + 100); });
  leads(nullptr, [&](SnapshotPageId own) { return in(own, 0, 0, own.page() - 1); });
  leads(kNowhere, [&](SnapshotPageId own) { return in(own, 0, 0, own.page()); });
  leads(kNowhere, [&](SnapshotPageId own) { return in(own, 0, 0, own.page() + 1); });
  leads(kNowhere, [&](SnapshotPageId own) { return in(own, 1, 0, 1); });
  leads(kNowhere, [&](SnapshotPageId own) { return in(own, -1, 0, 0); });
  leads(kNowhere, [](SnapshotPageId) { return SnapshotPageId(1); });  // of snapshot 0
  says(kNowhere, [](SnapshotPageId) { return page::DualPageIds{VolatilePageId(0, 1), {}}; });
}

TEST(PageCheckTest, a_part_of_a_payload_says_which_one_it_is) {
  const auto says = [](const char* rule, auto&& change) {
    expect_said<OverflowPage>(PageKind::kOverflow, rule, change);
  };
  says("a payload above the lowest level", [](OverflowPage& page) { page.header.level = 1; });
  const char* const size = "a payload of an impossible size";
  says(size, [](OverflowPage& page) { page.payload_bytes = 0; });
  says(size, [](OverflowPage& page) { page.payload_bytes = kMaxPayloadBytes + 1; });
  const char* const elsewhere = "its payload goes on elsewhere";
  says(elsewhere, [](OverflowPage& page) { page.next_page = id_of(page.header).word(); });
  says(elsewhere, [](OverflowPage& page) { page.next_page = id_of(page.header, 2).word(); });
  const char* const part = "a part of a payload that is none";
  says(part, [](OverflowPage& page) { ++page.bytes_here; });
  says(part, [](OverflowPage& page) {
    if (page.next_page != 0) --page.bytes_here;
    return page.next_page != 0;
  });
  says(part, [](OverflowPage& page) {
    if (page.next_page != 0) page.payload_bytes = page.bytes_here - 1;
    return page.next_page != 0;
  });
}

TEST(PageCheckTest, a_page_of_an_array_is_one) {
  const auto border = [](const char* rule, auto&& change) {
    expect_said<ArrayBorderPage>(PageKind::kArrayBorder, rule, change);
  };
  const auto interior = [](const char* rule, auto&& change) {
    expect_said<ArrayInteriorPage>(PageKind::kArrayInterior, rule, change);
  };
  border("records above the lowest level", [](ArrayBorderPage& page) { page.header.level = 1; });
  interior("a level of no array", [](ArrayInteriorPage& page) { page.header.level = 0; });
  interior("a level of no array",
           [](ArrayInteriorPage& page) { page.header.level = array::kLevelsMax + 1; });
  const auto both = [&](const char* rule, auto&& change) {
    border(rule, [&](ArrayBorderPage& page) { change(page.header); });
    interior(rule, [&](ArrayInteriorPage& page) { change(page.header); });
  };
  both("it counts keys, an array has none", [](PageHeader& page) { count(&page, 1); });
  both("it has flags or a layer", [](PageHeader& page) { page.flags = 1; });
  both("it has flags or a layer", [](PageHeader& page) { page.layer = 1; });
  both("it begins behind every array", [](PageHeader& page) { page.kind_word = kMaxArrayRecords; });
  interior("a pointer that leads nowhere", [](ArrayInteriorPage& page) {
    page.pointers[ArrayInteriorPage::kPointers - 1].store({{}, id_of(page.header)});
  });
}

TEST(PageCheckTest, records_of_an_array_are_quiet_or_were_never_written) {
  const array::ArrayShape& shape = array::shape_of(hostile::kArrayPayloadBytes);
  const Epoch newest = SoundPages::get().newest();
  const auto are_quiet = [&](auto&& change) {
    const auto copy = std::make_unique<PageBytes>();
    for (const auto& page : SoundPages::get().all()) {
      if (page->header()->kind == PageKind::kArrayBorder) *copy = *page;
    }
    auto& page = *copy->as<ArrayBorderPage>();
    change(array::record_at(&page, shape.records_per_page - 1, shape));
    return has_quiet_records(page, shape, newest);
  };
  const auto with = [](Tid tid) {
    return [tid](page::RecordHeader* record) { record->tid.store_relaxed(tid.word()); };
  };
  EXPECT_TRUE(are_quiet(with(Tid())));
  EXPECT_TRUE(are_quiet(with(Tid(newest, 1))));
  EXPECT_FALSE(are_quiet(with(Tid(Epoch(newest.number() + 1), 1))));
  EXPECT_FALSE(are_quiet(with(Tid(newest, 1).with(Tid::kDeleted))));
  EXPECT_FALSE(are_quiet(with(Tid(Epoch(), 1))));
  EXPECT_FALSE(are_quiet([](page::RecordHeader* record) {
    record->tid.store_relaxed(0);
    record->lock.store_relaxed(1);
  }));
  EXPECT_FALSE(are_quiet([&](page::RecordHeader* record) {
    record->tid.store_relaxed(Tid(newest, 1).word());
    record->lock.store_relaxed(1);
  }));
}

TEST(PageCheckTest, a_pointer_of_an_array_is_for_one_page) {
  for (const PageKind kind : {PageKind::kArrayBorder, PageKind::kArrayInterior}) {
    auto copy = std::make_unique<PageBytes>();
    for (const auto& page : SoundPages::get().all()) {
      if (page->header()->kind == kind) *copy = *page;
    }
    PageHeader& page = *copy->header();
    const page::StorageId other{static_cast<std::uint32_t>(page.storage_id) + 1};
    EXPECT_TRUE(array::is_page_of(page, page.storage_id, page.level, page.kind_word));
    EXPECT_FALSE(array::is_page_of(page, other, page.level, page.kind_word));
    EXPECT_FALSE(array::is_page_of(page, page.storage_id, page.level, page.kind_word + 1));
    EXPECT_FALSE(array::is_page_of(page, page.storage_id, page.level + 1u, page.kind_word));
    page.kind = PageKind::kHashBin;
    EXPECT_FALSE(array::is_page_of(page, page.storage_id, page.level, page.kind_word));
  }
}

}  // namespace
}  // namespace foedus::storage::page_check_test
