// Checks pages of hash storages against storage/hash/layout/page.h (H1, H7): each level of the trie
// takes the next seven bits of the hash. Each bin has the keys of its prefix, in the order of hash
// and key.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "foedus-core/storage/hash/layout/function.h"
#include "foedus-core/storage/hash/layout/page.h"
#include "foedus/options.h"
#include "tools/foedus/preview.h"
#include "tools/foedus/verify/page_walk.h"

namespace foedus::cli {

namespace {

using page::PageBytes;
using page::PageKind;
using page::SnapshotPageId;
using storage::hash::HashBinPage;
using storage::hash::HashInteriorPage;
using storage::hash::HashSlot;
using storage::hash::kDigitBits;
using storage::hash::kHashBits;

constexpr std::uint32_t kDigits = HashInteriorPage::kPointers;

struct Prefix {
  std::uint64_t value = 0;  // the other bits are zero
  unsigned bits = 0;
};

// State after the records of a bin that were checked so far, over all of its pages.
struct BinState {
  SnapshotPageId head;
  Prefix prefix;
  std::uint64_t records = 0;
  std::uint64_t hash = 0;  // of the last one
  std::string key;
};

class HashWalk {
 public:
  explicit HashWalk(PageWalk* walk) : walk_(*walk) {}

  void run() {
    const auto block = std::make_unique<PageBytes>();
    const SnapshotPageId root = walk_.storage().root;
    if (!walk_.enter(root, SnapshotPageId(), block.get())) return lose(Prefix());
    interior(root, block.get(), Prefix(), 0xff);
  }

 private:
  void interior(SnapshotPageId id, PageBytes* block, const Prefix& prefix, std::uint32_t level_max);
  void child(SnapshotPageId id, SnapshotPageId from, const Prefix& prefix, bool may_be_interior,
             std::uint32_t level);
  void bin(SnapshotPageId head, PageBytes* block, const Prefix& prefix);
  bool bin_page(SnapshotPageId id, HashBinPage& page, BinState* state);
  bool record(SnapshotPageId id, HashBinPage& page, std::uint32_t place, std::uint32_t* end,
              BinState* state);
  void give(SnapshotPageId id, HashBinPage& page);
  void lose(const Prefix& prefix, std::uint64_t from = 0);

  PageWalk& walk_;
};

void HashWalk::interior(SnapshotPageId id, PageBytes* block, const Prefix& prefix,
                        std::uint32_t level_max) {
  auto& page = *block->as<HashInteriorPage>();
  const std::uint32_t level = page.header.level;
  const bool is_interior = page.header.kind == PageKind::kHashInterior && level >= 1;
  const std::uint64_t before = walk_.problems();
  if (!walk_.expect(is_interior, id, "it is no interior page of a hash storage")) {
    return lose(prefix);
  }
  walk_.expect(level <= level_max, id, "its level is above that of the page over it");
  if (page.header.flags != prefix.bits) {
    walk_.problem(id, "it spreads by the bits behind bit " + std::to_string(page.header.flags) +
                          "; in its place are those behind bit " + std::to_string(prefix.bits));
  }
  if (page.header.flags != prefix.bits || walk_.must_lose(before)) return lose(prefix);
  walk_.counts().levels = std::max(walk_.counts().levels, prefix.bits / kDigitBits + 1);
  for (std::uint32_t digit = 0; digit < kDigits;) {
    std::uint32_t span = 0;
    while (digit + span < kDigits && page.owner_of(digit + span) == digit) ++span;
    const bool is_bin = std::has_single_bit(span) && digit % span == 0 && span < kDigits;
    if (!walk_.expect(is_bin, id, "its owners are no prefixes of bins")) {
      // The bins of the digits before were visited, and the others begin here.
      const std::uint64_t left = std::uint64_t{digit} << (kHashBits - kDigitBits - prefix.bits);
      return lose(prefix, prefix.value | left);
    }
    const std::uint64_t pointers_before = walk_.problems();
    for (std::uint32_t i = 0; i < span; ++i) {
      const page::DualPageIds ids = page.pointers[digit + i].load();
      walk_.expect(ids.volatile_page.is_null(), id, "a pointer to a volatile page");
      const bool may_lead = i == 0 || ids.snapshot_page.is_null();
      walk_.expect(may_lead, id, "a pointer of a digit that another one owns");
    }
    const SnapshotPageId below = page.pointers[digit].load().snapshot_page;
    const std::uint64_t part = std::uint64_t{digit} << (kHashBits - kDigitBits - prefix.bits);
    const unsigned more = kDigitBits - static_cast<unsigned>(std::countr_zero(span));
    const Prefix longer{prefix.value | part, prefix.bits + more};
    digit += span;
    if (walk_.must_lose(pointers_before)) {
      lose(longer);
    } else if (!below.is_null()) {
      child(below, id, longer, span == 1, level);
    }
  }
}

void HashWalk::child(SnapshotPageId id, SnapshotPageId from, const Prefix& prefix,
                     bool may_be_interior, std::uint32_t level) {
  const auto block = std::make_unique<PageBytes>();
  if (!walk_.enter(id, from, block.get())) return lose(prefix);
  if (block->header()->kind != PageKind::kHashInterior) return bin(id, block.get(), prefix);
  const bool can_spread = may_be_interior && prefix.bits < storage::hash::kPrefixBitsMax;
  if (!walk_.expect(can_spread, id, "an interior page where only bins can be")) {
    return lose(prefix);
  }
  interior(id, block.get(), prefix, level);
}

void HashWalk::bin(SnapshotPageId head, PageBytes* block, const Prefix& prefix) {
  const std::uint64_t expected = block->header()->load_version().keys();
  BinState state{head, prefix, 0, 0, {}};
  SnapshotPageId id = head;
  for (;;) {
    // A page has the rows behind those of the page before it.
    const std::uint64_t from = state.hash;
    const std::uint64_t before = walk_.problems();
    const bool is_sound = walk_.is_of(id, *block, PageKind::kHashBin, 0) &&
                          bin_page(id, *block->as<HashBinPage>(), &state);
    if (!is_sound || walk_.must_lose(before)) return lose(prefix, from);
    give(id, *block->as<HashBinPage>());
    // order: relaxed, no other thread has the page.
    const SnapshotPageId next(block->as<HashBinPage>()->next_page.load_relaxed());
    if (next.is_null()) break;
    if (!walk_.enter(next, id, block)) return lose(prefix, state.hash);
    id = next;
  }
  if ((state.records & 0xffff) == expected) return;
  walk_.problem(head, "it counts " + std::to_string(expected) + " keys, its bin has " +
                          std::to_string(state.records));
}

// Returns false if the rest of the bin cannot be checked.
bool HashWalk::bin_page(SnapshotPageId id, HashBinPage& page, BinState* state) {
  const bool is_part = page.prefix == state->prefix.value &&
                       page.prefix_bits() == state->prefix.bits && page.head == state->head.word();
  if (!walk_.expect(is_part, id, "its prefix or its first page is that of another bin")) {
    return false;
  }
  const std::uint32_t count = page.load_count();
  if (!walk_.expect(count <= HashBinPage::kRecordsMax, id, "more records than a page can have")) {
    return false;
  }
  std::uint32_t end = HashBinPage::kDataOffset;
  for (std::uint32_t place = 0; place < count; ++place) {
    if (!record(id, page, place, &end, state)) return false;
  }
  return walk_.expect(end == page.data_end, id, "its records do not end where it says");
}

bool HashWalk::record(SnapshotPageId id, HashBinPage& page, std::uint32_t place, std::uint32_t* end,
                      BinState* state) {
  const HashSlot slot = page.slot(place);
  const std::uint32_t slots_begin =
      page::kPageBytes - page.load_count() * static_cast<std::uint32_t>(sizeof(HashSlot));
  const std::uint32_t bytes = storage::hash::record_bytes_of(slot.key_bytes(), slot.room());
  const bool fits = slot.offset() == *end && slot.key_bytes() <= kMaxKeyBytes &&
                    slot.room() % 8 == 0 && *end + bytes <= slots_begin &&
                    slot.body_bytes() <= slot.room() && slot.length() != page::kOverflowLength;
  const std::string which = "record " + std::to_string(place);
  if (!walk_.expect(fits, id, which + " has an impossible place or length")) return false;
  *end += bytes;

  const page::RecordHeader* const header = page.record(slot);
  walk_.check_tid(id, header->load_tid(), place);
  const std::string_view key(storage::hash::key_of(header), slot.key_bytes());
  const std::uint64_t hash = storage::hash::hash_of(key);
  walk_.expect(page.covers(hash), id, which + " belongs to another bin by its hash");
  const std::uint64_t tags =
      page.tags[place / HashBinPage::kTagsPerWord].load_relaxed();  // order: relaxed, own page
  const unsigned shift = place % HashBinPage::kTagsPerWord * HashBinPage::kTagBits;
  walk_.expect(((tags >> shift) & 0xffff) == (hash & 0xffff), id, which + " has a wrong tag");
  const bool is_behind =
      state->records == 0 ||
      std::pair(state->hash, std::string_view(state->key)) < std::pair(hash, key);
  walk_.expect(is_behind, id, which + " is not behind the one before it");
  state->records += 1;
  state->hash = hash;
  state->key = key;
  walk_.counts().records += 1;
  if (!slot.is_chain()) walk_.counts().payload_bytes += slot.length();
  return true;
}

// Hands on the rows of a page, with the chains of large payloads. REQUIRES: bin_page() has found
// the places of all records to be good.
void HashWalk::give(SnapshotPageId id, HashBinPage& page) {
  for (std::uint32_t place = 0; place < page.load_count(); ++place) {
    const HashSlot slot = page.slot(place);
    page::RecordHeader* const record = page.record(slot);
    const std::string_view key(storage::hash::key_of(record), slot.key_bytes());
    const char* const body = payload_of(record, slot);
    if (!slot.is_chain()) {
      walk_.give({key, 0, {body, slot.length()}});
      continue;
    }
    std::uint64_t first = 0;
    std::memcpy(&first, body, sizeof(first));
    const auto payload = walk_.chain(SnapshotPageId(first), id);
    if (payload.has_value()) {
      walk_.give({key, 0, *payload});
    } else {
      walk_.lose({"key \"" + preview(key) + '"'});
    }
  }
}

// Says that the rows of a prefix are lost whose hash is `from` or above.
void HashWalk::lose(const Prefix& prefix, std::uint64_t from) {
  const std::uint64_t last =
      prefix.bits == 0 ? ~std::uint64_t{0} : prefix.value | (~std::uint64_t{0} >> prefix.bits);
  char words[80];
  std::snprintf(words, sizeof(words), "keys whose hash is 0x%016llx to 0x%016llx",
                static_cast<unsigned long long>(std::max(from, prefix.value)),
                static_cast<unsigned long long>(last));
  walk_.lose({words});
}

}  // namespace

void verify_hash(PageWalk* walk) { HashWalk(walk).run(); }

}  // namespace foedus::cli
