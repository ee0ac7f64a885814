#pragma once
// Changing payloads, for a commit.

#include "foedus-core/occ/txn_context.h"
#include "foedus-core/storage/masstree/layout/page.h"

namespace foedus::storage::masstree {

// storage/dispatch.h has the contracts of these two.
bool accepts(page::PagePool& pool, const occ::WriteEntry& entry);
void apply(occ::TxnContext& ctx, const occ::WriteEntry& entry);

// Retires the chain, if there is one, of a record that the caller is about to mark deleted.
// REQUIRES: the record's lock; its TID is stored next.
void purge_payload(occ::TxnContext& ctx, occ::StorageControl* control, BorderPage* page,
                   unsigned index);
// Makes the payload of a record, which is a chain of a snapshot, empty (M52). False: the record's
// lock is not free, or the record has moved.
bool forget_chain(BorderPage* page, unsigned index);

}  // namespace foedus::storage::masstree
