#pragma once
// Changing payloads, for a commit.

#include "foedus-core/occ/txn_context.h"
#include "foedus-core/storage/masstree/layout/page.h"

namespace foedus::storage::masstree {

// Whether apply() can: the payload has room, the offset is inside. REQUIRES: the record is locked
// by the caller and has not moved. False: the record is not what the call that wrote it found.
bool accepts(page::PagePool& pool, const occ::WriteEntry& entry);
// Changes the payload as the log record says, and leaves the TID alone. REQUIRES: accepts(), the
// record is locked and marked being-written.
void apply(occ::TxnContext& ctx, const occ::WriteEntry& entry);

// Gives away the chain of a record that is going to say deleted, if it has one.
// REQUIRES: the record's lock; its TID is stored next.
void purge_payload(occ::TxnContext& ctx, occ::StorageControl* control, BorderPage* page,
                   unsigned index);
// M52. The record's payload, a chain of a snapshot, becomes empty. False: it is in use.
bool forget_chain(BorderPage* page, unsigned index);

}  // namespace foedus::storage::masstree
