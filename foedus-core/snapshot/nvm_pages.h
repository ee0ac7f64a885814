#pragma once
// NvmPages, the NVM cache tier: pages of the SSD tier that are kept on non-volatile memory. They
// lie in slots of one file, and are found again after a restart (Van Renen et al., SIGMOD'18, §4).
// Below it are the extents of the SSD (device/tiers/tiered_device.h), above it the page cache in
// DRAM.
//
// A page has a set of slots that it may lie in, by the hash of its id: one in each way of the file.
// It gets a slot when it is read from the SSD. That is a free one. If there is none, and the page
// was read not long ago (the admission set), it is the slot of a page that was not read since the
// hand came by (CLOCK). So a scan evicts nothing. However few the slots are, the admission set has
// as many fingerprints as there may be slots: a page that comes again has been in DRAM meanwhile.
//
// When pages found no slot, the file grows by ways, a slot for each set, in space that the device
// lends it. That is free space and, if these pages were read not long ago, space that extents are
// to leave. So the number of sets stays, no page changes its set, and all sets have their part of
// the new space.
//
//   word           written by              read by      meaning
//   Set::fingerprints the lock's holder    all          a byte of the hash of each id
//   Set::version   the lock's holder       all          0: not looked at yet; odd: in change
//   Set::verified  the lock's holder       all          a bit for each way: see K26
//   Set::ids       the lock's holder       all          0: the slot is free
//   Set::used      readers, the clock      the clock    1: read since the hand came by
//   ways_in_use_   under file_lock_        all          0: nothing is found; else it only grows
//
//   K24 Readers take no lock. They look at the version before and after they have read the slot; if
//       it has changed, they have found nothing.
//   K25 A slot belongs to the page whose id is its first word. It is written in two steps, each
//       persistent before the next: no id; the page, its first word last (device V17). So on
//       persistent memory a crash leaves a free slot or a whole page.
//   K26 On other memory, a crash may leave anything. So a slot that was found counts for reads of
//       whole pages, which their reader checks, and for lines once that has happened.
//   K27 The file belongs to one history of the database: its first page names the newest manifest.
//       A file of another history (a copy that was put in its place, or one after a power failure
//       of memory that is not persistent) names another manifest. Then the slots begin empty. The
//       name is written before a page of a snapshot is kept that was not there before.
//   K28 Slots are looked at when a page of their set is first wanted, so open takes no time.
//   K29 A way is in use once its slots have space. The header says how many have, for the next
//       process. If a crash has lost that, pages of the last ways are free slots.

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/device/device.h"
#include "foedus-core/page/page_header.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/page/page_lines.h"
#include "foedus/status.h"

namespace foedus::snapshot {

struct NvmPagesStatistics {
  std::uint64_t pages = 0;  // in slots, of sets that were looked at
  std::uint64_t reads = 0;  // of pages or lines, from slots; an estimate
};

class NvmPages {
 public:
  static constexpr std::uint32_t kWaysMost = 48;
  static constexpr std::uint64_t kStepBytes = 256u << 10;

  // Returns the bytes of a way of a file of at most `most` bytes of slots: a multiple of
  // kStepBytes, so that there are as many ways as a set may have, or fewer where `most` is small.
  static std::uint64_t way_bytes(std::uint64_t most);
  // Opens the file, if there is one. Bytes of slots, in whole ways: `least` from the first adopt()
  // on, `most` as they grow. Nothing is found before adopt(). REQUIRES: way_bytes(most) <= least <=
  // most.
  static std::unique_ptr<NvmPages> open(device::Device* device, std::uint64_t least,
                                        std::uint64_t most);
  // Returns the bytes of DRAM that it takes.
  static std::uint64_t memory_bytes(std::uint64_t most) {
    return way_bytes(most) / page::kPageBytes * sizeof(Set);
  }
  NvmPages(const NvmPages&) = delete;
  NvmPages& operator=(const NvmPages&) = delete;

  // Takes over from a new newest manifest, which `name` stands for (K27) and of which no page is
  // read yet. The first call decides whether the slots are kept. It makes the file if that is
  // missing, or has fewer or more slots than it may have now. If it fails, there are no slots; if
  // another one does, nothing is found or kept until the next. kOutOfSpace, kIoError. Not by two
  // threads at once.
  Status adopt(std::uint64_t name);

  enum class Found : std::uint8_t {
    kNothing,
    kPage,        // `to` has it
    kUnverified,  // `to` has it, and confirm() is to be told whether it is whole
  };
  // Any thread may call all of these. None of them fails: the SSD has what memory does not give.
  Found read(page::SnapshotPageId id, page::PageHeader* to);
  void confirm(page::SnapshotPageId id, bool is_whole);
  bool has(page::SnapshotPageId id) { return look(id).way != kNoWay; }
  // Returns true if lines of the page can be read.
  bool has_lines(page::SnapshotPageId id);
  // Reads lines to their places in the page at `to`; false: it is not there.
  bool read_lines(page::SnapshotPageId id, page::LineMask lines, char* to);
  // Takes a whole page that was read from the SSD.
  void add(page::SnapshotPageId id, const page::PageHeader* page);

  NvmPagesStatistics statistics() const;

 private:
  static constexpr std::uint32_t kStripes = 64;
  static constexpr std::uint32_t kNoWay = kWaysMost;
  static constexpr std::uint32_t kFingerprintsPerWord = sizeof(std::uint64_t);

  // All that a look reads is in the first line and in that of the id.
  struct alignas(64) Set {
    base::AtomicWord<std::uint64_t> fingerprints[kWaysMost / kFingerprintsPerWord];
    base::AtomicWord<std::uint64_t> verified;
    base::AtomicWord<std::uint32_t> version;
    // Guarded by the lock of its stripe.
    std::uint8_t hand = 0;
    std::uint8_t next_seen = 0;
    base::AtomicWord<std::uint64_t> ids[kWaysMost];
    base::AtomicWord<std::uint8_t> used[kWaysMost];
    std::uint32_t seen[kWaysMost] = {};  // guarded by the lock: fingerprints of ids without a slot
  };
  static_assert(sizeof(Set) <= 16 * kWaysMost);
  // Guards every 64th set, and counts for it.
  struct alignas(64) Stripe {
    std::mutex lock;
    base::AtomicWord<std::uint64_t> pages;
    base::AtomicWord<std::uint64_t> reads;
  };
  // A look at a set, to be confirmed.
  struct Look {
    Set* set;  // null: nothing is found yet
    std::uint32_t version;
    std::uint32_t way;  // kNoWay: it is not there
  };

  NvmPages(device::Device* device, std::uint64_t least, std::uint64_t most);
  std::uint64_t file_bytes(std::uint32_t ways) const;
  Status try_adopt(std::uint64_t name);
  Status open_files();
  void close_files();
  Status make_files();
  Status write_header(std::uint64_t name);
  std::uint64_t slot_offset(const Set* set, std::uint32_t way) const;
  Stripe& stripe_of(const Set* set) {
    return stripes_[static_cast<std::size_t>(set - sets_.data()) % kStripes];
  }
  Set* set_of(page::SnapshotPageId id);
  // Looks for a page. If it is not there, `set` of the result is the one that it comes to.
  Look look(page::SnapshotPageId id);
  static std::uint32_t way_of(const Set& set, page::SnapshotPageId id);
  bool is_still(const Look& look) const;
  void note_use(const Look& look);
  static void begin_change(Set* set);
  static void end_change(Set* set);
  void find_again(Set* set);
  bool put(Set* set, page::SnapshotPageId id, const page::PageHeader* page, bool evicts);
  bool take_seen(page::SnapshotPageId id);
  // Makes the slot that of `id`; 0: of no page.
  static void set_fingerprint(Set* set, std::uint32_t way, std::uint64_t id);
  void name_slot(Set* set, std::uint32_t way, std::uint64_t id);
  void put_locked(Set* set, std::uint32_t way, page::SnapshotPageId id,
                  const page::PageHeader* page);
  void grow_if_wanted();
  Status grow_locked(std::uint32_t ways);

  device::Device* const device_;
  const std::uint64_t way_bytes_;
  const std::uint32_t least_;  // ways
  const std::uint32_t most_;   // ways
  std::vector<Set> sets_;
  std::array<Stripe, kStripes> stripes_;
  std::mutex file_lock_;  // held while the file changes its name or its size
  std::unique_ptr<device::File> to_write_;
  std::unique_ptr<device::File> to_read_;
  std::uint32_t file_ways_ = 0;   // ways that it has space for; guarded by file_lock_
  std::uint64_t found_name_ = 0;  // the name in the file that open() found
  bool has_adopted_ = false;      // adopt() has decided whether to keep the file
  bool is_adopted_once_ = false;  // adopt() has succeeded once
  bool can_grow_ = true;          // guarded by file_lock_
  base::AtomicWord<std::uint32_t> ways_in_use_;
  // Since the last growth, or attempt: pages that got the slot of another one, and that got none.
  base::AtomicWord<std::uint32_t> evictions_;
  base::AtomicWord<std::uint32_t> refusals_;
};

}  // namespace foedus::snapshot
