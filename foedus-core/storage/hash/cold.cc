#include "foedus-core/storage/hash/cold.h"

#include <bit>
#include <new>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/occ/optimistic_read.h"
#include "foedus-core/storage/base/install.h"
#include "foedus-core/storage/base/overflow.h"
#include "foedus-core/storage/hash/copy.h"
#include "foedus-core/storage/hash/snapshot_read.h"
#include "foedus-core/storage/hash/trie.h"

namespace foedus::storage::hash {

namespace {

HashInteriorPage* interior_of(page::PageHeader* page) {
  return reinterpret_cast<HashInteriorPage*>(page);
}
HashBinPage* as_bin(page::PageHeader* page) { return reinterpret_cast<HashBinPage*>(page); }

std::uint64_t prefix_of(std::uint64_t hash, unsigned bits) {
  return hash & (~std::uint64_t{0} << (kHashBits - bits));
}

std::uint32_t span_at(const HashInteriorPage* page, std::uint32_t digit) {
  std::uint32_t end = digit;
  while (end < HashInteriorPage::kPointers && page->owner_of(end) == digit) {
    FOEDUS_SYNC_POINT("hash:span");
    ++end;
  }
  return end - digit;
}

// Returns the place by which an entry of the pointer set is verified: if both halves are null, the
// number of digits that the pointer owns (H18).
std::uint64_t place_of(const page::DualPageIds& ids, std::uint32_t span) {
  return ids.is_null() ? span : 0;
}

// A pointer whose volatile half is null, and its range of digits, as they were seen (H10).
struct ColdPointer {
  page::DualPagePointer* pointer;
  HashInteriorPage* holder;  // null: the root
  page::DualPageIds ids;
  std::uint32_t owner;  // index of the pointer in `holder`
  std::uint32_t span;   // digits that it owns

  // Returns the bits after which the page below spreads, or that the bin below has.
  unsigned bits() const {
    if (holder == nullptr) return 0;
    return holder->header.flags + kDigitBits - static_cast<unsigned>(std::countr_zero(span));
  }
};

class ColdSearch {
 public:
  // `range`: needed with Intent::kScan.
  ColdSearch(occ::TxnContext& ctx, occ::StorageControl* control, std::uint64_t hash,
             ColdRange* range = nullptr)
      : ctx_(ctx),
        source_(source_of(ctx, control)),
        control_(control),
        hash_(hash),
        range_(range) {}

  BinPlace run(Intent intent) {
    base::SpinWait spin;
    for (unsigned i = 0; i < occ::kReadTries; ++i, spin.once()) {
      BinPlace place;
      const Step step = attempt(intent, &place);
      if (step == Step::kFailed) return {.is_failed = true};
      if (step == Step::kDone) return place;
    }
    return {.has_exhausted_tries = true};
  }
  void prefetch() {
    BinPlace place;
    static_cast<void>(attempt(Intent::kPrefetch, &place));
  }

 private:
  enum class Step : std::uint8_t { kDone, kAgain, kFailed };

  Step attempt(Intent intent, BinPlace* place) {
    page::DualPagePointer* pointer = &control_->root;
    HashInteriorPage* holder = nullptr;
    for (;;) {
      const std::uint32_t digit = holder == nullptr ? 0 : holder->digit_of(hash_);
      const std::uint32_t owner = holder == nullptr ? 0 : holder->owner_of(digit);
      if (holder != nullptr) pointer = &holder->pointers[owner];
      const page::DualPageIds ids = pointer->load();
      page::PageHeader* page = nullptr;
      if (!ids.volatile_page.is_null()) {
        page = source_.pool->resolve(ids.volatile_page);
      } else {
        if (control_->is_dropped()) return Step::kFailed;
        const std::uint32_t span = holder == nullptr ? 0 : span_at(holder, owner);
        const ColdPointer cold{pointer, holder, ids, owner, span};
        if (!is_still(cold)) return Step::kAgain;
        if (holder == nullptr && ids.is_null()) return Step::kFailed;
        if (intent == Intent::kScan) return scan(cold, place);
        if (intent != Intent::kWrite && !ids.snapshot_page.is_null()) return read(cold, place);
        if (intent == Intent::kPrefetch) return Step::kDone;
        const Step made = materialize(cold, &page);
        if (made != Step::kDone) return made;
      }
      if (page->kind == page::PageKind::kHashInterior) {
        holder = interior_of(page);
        continue;
      }
      // The bin may have been replaced or dropped since the load of the pointer. Or the owner that
      // was read is older than the pointer, and the bin is of other digits (H2).
      HashBinPage* bin = as_bin(page);
      if (!bin->covers(hash_)) return Step::kAgain;
      while (bin->header.load_version().is_moved()) bin = successor_of(*source_.pool, bin, hash_);
      place->bin = bin;
      return bin->header.load_version().is_dropped() ? Step::kAgain : Step::kDone;
    }
  }

  // Takes the second look (H10): at the pointer, and at all that it owns. A span that is no power
  // of two was seen while it changed.
  bool is_still(const ColdPointer& cold) const {
    if (cold.pointer->load() != cold.ids) return false;
    if (cold.holder == nullptr) return true;
    return std::has_single_bit(cold.span) &&
           cold.holder->owner_of(cold.holder->digit_of(hash_)) == cold.owner &&
           span_at(cold.holder, cold.owner) == cold.span;
  }

  void remember(const ColdPointer& cold) {
    FOEDUS_SYNC_POINT("hash:cold_read");
    ctx_.sets().remember_pointer(cold.pointer,
                                 cold.holder == nullptr ? nullptr : &cold.holder->header, cold.ids,
                                 control_, place_of(cold.ids, cold.span));
  }

  Step scan(const ColdPointer& cold, BinPlace* place) {
    remember(cold);
    place->is_cold = true;
    *range_ = {cold.ids.snapshot_page, cold.bits()};
    return Step::kDone;
  }

  Step read(const ColdPointer& cold, BinPlace* place) {
    remember(cold);
    place->is_cold = true;
    const bool is_found =
        find_in_snapshot(ctx_, control_, cold.ids.snapshot_page, cold.bits(), hash_, &place->bin);
    return is_found ? Step::kDone : Step::kFailed;
  }

  // Makes the page volatile (H9). Of several sessions that try, one wins. kAgain: another one won,
  // or the interior page that has the pointer was moved or dropped.
  Step materialize(const ColdPointer& cold, page::PageHeader** page) {
    page::PageHeader* const made = cold.ids.snapshot_page.is_null() ? make_first(cold) : copy(cold);
    if (made == nullptr) return Step::kFailed;
    const std::size_t reads = ctx_.sets().reads().size();
    const std::size_t pointers = ctx_.sets().pointers().size();
    const bool followed = ctx_.sets().pointers().has(cold.pointer, cold.ids);
    const auto give_back = [&] {
      ctx_.sets().forget_since(reads, pointers);
      release_page(source_, made);
    };
    try {
      if (followed) take_over(made);
    } catch (const std::bad_alloc&) {
      give_back();
      throw;
    }
    FOEDUS_SYNC_POINT("hash:before_install");
    if (!install(cold, made)) {
      give_back();
      return Step::kAgain;
    }
    if (followed) {
      ctx_.sets().pointers().remove(cold.pointer, cold.ids);
      // The bin's birth_version counts the records of the copy, which are those that the
      // transaction has read. Its version may count more by now.
      const bool is_bin = made->kind == page::PageKind::kHashBin;
      if (is_bin) ctx_.sets().remember_page(made, page::PageVersion(made->birth_version), control_);
    }
    *page = made;
    return Step::kDone;
  }

  // Installs the page (O10). A pointer that has the ids that were seen may have had others
  // meanwhile: another bin may have been installed, written to, spread and dropped since `made` was
  // made. Each install and each drop takes the lock of the holder. So under this lock `made` gets
  // its birth (Q3), and the digits that the pointer owns are looked at again (H10).
  bool install(const ColdPointer& cold, page::PageHeader* made) {
    const page::DualPageIds after{made->volatile_id(), cold.ids.snapshot_page};
    if (cold.holder == nullptr) return cold.pointer->compare_exchange(cold.ids, after);
    const occ::LockGuard guard(&cold.holder->header.lock);
    if (cold.holder->header.load_version().is_gone()) return false;
    if (!is_still(cold)) return false;
    if (made->kind == page::PageKind::kHashBin) give_birth(source_, as_bin(made));
    return cold.pointer->compare_exchange(cold.ids, after);
  }

  // Copies the snapshot page. Null: TxnContext::no_page() says why.
  page::PageHeader* copy(const ColdPointer& cold) {
    const unsigned bits = cold.bits();
    page::SnapshotPageId wrong;
    page::PageHeader* const made = copy_cold(
        source_, cold.ids.snapshot_page, &wrong,
        [this](page::SnapshotPageId id) { return ctx_.cold_pages().page(id); },
        [&](const page::PageHeader& page) {
          return is_interior_of(page, control_->id(), bits) ||
                 is_bin_of(page, control_->id(), bits, hash_);
        });
    if (!wrong.is_null()) return ctx_.cold_pages().refuse(wrong);
    return made;
  }

  // Makes the page of a pointer whose halves are both null: an interior page while there are fewer
  // levels of them than first_levels_of() asks for, otherwise a bin.
  page::PageHeader* make_first(const ColdPointer& cold) {
    const FirstLevels first = first_levels_of(control_);
    const page::PageHeader& parent = cold.holder->header;
    if (parent.level > 1 && cold.span == 1) {
      const std::uint32_t level = parent.level - 1u;
      HashInteriorPage* const made = make_interior(source_, level, parent.flags + kDigitBits,
                                                   level > 1 ? kDigitBits : first.lowest_bits);
      return made == nullptr ? nullptr : &made->header;
    }
    const unsigned bits = cold.bits();  // H7: by the digits that the pointer owns
    HashBinPage* const made = make_bin_page(source_, prefix_of(hash_, bits), bits, nullptr);
    if (made == nullptr) return nullptr;
    give_birth(source_, made);
    return &made->header;
  }

  // Adds the pointers of an interior page, or the records of a bin, to the access sets (H9). The
  // version of the bin is added after the installation. REQUIRES: no other session can reach
  // `page`, so it is as the transaction read it.
  void take_over(page::PageHeader* page) {
    if (page->kind == page::PageKind::kHashInterior) {
      HashInteriorPage* const interior = interior_of(page);
      for (std::uint32_t i = 0; i < HashInteriorPage::kPointers; ++i) {
        if (interior->owner_of(i) != i) continue;
        page::DualPagePointer* const pointer = &interior->pointers[i];
        const page::DualPageIds ids = pointer->load();
        ctx_.sets().remember_pointer(pointer, page, ids, control_,
                                     place_of(ids, span_at(interior, i)));
      }
      return;
    }
    for (HashBinPage* part = as_bin(page); part != nullptr; part = next_of(*source_.pool, part)) {
      const std::uint32_t count = part->load_count();
      for (std::uint32_t i = 0; i < count; ++i) {
        page::RecordHeader* const record = part->record(part->slot(i));
        ctx_.sets().remember_read(record, record->load_tid(), control_);
      }
    }
  }

  occ::TxnContext& ctx_;
  const PageSource source_;
  occ::StorageControl* const control_;
  const std::uint64_t hash_;
  ColdRange* const range_;
};

}  // namespace

BinPlace find_cold_bin(occ::TxnContext& ctx, occ::StorageControl* control, std::uint64_t hash,
                       Intent intent) {
  return ColdSearch(ctx, control, hash).run(intent);
}

BinPlace find_cold_range(occ::TxnContext& ctx, occ::StorageControl* control, std::uint64_t hash,
                         ColdRange* range) {
  return ColdSearch(ctx, control, hash, range).run(Intent::kScan);
}

void prefetch_cold_bin(occ::TxnContext& ctx, occ::StorageControl* control, std::uint64_t hash) {
  const occ::ColdPrefetch prefetch(&ctx.cold_pages());
  const std::size_t pointers = ctx.sets().pointers().size();
  ColdSearch(ctx, control, hash).prefetch();
  ctx.sets().forget_since(ctx.sets().reads().size(), pointers);  // nothing was read
  ctx.cold_pages().forget_failure();
}

}  // namespace foedus::storage::hash
