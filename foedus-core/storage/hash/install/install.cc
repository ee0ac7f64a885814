#include "foedus-core/storage/hash/install/install.h"

#include <bit>
#include <optional>

#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/occ/record_lock.h"
#include "foedus-core/storage/base/install.h"
#include "foedus-core/storage/base/install_team.h"
#include "foedus-core/storage/base/overflow.h"
#include "foedus-core/storage/hash/copy.h"
#include "foedus-core/storage/hash/install/drop.h"
#include "foedus-core/storage/hash/layout/function.h"
#include "foedus-core/storage/hash/trie.h"

namespace foedus::storage::hash {

namespace {

using page::SnapshotPageId;

// A copy of an interior page of the snapshot, because the page itself is not kept (O14).
struct ColdInterior {
  std::uint8_t owners[kDigits];
  SnapshotPageId pages[kDigits];  // by digit, for owners alone

  std::uint32_t owner_of(std::uint32_t digit) const { return owners[digit]; }
};

// The page that a snapshot has below a pointer to a volatile interior page. kOther: a bin, which
// matches none of the volatile pages below.
enum class Cold : std::uint8_t { kNothing, kInterior, kOther };

template <typename Interior>
std::uint32_t span_at(const Interior& page, std::uint32_t digit) {
  std::uint32_t end = digit;
  while (end < kDigits && page.owner_of(end) == digit) ++end;
  return end - digit;
}

// Returns the snapshot page of digits [digit, digit + span), or a null id if the snapshot has no
// record there. Returns nullopt if the snapshot's pages there have other prefixes.
std::optional<SnapshotPageId> page_of_digits(const ColdInterior& cold, std::uint32_t digit,
                                             std::uint32_t span) {
  const std::uint32_t first = cold.owner_of(digit);
  if (first == digit && span_at(cold, digit) == span) return cold.pages[digit];
  for (std::uint32_t i = first; i < digit + span; ++i) {
    if (!cold.pages[i].is_null()) return std::nullopt;
  }
  return SnapshotPageId();
}

class Installer {
 public:
  explicit Installer(const Installation& installation)
      : installation_(installation),
        source_{installation.pool, installation.pages, installation.control, installation.soc},
        cold_pages_(cold_pages_of(installation)),
        subtree_(installation) {}

  Status run(SnapshotPageId root) {
    if (root.is_null()) return {};
    root_ = root;
    return below(&installation_.control->root, nullptr, 0, root);
  }
  const InstallCounts& own_counts() const { return counts_; }
  InstallCounts counts() const { return whole_counts(installation_, counts_); }

 private:
  bool drops() { return counts_.wants_more(installation_); }
  // Returns whether unchanged pages are looked at too, to drop them or to clear their CLOCK
  // reference bits.
  bool looks_at_all() { return installation_.spares_used || drops(); }

  // Installs `snapshot` at `pointer`, and the pages below it. `snapshot` and the volatile page
  // there have the same prefix, of `bits` bits.
  Status below(page::DualPagePointer* pointer, HashInteriorPage* holder, unsigned bits,
               SnapshotPageId snapshot) {
    page::PageHeader* const locked = holder == nullptr ? nullptr : &holder->header;
    for (;;) {
      const page::DualPageIds before = pointer->load();
      FOEDUS_SYNC_POINT("hash:install_looked");
      if (before.volatile_page.is_null()) {
        // A session may make the page volatile meanwhile: it copies this snapshot page, or makes an
        // empty bin if both ids are null. The pointer needs no change.
        if (before.snapshot_page == snapshot) return {};
        // The pointer leads to rows of an earlier snapshot that no session has touched, and the new
        // one lacks them, because a page was damaged. So the earlier snapshot is still needed.
        if (snapshot.is_null()) {
          counts_.may_need_earlier = true;
          return {};
        }
        const page::DualPageIds after{page::VolatilePageId(), snapshot};
        if (change_pointer(pointer, locked, before, after)) return {};
        continue;
      }
      if (is_unused(holder, before)) return {};
      page::PageHeader* const page = installation_.pool->resolve(before.volatile_page);
      if (!set_snapshot(pointer, before, bits, snapshot)) {
        if (pointer->load_volatile() != before.volatile_page) continue;  // replaced
        ++counts_.pages_kept;  // the bin spread meanwhile
        counts_.may_need_earlier = true;
        return {};
      }
      const bool is_same = before.snapshot_page == snapshot;
      if (is_same && !looks_at_all() && installation_.is_unchanged(snapshot)) {
        counts_.has_passed_over = true;
        return {};
      }
      FOEDUS_SYNC_POINT("hash:installed");
      const std::uint64_t kept = counts_.pages_kept;
      const std::uint64_t spared = counts_.pages_spared;
      if (page->kind == page::PageKind::kHashInterior) {
        FOEDUS_CHECK(children(reinterpret_cast<HashInteriorPage*>(page), snapshot));
      } else {
        FOEDUS_CHECK(name_chains(reinterpret_cast<HashBinPage*>(page)));
        if (installation_.spares(page)) ++counts_.pages_spared;
      }
      const bool dropped =
          spared == counts_.pages_spared && drops() &&
          subtree_.try_drop(pointer, locked, page, snapshot, &counts_.pages_dropped);
      counts_.pages_kept = dropped ? kept : counts_.pages_kept + 1;
      return {};
    }
  }

  Status children(HashInteriorPage* page, SnapshotPageId snapshot) {
    ColdInterior interior;
    FOEDUS_TRY(const Cold cold, load(snapshot, page->header.flags, &interior));
    const auto visit = [&](Installer& installer, const Digit& at) -> Status {
      std::optional<SnapshotPageId> child;
      if (cold == Cold::kNothing) child = SnapshotPageId();
      if (cold == Cold::kInterior) child = page_of_digits(interior, at.digit, at.span);
      page::DualPagePointer* const pointer = &page->pointers[at.digit];
      return child.has_value() ? installer.below(pointer, page, at.bits, *child)
                               : installer.leave_alone(pointer, page, at.bits);
    };
    return for_each_child(page, visit);
  }

  // A child of an interior page.
  struct Digit {
    std::uint32_t digit;
    std::uint32_t span;
    unsigned bits;
  };
  // Visits each child. The children of the root are dealt out to threads if there are enough pages
  // (O19). A bin that sessions merge meanwhile may have digits that the walk has passed, and names
  // (O16) that it has not come to. Then an owner has changed, and may_need_earlier is set.
  template <typename Visit>
  Status for_each_child(HashInteriorPage* page, Visit&& visit) {
    std::uint8_t owners[kDigits];
    for (std::uint32_t i = 0; i < kDigits; ++i) {
      owners[i] = static_cast<std::uint8_t>(page->owner_of(i));
    }
    const auto visit_digit = [&](Installer& installer, std::size_t digit) -> Status {
      const auto first = static_cast<std::uint32_t>(digit);
      const std::uint32_t span = span_at(*page, first);
      if (span == 0) return {};
      const unsigned bits =
          page->header.flags + kDigitBits - static_cast<unsigned>(std::countr_zero(span));
      FOEDUS_SYNC_POINT("hash:install_child");
      return visit(installer, Digit{first, span, bits});
    };
    if (page->header.flags == 0 && installation_.is_shared()) {
      InstallTeam<Installer> team(installation_, counts_);
      FOEDUS_CHECK(team.run(
          kDigits, [&](std::size_t digit) { return page->pointers[digit].load_volatile().soc(); },
          [&](Installer& installer, std::size_t digit) {
            installer.root_ = root_;
            return visit_digit(installer, digit);
          },
          &counts_));
    } else {
      for (std::uint32_t digit = 0; digit < kDigits; ++digit) {
        FOEDUS_CHECK(visit_digit(*this, digit));
      }
    }
    for (std::uint32_t i = 0; i < kDigits; ++i) {
      if (page->owner_of(i) != owners[i]) counts_.may_need_earlier = true;
    }
    return {};
  }

  Result<Cold> load(SnapshotPageId snapshot, unsigned bits, ColdInterior* interior) {
    if (snapshot.is_null()) return Cold::kNothing;
    const occ::ColdReads reads(&cold_pages_);
    const page::PageHeader* const read = cold_pages_.page(snapshot);
    if (read == nullptr) return cold_pages_.take_failure();
    const page::StorageId storage = installation_.control->id();
    const bool is_bin = read->kind == page::PageKind::kHashBin && read->storage_id == storage;
    if (is_bin) return Cold::kOther;
    if (!is_interior_of(*read, storage, bits)) return occ::not_that_page(snapshot);
    const auto* const cold = reinterpret_cast<const HashInteriorPage*>(read);
    for (std::uint32_t i = 0; i < kDigits; ++i) {
      interior->owners[i] = static_cast<std::uint8_t>(cold->owner_of(i));
      interior->pages[i] = cold->pointers[i].load().snapshot_page;
    }
    return Cold::kInterior;
  }

  // Keeps the volatile page at `pointer`, which no page of the snapshot matches. Where the pointer,
  // or one below it, leads to a page of an earlier snapshot, makes that page volatile (O16).
  Status leave_alone(page::DualPagePointer* pointer, HashInteriorPage* holder, unsigned bits) {
    page::DualPageIds ids = pointer->load();
    FOEDUS_SYNC_POINT("hash:install_looked");
    if (ids.is_null() || is_unused(holder, ids)) return {};
    if (ids.volatile_page.is_null()) {
      FOEDUS_TRY(page::PageHeader* const made, copy(ids.snapshot_page, bits));
      const page::DualPageIds after{made == nullptr ? page::VolatilePageId() : made->volatile_id(),
                                    SnapshotPageId()};
      if (made == nullptr || !change_pointer(pointer, &holder->header, ids, after)) {
        if (made != nullptr) release_page(source_, made);
        counts_.may_need_earlier = true;
        return {};
      }
      FOEDUS_SYNC_POINT("hash:install_copied");
      ids = after;
    }
    if (!ids.snapshot_page.is_null() && !set_snapshot(pointer, ids, bits, {})) {
      counts_.may_need_earlier = true;
    }
    ++counts_.pages_kept;
    page::PageHeader* const page = installation_.pool->resolve(ids.volatile_page);
    if (page->kind == page::PageKind::kHashBin) {
      return name_chains(reinterpret_cast<HashBinPage*>(page));
    }
    auto* const interior = reinterpret_cast<HashInteriorPage*>(page);
    return for_each_child(interior, [&](Installer& installer, const Digit& at) {
      return installer.leave_alone(&interior->pointers[at.digit], interior, at.bits);
    });
  }

  // Copies a snapshot page. Null: out of pages.
  Result<page::PageHeader*> copy(SnapshotPageId id, unsigned bits) {
    const occ::ColdReads reads(&cold_pages_);
    SnapshotPageId wrong;
    page::PageHeader* const made = copy_cold(
        source_, id, &wrong, [&](SnapshotPageId cold) { return cold_pages_.page(cold); },
        [&](const page::PageHeader& cold) {
          return cold.flags == bits && (cold.kind == page::PageKind::kHashInterior ||
                                        cold.kind == page::PageKind::kHashBin);
        });
    if (cold_pages_.has_failed()) return cold_pages_.take_failure();
    if (!wrong.is_null()) return occ::not_that_page(wrong);
    return made;
  }

  // Changes records that name their payload's chain in a file of an earlier snapshot: they get the
  // chain of the same payload in the new one (O16).
  Status name_chains(HashBinPage* bin) {
    std::uint32_t seen = 0;
    bool saw_moved = false;
    HashBinPage* page = bin;
    do {
      const std::uint32_t count = page->load_count();
      seen += count;
      for (std::uint32_t place = 0; place < count; ++place) {
        const auto is_named = [&] {
          return page->slot(place).length() == page::kSnapshotOverflowLength;
        };
        if (!is_named()) continue;
        page::RecordHeader* const record = page->record(page->slot(place));
        char* const body = payload_of(record, page->slot(place));
        if (installation_.has_file_of(SnapshotPageId(load_overflow_id(body)))) continue;
        FOEDUS_TRY(const SnapshotPageId chain, cold_chain(key_at(record)));
        if (rename_chain(record, body, chain, is_named)) continue;
        const bool has_moved = record->load_tid().is_moved();
        saw_moved |= has_moved;
        if (!has_moved) counts_.may_need_earlier = true;
      }
      page = next_of(*source_.pool, page);
    } while (page != nullptr);
    FOEDUS_SYNC_POINT("hash:install_named");
    if (saw_moved && !has_records(bin, seen)) counts_.may_need_earlier = true;
    if (bin->header.load_version().is_gone()) counts_.may_need_earlier = true;
    return {};
  }

  // Returns whether the bin still has `count` records, moved ones included. If so, none was added
  // since name_chains() walked over them. So it has come to the copy of each record that moved
  // within the bin, and the name in the moved record is never read (H4).
  bool has_records(HashBinPage* bin, std::uint32_t count) {
    const occ::LockGuard guard(&bin->header.lock);
    std::uint32_t all = 0;
    for (HashBinPage* page = bin; page != nullptr; page = next_of(*source_.pool, page)) {
      all += page->load_count();
    }
    return all == count;
  }

  // Returns the chain that has the payload of `key` in the new snapshot; null: there is none.
  Result<SnapshotPageId> cold_chain(std::string_view key) {
    const occ::ColdReads reads(&cold_pages_);
    const page::StorageId storage = installation_.control->id();
    const std::uint64_t hash = hash_of(key);
    std::optional<BinIdentity> identity;  // of the bin; set by its first page
    unsigned bits = 0;
    for (SnapshotPageId id = root_; !id.is_null();) {
      const page::PageHeader* const read = cold_pages_.page(id);
      if (read == nullptr) return cold_pages_.take_failure();
      if (!identity.has_value() && is_interior_of(*read, storage, bits)) {
        const auto* const interior = reinterpret_cast<const HashInteriorPage*>(read);
        const std::uint32_t owner = interior->owner_of(interior->digit_of(hash));
        bits = bits_below(*interior, owner);
        id = interior->pointers[owner].load().snapshot_page;
        continue;
      }
      const bool is_right = identity.has_value() ? is_part_of(*read, *identity)
                                                 : is_bin_of(*read, storage, bits, hash);
      if (!is_right) return occ::not_that_page(id);
      identity.emplace(reinterpret_cast<const HashBinPage&>(*read));
      auto* const bin = reinterpret_cast<HashBinPage*>(const_cast<page::PageHeader*>(read));
      KeyPosition found;
      bool saw_moved = false;
      if (search_page(bin, hash, key, &found, &saw_moved)) {
        const HashSlot slot = found.slot();
        if (slot.length() != page::kSnapshotOverflowLength) break;
        return SnapshotPageId(load_overflow_id(payload_of(found.record, slot)));
      }
      id = SnapshotPageId(bin->next_page.load_relaxed());  // order: relaxed, it never changes
    }
    return SnapshotPageId();
  }

  // Sets the snapshot half of a pointer, if it leads to a bin under the bin's lock (H2). False: the
  // pointer has changed, or the bin has another number of bits by now.
  bool set_snapshot(page::DualPagePointer* pointer, const page::DualPageIds& before, unsigned bits,
                    SnapshotPageId snapshot) {
    const page::DualPageIds after{before.volatile_page, snapshot};
    page::PageHeader* const page = installation_.pool->resolve(before.volatile_page);
    if (page->kind == page::PageKind::kHashInterior) {
      return before == after || pointer->compare_exchange(before, after);
    }
    const occ::LockGuard guard(&page->lock);
    const auto* const bin = reinterpret_cast<HashBinPage*>(page);
    if (page->load_version().is_gone() || bin->prefix_bits() != bits) return false;
    // Under the bin's lock no session changes the volatile half, and only the installer changes the
    // other one. So this cannot fail.
    const bool is_set = pointer->compare_exchange(before, after);
    FOEDUS_INVARIANT(is_set, page->page_id, snapshot.word());
    return true;
  }

  // Returns whether the pointer leads to its own page (H6).
  static bool is_unused(const HashInteriorPage* holder, const page::DualPageIds& ids) {
    return holder != nullptr && ids.volatile_page == holder->header.volatile_id();
  }

  const Installation& installation_;
  const PageSource source_;
  occ::ColdPages cold_pages_;
  Subtree subtree_;
  SnapshotPageId root_;
  InstallCounts counts_;
};

}  // namespace

Result<InstallCounts> install(const Installation& installation, page::SnapshotPageId root) {
  Installer installer(installation);
  FOEDUS_CHECK(installer.run(root));
  return installer.counts();
}

}  // namespace foedus::storage::hash
