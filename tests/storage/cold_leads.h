#pragma once
// Ids of snapshot pages that pages of Master-Trees and hash storages name: those below a page of a
// snapshot, and those that volatile pages name, while no session changes them (O16).

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

#include "foedus-core/page/overflow_page.h"
#include "foedus-core/page/page_pool.h"
#include "foedus-core/storage/array/array_page.h"
#include "foedus-core/storage/hash/layout/page.h"
#include "foedus-core/storage/masstree/layout/page.h"
#include "tests/gleaner/compose/memory_pages.h"

namespace foedus::storage {

// Ids in one page: of other pages, and of payloads in snapshots.
struct Leads {
  std::vector<page::DualPageIds> pages;
  std::vector<page::SnapshotPageId> chains;

  void add_chain(const char* body) {
    std::uint64_t word;
    std::memcpy(&word, body, sizeof(word));
    chains.emplace_back(word);
  }
};

inline Leads leads_of_border(masstree::BorderPage* page) {
  Leads leads;
  const unsigned keys = page->header.load_version().keys();
  for (unsigned i = 0; i < keys; ++i) {
    const masstree::Slot slot = page->slot(i);
    if (slot.is_layer()) {
      leads.pages.push_back(page->layer_pointer(slot)->load());
    } else if (slot.is_snapshot_overflow() && !page->record(slot)->load_tid().is_deleted()) {
      leads.add_chain(page->payload(slot));
    }
  }
  return leads;
}

inline Leads leads_of_tree_page(masstree::TreePage* page) {
  if (page->header.load_version().is_moved()) {
    Leads leads;
    for (const auto* twin : {&page->foster_minor, &page->foster_major}) {
      const page::VolatilePageId id(twin->load_relaxed());
      if (!id.is_null()) leads.pages.push_back({id, {}});
    }
    return leads;
  }
  if (page->is_border()) return leads_of_border(masstree::BorderPage::of(page));
  Leads leads;
  masstree::InteriorPage* const interior = masstree::InteriorPage::of(page);
  const unsigned keys = page->header.load_version().keys();
  for (unsigned i = 0; i <= keys; ++i) leads.pages.push_back(interior->child(i).load());
  return leads;
}

inline Leads leads_of_bin(hash::HashBinPage* page, bool is_cold) {
  Leads leads;
  for (std::uint32_t place = 0; place < page->load_count(); ++place) {
    const hash::HashSlot slot = page->slot(place);
    const page::Tid tid = page->record(slot)->load_tid();
    const bool is_named = slot.length() == page::kSnapshotOverflowLength;
    if (is_named && !tid.is_deleted() && !tid.is_moved()) {
      leads.add_chain(hash::payload_of(page->record(slot), slot));
    }
  }
  const std::uint64_t next = page->next_page.load_relaxed();
  if (next == 0) return leads;
  if (is_cold) leads.pages.push_back({{}, page::SnapshotPageId(next)});
  if (!is_cold) leads.pages.push_back({page::VolatilePageId(next), {}});
  return leads;
}

inline Leads leads_of(page::PageHeader* page, bool is_cold) {
  Leads leads;
  switch (page->kind) {
    case page::PageKind::kMasstreeBorder:
    case page::PageKind::kMasstreeInterior:
      return leads_of_tree_page(masstree::TreePage::of(page));
    case page::PageKind::kHashBin:
      return leads_of_bin(reinterpret_cast<hash::HashBinPage*>(page), is_cold);
    case page::PageKind::kHashInterior: {
      auto* const interior = reinterpret_cast<hash::HashInteriorPage*>(page);
      for (std::uint32_t i = 0; i < hash::HashInteriorPage::kPointers; ++i) {
        const page::DualPageIds ids = interior->pointers[i].load();
        const bool is_unused = !is_cold && ids.volatile_page == page->volatile_id();
        if (interior->owner_of(i) == i && !is_unused) leads.pages.push_back(ids);
      }
      return leads;
    }
    case page::PageKind::kArrayInterior:
      for (const page::DualPagePointer& pointer :
           reinterpret_cast<array::ArrayInteriorPage*>(page)->pointers) {
        leads.pages.push_back(pointer.load());
      }
      return leads;
    case page::PageKind::kArrayBorder:
      return leads;
    default:
      ADD_FAILURE() << static_cast<unsigned>(page->kind);
      return leads;
  }
}

class ColdLeads {
 public:
  ColdLeads(page::PagePool* pool, const gleaner::MemoryPages* pages)
      : pool_(*pool), pages_(*pages) {}

  // Allows all ids below a root.
  void allow(page::SnapshotPageId id) {
    if (id.is_null() || !allowed_.insert(id.word()).second) return;
    auto* const page = const_cast<page::PageHeader*>(pages_.at(id));
    ASSERT_NE(page, nullptr) << id.word();
    const Leads leads = leads_of(page, true);
    for (const page::DualPageIds& ids : leads.pages) allow(ids.snapshot_page);
    for (const page::SnapshotPageId chain : leads.chains) allowed_.insert(chain.word());
  }

  // Allows any ids of payloads: a record that a delta supersedes keeps the id of its old payload
  // while the file is there (storage/masstree/operations/delta.h).
  void allow_all_chains() { allows_all_chains_ = true; }

  // Checks that volatile pages below a pointer name allowed ids only. Counts the ids.
  void check(const page::DualPageIds& ids) {
    if (ids.volatile_page.is_null()) return expect(ids.snapshot_page);
    const Leads leads = leads_of(pool_.resolve(ids.volatile_page), false);
    for (const page::DualPageIds& below : leads.pages) check(below);
    if (allows_all_chains_) return;
    for (const page::SnapshotPageId chain : leads.chains) expect(chain);
  }

  std::uint64_t names() const { return names_; }

 private:
  void expect(page::SnapshotPageId id) {
    if (id.is_null()) return;
    ++names_;
    EXPECT_TRUE(allowed_.contains(id.word()))
        << "page " << id.page() << " of snapshot " << static_cast<std::uint32_t>(id.snapshot());
  }

  page::PagePool& pool_;
  const gleaner::MemoryPages& pages_;
  std::set<std::uint64_t> allowed_;
  std::uint64_t names_ = 0;
  bool allows_all_chains_ = false;
};

}  // namespace foedus::storage
