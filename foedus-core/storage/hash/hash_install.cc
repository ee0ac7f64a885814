#include "foedus-core/storage/hash/hash_install.h"

#include <bit>
#include <optional>

#include "foedus-core/base/sync_point.h"
#include "foedus-core/occ/install.h"
#include "foedus-core/occ/record_lock.h"
#include "foedus-core/storage/hash/hash_drop.h"
#include "foedus-core/storage/hash/hash_trie.h"

namespace foedus::storage::hash {

namespace {

using page::SnapshotPageId;

constexpr std::uint32_t kDigits = HashInteriorPage::kPointers;

// What an interior page of the snapshot says, copied, for the page is not kept (O14).
struct ColdInterior {
  std::uint8_t owners[kDigits];
  SnapshotPageId pages[kDigits];  // of owners

  std::uint32_t owner_of(std::uint32_t digit) const { return owners[digit]; }
};

// What a snapshot has below a pointer, or what nobody knows to match with a volatile page.
enum class Cold : std::uint8_t { kNothing, kInterior, kOther };

template <typename Interior>
std::uint32_t span_at(const Interior& page, std::uint32_t digit) {
  std::uint32_t end = digit;
  while (end < kDigits && page.owner_of(end) == digit) ++end;
  return end - digit;
}

// The snapshot page of digits [digit, digit + span), null if no record is there; none: the
// snapshot's pages there have other prefixes.
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
  explicit Installer(const occ::Installation& installation)
      : installation_(installation),
        cold_pages_(occ::cold_pages_of(installation)),
        subtree_(installation) {}

  Status run(SnapshotPageId root) {
    if (root.is_null()) return {};
    return below(&installation_.control->root, nullptr, 0, root);
  }
  const occ::InstallCounts& counts() const { return counts_; }

 private:
  // `pointer` is that of `bits` bits of the hash, as `snapshot` is.
  Status below(page::DualPagePointer* pointer, HashInteriorPage* holder, unsigned bits,
               SnapshotPageId snapshot) {
    page::PageHeader* const locked = holder == nullptr ? nullptr : &holder->header;
    for (;;) {
      const page::DualPageIds before = pointer->load();
      if (before.volatile_page.is_null()) {
        // A session may make it volatile meanwhile. Empty then and now: nobody asks for an id.
        const bool is_done = snapshot.is_null() || before.snapshot_page == snapshot;
        if (is_done) return {};
        const page::DualPageIds after{page::VolatilePageId(), snapshot};
        if (occ::change_pointer(pointer, locked, before, after)) return {};
        continue;
      }
      if (is_unused(holder, before)) return {};
      page::PageHeader* const page = installation_.pool->resolve(before.volatile_page);
      if (!set_snapshot(pointer, before, bits, snapshot)) {
        if (pointer->load_volatile() != before.volatile_page) continue;  // replaced
        ++counts_.pages_kept;  // spread behind our look at the owners
        return {};
      }
      FOEDUS_SYNC_POINT("hash:installed");
      const std::uint64_t kept = counts_.pages_kept;
      if (page->kind == page::PageKind::kHashInterior) {
        FOEDUS_CHECK(children(reinterpret_cast<HashInteriorPage*>(page), snapshot));
      }
      const bool dropped =
          counts_.pages_dropped < installation_.pages_to_drop &&
          subtree_.try_drop(pointer, locked, page, snapshot, &counts_.pages_dropped);
      counts_.pages_kept = dropped ? kept : counts_.pages_kept + 1;
      return {};
    }
  }

  Status children(HashInteriorPage* page, SnapshotPageId snapshot) {
    ColdInterior interior;
    FOEDUS_TRY(const Cold cold, load(snapshot, &interior));
    for (std::uint32_t digit = 0; digit < kDigits; ++digit) {
      const std::uint32_t span = span_at(*page, digit);
      if (span == 0) continue;
      std::optional<SnapshotPageId> child;
      if (cold == Cold::kNothing) child = SnapshotPageId();
      if (cold == Cold::kInterior) child = page_of_digits(interior, digit, span);
      page::DualPagePointer* const pointer = &page->pointers[digit];
      const unsigned bits = page->header.flags + kDigitBits -
                            static_cast<unsigned>(std::countr_zero(span));
      if (child.has_value()) {
        FOEDUS_CHECK(below(pointer, page, bits, *child));
      } else {
        leave_alone(pointer, page, bits);
      }
    }
    return {};
  }

  Result<Cold> load(SnapshotPageId snapshot, ColdInterior* interior) {
    if (snapshot.is_null()) return Cold::kNothing;
    const occ::ColdReads reads(&cold_pages_);
    Status status;
    const page::PageHeader* const read = cold_pages_.page(snapshot, &status);
    if (read == nullptr) return status;
    if (read->kind != page::PageKind::kHashInterior) return Cold::kOther;
    const auto* const cold = reinterpret_cast<const HashInteriorPage*>(read);
    for (std::uint32_t i = 0; i < kDigits; ++i) {
      interior->owners[i] = static_cast<std::uint8_t>(cold->owner_of(i));
      interior->pages[i] = cold->pointers[i].load().snapshot_page;
    }
    return Cold::kInterior;
  }

  // Of a page that the snapshot has no page for.
  void leave_alone(page::DualPagePointer* pointer, HashInteriorPage* holder, unsigned bits) {
    const page::DualPageIds before = pointer->load();
    if (before.volatile_page.is_null() || is_unused(holder, before)) return;
    if (!before.snapshot_page.is_null()) set_snapshot(pointer, before, bits, {});
    ++counts_.pages_kept;
  }

  // False: the page is not the one of these bits any more. H2: a pointer to a bin is changed under
  // the bin's lock only.
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
    // The bin is the one that the pointer leads to, and only we change the other half.
    return before == after || pointer->compare_exchange(before, after);
  }

  // H6.
  static bool is_unused(const HashInteriorPage* holder, const page::DualPageIds& ids) {
    return holder != nullptr && ids.volatile_page == holder->header.volatile_id();
  }

  const occ::Installation& installation_;
  occ::ColdPages cold_pages_;
  Subtree subtree_;
  occ::InstallCounts counts_;
};

}  // namespace

Result<occ::InstallCounts> install(const occ::Installation& installation,
                                   page::SnapshotPageId root) {
  Installer installer(installation);
  FOEDUS_CHECK(installer.run(root));
  return installer.counts();
}

}  // namespace foedus::storage::hash
