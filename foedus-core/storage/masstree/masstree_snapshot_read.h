#pragma once
// Reading the pages of a snapshot, from its root or from where volatile pages end: nothing is
// remembered, because nothing there changes. Pages are sorted, ranges exact, no record is deleted
// or moved; every pointer has a page.

#include <cstdint>
#include <string_view>

#include "foedus-core/occ/storage_control.h"
#include "foedus-core/occ/txn_context.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/storage/masstree/masstree_page.h"

namespace foedus::storage::masstree {

// What there is for a key in the layers of a snapshot.
struct ColdSpot {
  BorderPage* page = nullptr;          // const; valid as TxnContext::cold_page() says
  unsigned index = BorderPage::kNone;  // kNone: no record of this key
  Slot slot;
};

// The page of that id, which is one of this storage's tree. Null: it cannot be read,
// TxnContext::no_page() says why.
TreePage* tree_page_in_snapshot(occ::TxnContext& ctx, const occ::StorageControl* control,
                                page::SnapshotPageId id);

// Looks for `rest` from page `id` of a layer on, through the layers below. Null: nothing is there.
// False: a page cannot be read.
bool find_in_snapshot(occ::TxnContext& ctx, const occ::StorageControl* control,
                      page::SnapshotPageId id, std::string_view rest, ColdSpot* spot);

// Copies what `range` wants of a record's payload, inline or a chain. False: a page of the chain
// cannot be read.
bool read_in_snapshot(occ::TxnContext& ctx, BorderPage* page, Slot slot, occ::ReadRange* range);

// Copies the part of the payload that `range` asks for, as it is in the snapshot in which the
// storage has `root`. kNotFound. kIoError, kCorruption, kOutOfMemory: a page cannot be read.
Status get_in_snapshot(occ::TxnContext& ctx, occ::StorageControl* control,
                       page::SnapshotPageId root, std::string_view key, occ::ReadRange* range);

}  // namespace foedus::storage::masstree
