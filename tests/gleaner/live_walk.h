#pragma once
// LiveWalk: counts the pages below roots by visiting each one. It shares only the layouts with
// composers.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "foedus-core/page/overflow_page.h"
#include "foedus-core/page/page_header.h"
#include "foedus-core/snapshot/files/live_pages.h"
#include "foedus-core/storage/array/array_page.h"
#include "foedus-core/storage/hash/layout/page.h"
#include "foedus-core/storage/masstree/layout/page.h"
#include "foedus-core/storage/sequential/sequential_snapshot_page.h"

namespace foedus::gleaner {

class LiveWalk {
 public:
  // Returns the page of an id, which stays as long as the walk, or null if there is none.
  using Find = std::function<const page::PageHeader*(page::SnapshotPageId)>;

  explicit LiveWalk(Find find) : find_(std::move(find)) {}

  // Returns the counts that a manifest must have for the storage with this root.
  std::vector<snapshot::LivePages> count(page::SnapshotPageId root) {
    counts_.clear();
    walk(root);
    std::vector<snapshot::LivePages> live;
    for (const auto& [file, count] : counts_) live.push_back(count);
    return live;
  }
  // Returns the number of pages below all roots so far.
  std::size_t pages_seen() const { return seen_.size(); }

 private:
  using Id = page::SnapshotPageId;

  void walk(Id id) {
    if (id.is_null()) return;
    const page::PageHeader* const found = find_(id);
    ASSERT_NE(found, nullptr) << id.word();
    ASSERT_TRUE(seen_.insert(id.word()).second) << id.word() << " is reached twice";
    snapshot::LivePages& count = counts_[{id.snapshot(), id.soc()}];
    count.snapshot = id.snapshot();
    count.soc = id.soc();
    ++count.pages;
    if (found->kind == page::PageKind::kOverflow || found->layer != 0) ++count.below_records;
    look(const_cast<page::PageHeader*>(found));
  }

  void look(page::PageHeader* page) {
    switch (page->kind) {
      case page::PageKind::kArrayInterior:
        for (auto& pointer : reinterpret_cast<storage::array::ArrayInteriorPage*>(page)->pointers) {
          walk(pointer.load().snapshot_page);
        }
        return;
      case page::PageKind::kHashInterior:
        return look_at(as<storage::hash::HashInteriorPage>(page));
      case page::PageKind::kHashBin:
        return look_at(as<storage::hash::HashBinPage>(page));
      case page::PageKind::kMasstreeInterior: {
        auto* const interior = as<storage::masstree::InteriorPage>(page);
        for (unsigned i = 0; i <= page->load_version().keys(); ++i) {
          walk(interior->child(i).load().snapshot_page);
        }
        return;
      }
      case page::PageKind::kMasstreeBorder:
        return look_at(as<storage::masstree::BorderPage>(page));
      case page::PageKind::kSequentialHeads:
        return look_at(as<storage::sequential::SequentialRunsPage>(page));
      case page::PageKind::kOverflow:
        return walk(Id(as<page::OverflowPage>(page)->next_page));
      default:
        return;
    }
  }
  void look_at(storage::hash::HashInteriorPage* page) {
    for (std::uint32_t digit = 0; digit < page->kPointers; ++digit) {
      if (page->owner_of(digit) == digit) walk(page->pointers[digit].load().snapshot_page);
    }
  }
  void look_at(storage::hash::HashBinPage* page) {
    for (std::uint32_t i = 0; i < page->load_count(); ++i) {
      const storage::hash::HashSlot slot = page->slot(i);
      if (slot.is_chain()) walk_chain(storage::hash::payload_of(page->record(slot), slot));
    }
    walk(Id(page->next_page.load_relaxed()));
  }
  void look_at(storage::masstree::BorderPage* page) {
    for (unsigned i = 0; i < page->header.load_version().keys(); ++i) {
      const storage::masstree::Slot slot = page->slot(i);
      if (slot.is_layer()) walk(page->layer_pointer(slot)->load().snapshot_page);
      if (slot.is_snapshot_overflow()) walk_chain(page->payload(slot));
    }
  }
  void look_at(storage::sequential::SequentialRunsPage* page) {
    walk(page->full_page);
    for (std::uint32_t i = 0; i < page->run_count; ++i) {
      const storage::sequential::SequentialRun& run = page->runs[i];
      for (std::uint32_t j = 0; j < run.page_count; ++j) walk(run.first_page.plus(j));
    }
  }

  void walk_chain(const char* body) {
    std::uint64_t id;
    std::memcpy(&id, body, sizeof(id));
    walk(Id(id));
  }
  template <typename Page>
  static Page* as(page::PageHeader* page) {
    return reinterpret_cast<Page*>(page);
  }

  const Find find_;
  std::map<std::pair<page::SnapshotNumber, std::uint32_t>, snapshot::LivePages> counts_;
  std::set<std::uint64_t> seen_;
};

// Checks the counts of the composers of one storage, whose pages are in memory.
template <typename Pages>
class LiveCheck {
 public:
  snapshot::PageAccounting* begin() {
    accounting_ = {};
    return &accounting_;
  }
  const std::vector<snapshot::LivePages>& live() const { return live_; }
  // Sets the counts after pages were changed without composers.
  void set_live(std::vector<snapshot::LivePages> live) {
    live_ = std::move(live);
    accounting_ = {};
  }
  // Ends the checks, because the test will change pages without the composers.
  void end() { is_at_end_ = true; }
  void expect_counted(const Pages& pages, page::SnapshotPageId root) {
    if (is_at_end_) return;
    const Status status = accounting_.apply_to(&live_);
    ASSERT_TRUE(status.is_ok()) << status.message();
    LiveWalk walk([&pages](page::SnapshotPageId id) { return pages.at(id); });
    const std::vector<snapshot::LivePages> expected = walk.count(root);
    ASSERT_EQ(live_.size(), expected.size());
    for (std::size_t i = 0; i < live_.size(); ++i) {
      ASSERT_EQ(live_[i], expected[i])
          << static_cast<std::uint32_t>(expected[i].snapshot) << '-' << expected[i].soc << ": "
          << live_[i].pages << " of " << expected[i].pages << ", below records "
          << live_[i].below_records << " of " << expected[i].below_records;
    }
  }

 private:
  snapshot::PageAccounting accounting_;
  std::vector<snapshot::LivePages> live_;
  bool is_at_end_ = false;
};

}  // namespace foedus::gleaner
