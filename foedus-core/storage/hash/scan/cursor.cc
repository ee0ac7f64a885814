#include "foedus-core/storage/hash/scan/cursor.h"

#include <algorithm>
#include <cstring>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/system/clock.h"
#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/occ/optimistic_read.h"
#include "foedus-core/occ/read_range.h"
#include "foedus-core/storage/base/overflow.h"
#include "foedus-core/storage/hash/bin.h"
#include "foedus-core/storage/hash/cold.h"
#include "foedus-core/storage/hash/find.h"
#include "foedus-core/storage/hash/layout/function.h"
#include "foedus-core/storage/hash/layout/page_check.h"
#include "foedus-core/storage/hash/storage.h"
#include "foedus-core/storage/hash/trie.h"
#include "foedus-core/storage/keyed/operations.h"
#include "foedus-core/storage/moves/own_writes.h"

namespace foedus::storage::hash {

namespace {

constexpr std::uint64_t kLastHash = ~std::uint64_t{0};

// Returns the last hash that begins with the first `bits` bits of `hash`.
std::uint64_t last_of(std::uint64_t hash, unsigned bits) { return hash | kLastHash >> bits; }

// Orders by hash, then by key, which is compared only if two hashes are equal.
constexpr auto kBefore = [](const auto& a, const auto& b) {
  return a.hash != b.hash ? a.hash < b.hash : a.key() < b.key();
};
constexpr auto kSameKey = [](const auto& a, const auto& b) {
  return a.hash == b.hash && a.key() == b.key();
};

}  // namespace

void Cursor::open(occ::TxnContext& ctx, occ::StorageControl* control) {
  close();
  ctx_ = &ctx;
  control_ = control;
  is_of_snapshot_ = false;
  at_end_ = false;
}

void Cursor::open_in_snapshot(occ::TxnContext& ctx, occ::StorageControl* control,
                              page::SnapshotPageId root) {
  this->open(ctx, control);
  is_of_snapshot_ = true;
  root_ = root;
}

void Cursor::close() {
  at_end_ = true;
  hash_ = 0;
  is_at_row_ = false;
  has_bin_ = false;
  key_.clear();
  payload_ = {};
  ahead_.reset();
  ctx_ = nullptr;
  control_ = nullptr;
}

Status Cursor::next() {
  if (at_end_) return {};
  Status status = move();
  if (!status.is_ok()) [[unlikely]]
    at_end_ = true;
  return status;
}

Status Cursor::move() {
  if (has_bin_ && !is_current()) has_bin_ = false;
  for (;;) {
    if (!has_bin_) FOEDUS_CHECK(take());
    while (has_bin_ && next_ != list_.size()) {
      bool arrived = false;
      const Listed& listed = list_[next_];
      FOEDUS_CHECK(read(listed, &arrived));
      if (!arrived) continue;
      ++next_;
      hash_ = listed.hash;
      key_.assign(listed.key());
      is_at_row_ = true;
      return {};
    }
    if (!has_bin_) continue;
    if (last_ == kLastHash) {
      at_end_ = true;
      return {};
    }
    has_bin_ = false;
    is_at_row_ = false;
    hash_ = last_ + 1;
  }
}

// Returns whether the list has all rows of the bin after the position, those that the transaction
// has inserted included.
bool Cursor::is_current() const {
  if (bin_ != nullptr) return bin_->header.load_version() == version_;
  return ctx_->sets().writes().state() == writes_;
}

// Returns whether the record lies after the position.
bool Cursor::is_ahead(const Listed& listed) const {
  if (listed.hash != hash_) return listed.hash > hash_;
  return !is_at_row_ || listed.key() > key_;
}

// ---- taking a bin -------------------------------------------------------------------------------

// Takes the bin of hash_, or the range of hashes around it that has no bin, and sets next_ to the
// first record after the position.
Status Cursor::take() {
  if (is_of_snapshot_) {
    FOEDUS_CHECK(take_of_snapshot());
  } else {
    base::SpinWait spin;
    for (unsigned tries = 0; !has_bin_; ++tries, spin.once()) {
      if (tries == occ::kReadTries) return keyed::tries_exhausted(*ctx_, control_, key_);
      FOEDUS_CHECK(try_take());
    }
  }
  FOEDUS_INVARIANT(last_ >= hash_, last_, hash_);
  writes_ = ctx_->sets().writes().state();
  const auto ahead = std::partition_point(
      list_.begin(), list_.end(), [this](const Listed& listed) { return !is_ahead(listed); });
  next_ = static_cast<std::size_t>(ahead - list_.begin());
  return {};
}

// Sets has_bin_, unless the bin was replaced or dropped, one of its records was moved meanwhile, or
// own writes have been found at other places than before.
Status Cursor::try_take() {
  HashBinPage* const bin = peek_bin(ctx_->pool(), control_, hash_);
  if (bin == nullptr) [[unlikely]]
    return take_cold();
  const page::PageVersion version = bin->header.load_version();
  if (version.is_gone()) return {};
  FOEDUS_SYNC_POINT("hash:scan_bin");
  if (!list_bin(bin)) return {};
  bool moved = false;
  // order: acquire. A record that came here from elsewhere was published after the birth was
  // stored, so the birth is at least as new as the records of the list.
  FOEDUS_CHECK(settle_own(moves::Birth(bin->birth.load_acquire()), &moved));
  if (moved) return {};
  FOEDUS_SYNC_POINT("hash:scan_listed");
  ctx_->sets().remember_page(&bin->header, version, control_);
  bin_ = bin;
  version_ = version;
  last_ = last_of(bin->prefix, bin->prefix_bits());
  has_bin_ = true;
  return {};
}

// Makes own writes name their records where these are now (Q2), if other sessions may have moved
// them to a page of this birth. Page-versions need not follow: an entry of a bin that was replaced
// is verified with the bins that replaced it, whether these have entries or not.
Status Cursor::settle_own(moves::Birth birth, bool* moved) {
  *moved = false;
  if (ctx_->sets().writes().is_empty()) return {};
  if (!birth.concerns(ctx_->begin_epoch(), ctx_->session())) return {};
  return moves::relocate_own(*ctx_, control_, birth.epoch(), &track_moved, &relocate, moved);
}

// Lists the records of a volatile bin. False: a record was moved meanwhile (H17).
bool Cursor::list_bin(HashBinPage* bin) {
  list_.clear();
  moved_.clear();
  for (HashBinPage* page = bin; page != nullptr; page = next_of(ctx_->pool(), page)) {
    list_page(page, &moved_);
    FOEDUS_SYNC_POINT("hash:scan_page");
  }
  return order_list(moved_);
}

// Adds the records of a page to the list, and those that are marked moved to `moved`.
void Cursor::list_page(HashBinPage* page, std::vector<Listed>* moved) {
  const std::uint32_t count = page->load_count();
  for (std::uint32_t place = 0; place < count; ++place) {
    const HashSlot slot = page->slot(place);
    page::RecordHeader* const record = page->record(slot);
    const std::string_view key(key_of(record), slot.key_bytes());
    std::vector<Listed>* const to = record->load_tid().is_moved() ? moved : &list_;
    to->push_back({hash_of(key), page, record, place, slot.key_bytes()});
  }
}

// Sorts the list. Returns whether it has each key once, those of `moved` included.
bool Cursor::order_list(const std::vector<Listed>& moved) {
  std::sort(list_.begin(), list_.end(), kBefore);
  if (std::adjacent_find(list_.begin(), list_.end(), kSameKey) != list_.end()) return false;
  return std::all_of(moved.begin(), moved.end(), [this](const Listed& listed) {
    return std::binary_search(list_.begin(), list_.end(), listed, kBefore);
  });
}

// ---- snapshot pages -----------------------------------------------------------------------------

// Takes the bin from the newest snapshot. Sets has_bin_, unless a page on the way is volatile by
// now, or own writes have been found at other places than before.
Status Cursor::take_cold() {
  {
    const occ::ColdReads reads(&ctx_->cold_pages());
    ColdRange range;
    const BinPlace place = find_cold_range(*ctx_, control_, hash_, &range);
    if (place.is_failed) return no_bin(*ctx_, control_);
    if (place.has_exhausted_tries) return keyed::tries_exhausted(*ctx_, control_, key_);
    if (!place.is_cold) return {};
    if (!load_bin(range.page, range.bits)) return no_bin(*ctx_, control_);
  }
  bool moved = false;
  FOEDUS_CHECK(settle_own(moves::birth_of_copy(*control_), &moved));
  has_bin_ = !moved;
  return {};
}

Status Cursor::take_of_snapshot() {
  const occ::ColdReads reads(&ctx_->cold_pages());
  has_bin_ = load_bin(root_, 0);
  return has_bin_ ? Status() : ctx_->no_page(control_);
}

// Copies and lists the bin of hash_ below page `id` of a snapshot, whose prefix has `bits` bits.
// False: TxnContext::no_page() says why.
bool Cursor::load_bin(page::SnapshotPageId id, unsigned bits) {
  bin_ = nullptr;
  list_.clear();
  copies_used_ = 0;
  for (;;) {
    last_ = last_of(hash_, bits);
    if (id.is_null()) return true;
    const page::PageHeader* const page = ctx_->cold_pages().page(id);
    if (page == nullptr) return false;
    if (is_bin_of(*page, control_->id(), bits, hash_)) return copy_bin(page);
    if (!is_interior_of(*page, control_->id(), bits)) {
      return ctx_->cold_pages().refuse(id) != nullptr;
    }
    const auto& interior = reinterpret_cast<const HashInteriorPage&>(*page);
    const std::uint32_t owner = interior.owner_of(interior.digit_of(hash_));
    bits = bits_below(interior, owner);
    id = interior.pointers[owner].load().snapshot_page;
    ahead_.look(&ctx_->cold_pages(), interior, owner);
  }
}

// Copies all pages of a bin and lists their records. False: TxnContext::no_page() says why.
bool Cursor::copy_bin(const page::PageHeader* page) {
  const BinIdentity identity(reinterpret_cast<const HashBinPage&>(*page));
  for (;;) {
    if (copies_used_ == copies_.size()) copies_.push_back(std::make_unique<page::PageBytes>());
    page::PageBytes* const copy = copies_[copies_used_++].get();
    std::memcpy(copy, static_cast<const void*>(page), page::kPageBytes);
    auto* const part = copy->as<HashBinPage>();
    list_page(part, &moved_);
    // order: relaxed, no other session can reach the copy.
    const page::SnapshotPageId next(part->next_page.load_relaxed());
    if (next.is_null()) break;
    page = ctx_->cold_pages().page(next);
    if (page == nullptr) return false;
    if (!is_part_of(*page, identity)) return ctx_->cold_pages().refuse(next) != nullptr;
  }
  std::sort(list_.begin(), list_.end(), kBefore);
  return true;
}

// ---- reading a row ------------------------------------------------------------------------------

template <typename ReadRange>
void Cursor::read_whole(ReadRange&& read_range) {
  for (;;) {
    occ::ReadRange range;
    range.out = buffer_.data();
    range.out_bytes = static_cast<std::uint32_t>(buffer_.size());
    if (!read_range(&range)) return;
    payload_ = {buffer_.data(), range.payload_bytes};
    if (range.payload_bytes <= buffer_.size()) return;
    buffer_.resize(range.payload_bytes);
  }
}

// Reads the payload of list_[next_]. *arrived: there is such a row. Otherwise passes the record, as
// it is deleted; or resets has_bin_, as the record has moved.
Status Cursor::read(const Listed& listed, bool* arrived) {
  if (bin_ == nullptr) {
    *arrived = true;
    return read_cold(listed);
  }
  const HashSlot slot = listed.page->slot(listed.place);
  occ::ReadOutcome found = occ::ReadOutcome::kAbsent;
  read_whole([&](occ::ReadRange* range) {
    found = read_payload(*ctx_, control_, listed.record, payload_of(listed.record, slot), range,
                         [&listed] { return listed.page->slot(listed.place).length(); });
    return found == occ::ReadOutcome::kPresent;
  });
  switch (found) {
    case occ::ReadOutcome::kPresent:
      *arrived = true;
      return {};
    case occ::ReadOutcome::kAbsent:
      ++next_;
      return {};
    case occ::ReadOutcome::kMoved:
      has_bin_ = false;
      return {};
    case occ::ReadOutcome::kConflict:
      return keyed::tries_exhausted(*ctx_, control_, listed.key());
  }
  FOEDUS_INVARIANT(false, found);
}

// Sets payload_ to the payload of a row of a snapshot.
Status Cursor::read_cold(const Listed& listed) {
  const HashSlot slot = listed.page->slot(listed.place);
  const char* const body = payload_of(listed.record, slot);
  if (!slot.is_chain()) {
    payload_ = {body, slot.length()};
    return {};
  }
  const std::uint64_t chain = load_overflow_id(body);
  bool is_read = false;
  read_whole([&](occ::ReadRange* range) {
    is_read = read_cold_overflow(*ctx_, control_->id(), chain, range);
    return is_read;
  });
  return is_read ? Status() : ctx_->no_page(control_);
}

}  // namespace foedus::storage::hash
