#pragma once
// Makes volatile copies of snapshot pages (H9). Other sessions cannot reach them yet.

#include <new>

#include "foedus-core/storage/base/install.h"
#include "foedus-core/storage/hash/bin.h"
#include "foedus-core/storage/hash/layout/page_check.h"
#include "foedus-core/storage/moves/birth.h"

namespace foedus::storage::hash {

// Sets the birth of a bin that was copied or made at first touch (storage/moves/birth.h, Q3).
void give_birth(const PageSource& source, HashBinPage* bin);
// Takes back a page that was never reachable; of a bin, all its pages.
void release_page(const PageSource& source, page::PageHeader* page);

// Copies one page, of either kind, as the snapshot has it. Null: out of pages.
page::PageHeader* copy_page(const PageSource& source, const page::PageHeader* cold);
// Copies a page of a bin. `head`: the copy of the bin's first page, or null if `cold` is that page.
// Null: out of pages.
HashBinPage* copy_bin_page(const PageSource& source, const page::PageHeader* cold,
                           const HashBinPage* head);

// Copies the bin that begins with `cold`, to *head. False: only some of its pages are copied, for
// one of the reasons of copy_cold().
template <typename Read>
bool copy_bin(const PageSource& source, const page::PageHeader* cold, page::SnapshotPageId* wrong,
              Read&& read, HashBinPage** head) {
  const BinIdentity identity(reinterpret_cast<const HashBinPage&>(*cold));
  HashBinPage* last = nullptr;
  for (;;) {
    HashBinPage* const part = copy_bin_page(source, cold, *head);
    if (part == nullptr) return false;
    // order: all relaxed, no other session can reach them yet.
    const page::SnapshotPageId next(part->next_page.load_relaxed());
    part->next_page.store_relaxed(0);
    if (*head == nullptr) *head = part;
    if (last != nullptr) last->next_page.store_relaxed(part->header.page_id);
    last = part;
    if (next.is_null()) return true;
    cold = read(next);
    if (cold == nullptr) return false;
    if (!is_part_of(*cold, identity)) {
      *wrong = next;
      return false;
    }
  }
}

// Copies the page `id` of a snapshot; of a bin, all pages. read(id) returns the page or null, and
// the page is looked at only until the next call (O14). is_right(page) returns whether the pointer
// may lead to that page. Null: read() returned null, or no page is free, or the pages are wrong:
// then *wrong is the id of one that is another page than the pointer to it is for.
template <typename Read, typename IsRight>
page::PageHeader* copy_cold(const PageSource& source, page::SnapshotPageId id,
                            page::SnapshotPageId* wrong, Read&& read, IsRight&& is_right) {
  *wrong = {};
  const page::PageHeader* const cold = read(id);
  if (cold == nullptr) return nullptr;
  if (cold->storage_id != source.control->id() || !is_right(*cold)) {
    *wrong = id;
    return nullptr;
  }
  if (cold->kind == page::PageKind::kHashInterior) return copy_page(source, cold);
  HashBinPage* head = nullptr;
  bool is_whole = false;
  try {
    is_whole = copy_bin(source, cold, wrong, read, &head);
  } catch (const std::bad_alloc&) {  // thrown by read()
    release_bin(source, head);
    throw;
  }
  if (is_whole) {
    give_birth(source, head);
    return &head->header;
  }
  release_bin(source, head);
  return nullptr;
}

}  // namespace foedus::storage::hash
