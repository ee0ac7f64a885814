#include "foedus-core/storage/hash/find.h"

#include "foedus-core/base/system/clock.h"
#include "foedus-core/occ/optimistic_read.h"
#include "foedus-core/occ/read_range.h"
#include "foedus-core/storage/base/overflow.h"
#include "foedus-core/storage/hash/insert.h"
#include "foedus-core/storage/hash/layout/function.h"
#include "foedus-core/storage/hash/snapshot_read.h"
#include "foedus-core/storage/hash/storage.h"
#include "foedus-core/storage/hash/trie.h"
#include "foedus-core/storage/keyed/operations.h"
#include "foedus-core/storage/moves/own_writes.h"

namespace foedus::storage::hash {

namespace {

// Returns whether the transaction's own entries may be out of date, because another session has
// moved records to the found bin since it began. *birth: the birth of that bin.
bool needs_relocation(occ::TxnContext& ctx, const occ::StorageControl* control,
                      const KeyPosition& found, moves::Birth* birth) {
  if (ctx.sets().writes().is_empty() && ctx.sets().pages().is_empty()) return false;
  if (found.is_cold) [[unlikely]] {
    *birth = moves::birth_of_copy(*control);
  } else {
    // order: acquire. A record that came here from elsewhere was published after the birth was
    // stored, so the birth is at least as new as the record that was found.
    *birth = moves::Birth(found.bin->birth.load_acquire());
  }
  return birth->concerns(ctx.begin_epoch(), ctx.session());
}

// Replaces entry `i` of the page-version set, whose bin has moved, by entries of the successors as
// they were born. REQUIRES: the entry was true when the bin moved. If both bins of a merge were
// remembered, `first` has an entry already: then the two become one, and entries after `i` may
// change places. `second`: null if there is one successor.
void follow_version(occ::TxnContext& ctx, std::size_t i, HashBinPage* first, HashBinPage* second) {
  occ::PageSet& set = ctx.sets().pages();
  occ::StorageControl* const control = set.entries()[i].storage;
  const page::PageVersion birth(first->header.birth_version);
  occ::PageEntry* const known = set.find(&first->header);
  if (known == nullptr || known->page != &first->header) {
    set.repoint(&set.entries()[i], &first->header, birth);
  } else {
    known->observed = birth;
    set.entries()[i] = set.entries().back();
    set.entries().pop_back();
    if (i < set.entries().size()) {
      const occ::PageEntry last = set.entries()[i];
      set.repoint(&set.entries()[i], last.page, last.observed);
    }
  }
  if (second == nullptr) return;
  set.add(&second->header, page::PageVersion(second->header.birth_version), control);
}

// Replaces the page-version of a moved bin by those of its successors as they were born. Returns
// false if entry `i` is of no moved bin of this storage, or does not hold: then it stays. A
// successor may have an entry of a later version, which says nothing of keys that came before.
bool follow_page(occ::TxnContext& ctx, occ::StorageControl* control, std::size_t i) {
  if (i == ctx.sets().pages().entries().size()) return false;
  const occ::PageEntry entry = ctx.sets().pages().entries()[i];
  if (entry.storage != control) return false;
  auto* const bin = reinterpret_cast<HashBinPage*>(entry.page);
  if (!bin->header.load_version().is_moved() || !page_still_holds(ctx.pool(), entry)) return false;
  // order: relaxed twice, stored before the moved flag.
  HashBinPage* const first = bin_of(ctx.pool(), bin->successors[0].load_relaxed());
  const std::uint64_t second_id = bin->successors[1].load_relaxed();
  follow_version(ctx, i, first, second_id == 0 ? nullptr : bin_of(ctx.pool(), second_id));
  return true;
}

}  // namespace

void follow_pages(occ::TxnContext& ctx, occ::StorageControl* control) {
  // The loop also comes to the entries that follow_page() adds.
  for (std::size_t i = 0; i < ctx.sets().pages().entries().size(); ++i) {
    while (follow_page(ctx, control, i)) {
    }
  }
}

Status no_bin(occ::TxnContext& ctx, occ::StorageControl* control) {
  const bool is_there = !control->is_dropped() && !control->root.load().is_null();
  if (is_there) return ctx.no_page(control);
  ctx.cold_pages().forget_failure();
  return std::move(Status(ErrorCode::kNotFound).at_storage(control->meta.name));
}

namespace {

// Sets *bin to the volatile bin in which the search goes on. Null with kOk: the search has ended in
// a snapshot, and found->is_cold is set.
Status search_cold(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                   std::uint64_t hash, Intent intent, KeyPosition* found, occ::ReadRange* range,
                   HashBinPage** bin) {
  const occ::ColdReads reads(&ctx.cold_pages());
  const BinPlace place = find_cold_bin(ctx, control, hash, intent);
  if (place.is_failed) return no_bin(ctx, control);
  if (place.has_exhausted_tries) return keyed::tries_exhausted(ctx, control, key);
  *bin = place.bin;
  if (!place.is_cold) return {};
  *bin = nullptr;
  *found = {};
  found->is_cold = true;
  if (place.bin == nullptr) return {};
  FOEDUS_INVARIANT(range != nullptr, intent);
  const bool is_read = read_cold(ctx, place.bin, hash, key, range, &found->is_cold_found);
  return is_read ? Status() : no_bin(ctx, control);
}

}  // namespace

Status search(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
              std::uint64_t hash, Intent intent, KeyPosition* found, occ::ReadRange* range) {
  base::SpinWait spin;
  for (unsigned i = 0; i < occ::kReadTries; ++i) {
    HashBinPage* bin = peek_bin(ctx.pool(), control, hash);
    if (bin == nullptr) [[unlikely]] {
      FOEDUS_CHECK(search_cold(ctx, control, key, hash, intent, found, range, &bin));
      if (bin == nullptr) return {};
    }
    found->version = bin->header.load_version();
    if (!found->version.is_gone() &&
        search_bin(ctx.pool(), bin, hash, key, found) != Search::kUnsettled) [[likely]] {
      return {};
    }
    spin.once();
  }
  return ctx.conflict(ConflictReason::kRetryBound, control, key);
}

Status look_up(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
               std::uint64_t hash, Intent intent, KeyPosition* found, occ::ReadRange* range) {
  bool moved = true;
  while (moved) {
    FOEDUS_CHECK(search(ctx, control, key, hash, intent, found, range));
    moves::Birth birth(0);
    if (!needs_relocation(ctx, control, *found, &birth)) [[likely]]
      return {};
    FOEDUS_CHECK(relocate_own(ctx, control, birth.epoch(), &moved));
  }
  return {};
}

bool look_up_live(page::PagePool& pool, const occ::StorageControl* control, std::string_view key,
                  std::uint64_t hash, KeyPosition* found) {
  for (base::SpinWait spin;; spin.once()) {
    HashBinPage* const bin = peek_bin(pool, control, hash);
    found->bin = bin;
    if (bin == nullptr) return false;
    found->version = bin->header.load_version();
    const Search result = search_bin(pool, bin, hash, key, found);
    if (result == Search::kFound) return true;
    // If the bin was replaced while it was searched, its record may be in a successor alone, so the
    // search starts again. The holder of the bin's lock never waits for a record's lock (O1), so
    // this ends. If the holder has no processor, the search sleeps.
    if (result == Search::kMissing && !bin->header.load_version().is_gone()) return false;
  }
}

Status relocate_own(occ::TxnContext& ctx, occ::StorageControl* control, Epoch birth, bool* moved) {
  FOEDUS_CHECK(moves::relocate_own(ctx, control, birth, &track_moved, &relocate, moved));
  follow_pages(ctx, control);
  return {};
}

}  // namespace foedus::storage::hash
