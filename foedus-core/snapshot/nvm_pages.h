#pragma once
// NvmPages, the NVM cache tier: pages of the SSD tier that are kept on non-volatile memory. They
// lie in slots of one file, and are found again after a restart (Van Renen et al., SIGMOD'18, §4).
// Below it are the extents of the SSD (device/tiers/tiered_device.h), above it the page cache in
// DRAM.
//
// A page has a set of slots that it may lie in, by the hash of its id: one in each way of the file.
// When it is read from the SSD, it gets a free slot of its set. If none is free, and the page was
// read from the SSD not long ago (the admission set), it replaces a page that was not read since
// the CLOCK hand came by. So a scan evicts nothing. However few slots there are, the admission set
// has as many fingerprints as there may ever be slots: between two reads of a page from the SSD,
// DRAM has to evict it, and a smaller set would have forgotten it by then.
//
// When pages found no slot, the file grows by ways, each a slot for each set, in space that the
// device lends it. The device lends free space. If pages were evicted for lack of slots, it also
// makes room by moving extents. The number of sets stays the same, no page changes its set, and all
// sets have their part of the new space.
//
//   word           written by              read by      meaning
//   Set::fingerprints the lock's holder    all          a byte of the hash of each id
//   Set::version   the lock's holder       all          0: not looked at yet; odd: in change
//   Set::verified  the lock's holder       all          a bit for each way: see K26
//   Set::ids       the lock's holder       all          0: the slot is free
//   Set::used      readers, put()          put()        1: read since the CLOCK hand came by
//   ways_in_use_   under file_lock_        all          0: nothing is found; else it only grows
//
//   K24 Readers take no lock. They look at the version before and after they have read the slot; if
//       it has changed, they have found nothing.
//   K25 A slot belongs to the page whose id is its first word. It is written in two steps, each
//       persistent before the next: no id; the page, its first word last (device V17). So on
//       persistent memory a crash leaves a free slot or a whole page.
//   K26 On other memory, a crash may leave anything in a slot. So a slot of an earlier process is
//       read by whole pages, which the reader checks, and by lines only after such a check.
//   K27 The file belongs to one history of the database: its first page names the newest manifest.
//       A file of another history (a copy that was put in its place, or one after a power failure
//       of memory that is not persistent) names another manifest. Then the slots begin empty. The
//       name of a new manifest is written before any page of its snapshot gets a slot.
//   K28 Slots of an earlier process are looked at when a page of their set is first wanted, so open
//       takes no time.
//   K29 A way is in use once its slots have space. The header says for the next process how many
//       ways have. If a crash loses that number, the slots of the last ways count as free.

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
  std::uint64_t pages = 0;  // pages in slots of sets that were looked at (K28)
  std::uint64_t reads = 0;  // reads of pages or lines from slots
};

class NvmPages {
 public:
  static constexpr std::uint32_t kWaysMost = 48;
  static constexpr std::uint64_t kStepBytes = 256u << 10;

  // Returns the bytes of a way of a file of at most `most` bytes of slots: a multiple of
  // kStepBytes, so that there are as many ways as a set may have, or fewer where `most` is small.
  static std::uint64_t way_bytes(std::uint64_t most);
  // Opens the file, if there is one. `least`, `most`: bytes of slots, rounded down to whole ways,
  // that the file has from the first adopt() on, and to which it may grow. Nothing is found before
  // adopt(). REQUIRES: way_bytes(most) <= least <= most.
  static std::unique_ptr<NvmPages> open(device::Device* device, std::uint64_t least,
                                        std::uint64_t most);
  // Returns the bytes of DRAM that an object takes.
  static std::uint64_t memory_bytes(std::uint64_t most) {
    return way_bytes(most) / page::kPageBytes * sizeof(Set);
  }
  NvmPages(const NvmPages&) = delete;
  NvmPages& operator=(const NvmPages&) = delete;

  // Makes the file that of a new newest manifest, which `name` stands for (K27). Called before any
  // page of its snapshot is read. The first call decides whether the slots are kept: it makes a new
  // file if there is none of that name, or if it has fewer or more slots than it may have now. If
  // the first call fails, there are never any slots. If a later one fails, nothing is found or kept
  // until a call succeeds. kOutOfSpace, kIoError. One thread at a time.
  Status adopt(std::uint64_t name);

  enum class Found : std::uint8_t {
    kNothing,
    kPage,        // `to` has it
    kUnverified,  // `to` has it, and confirm() is to be told whether it is whole
  };
  // Any thread may call the functions that follow. None of them fails: a page that memory does not
  // give is read from the SSD.
  // Reads the page, if it has a slot.
  Found read(page::SnapshotPageId id, page::PageHeader* to);
  // Says whether a page of Found::kUnverified was whole (K26). If not, its slot becomes free.
  void confirm(page::SnapshotPageId id, bool is_whole);
  bool has(page::SnapshotPageId id) { return look(id).way != kNoWay; }
  // Returns true if lines of the page can be read.
  bool has_lines(page::SnapshotPageId id);
  // Reads lines to their places in the page at `to`; false: the page has no slot, or no verified
  // one (K26).
  bool read_lines(page::SnapshotPageId id, page::LineMask lines, char* to);
  // Puts a page that was read whole from the SSD into a slot, or into the admission set.
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
  // What look() saw in a set. It counts if is_still() is true after the slot was read (K24).
  struct Look {
    Set* set;  // null: no way is in use
    std::uint32_t version;
    std::uint32_t way;  // kNoWay: the page has no slot
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
  // Looks for a page. If it has no slot, `set` of the result is the set that it would lie in.
  Look look(page::SnapshotPageId id);
  static std::uint32_t way_of(const Set& set, page::SnapshotPageId id);
  bool is_still(const Look& look) const;
  void note_use(const Look& look);
  static void begin_change(Set* set);
  static void end_change(Set* set);
  void find_again(Set* set);
  bool put(Set* set, page::SnapshotPageId id, const page::PageHeader* page, bool evicts);
  bool take_seen(page::SnapshotPageId id);
  static void set_fingerprint(Set* set, std::uint32_t way, std::uint64_t id);
  // Makes the slot that of page `id`, not verified; 0: makes it free.
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
  std::mutex file_lock_;  // held while the manifest's name in the file, or its size, changes
  std::unique_ptr<device::File> to_write_;
  std::unique_ptr<device::File> to_read_;
  std::uint32_t file_ways_ = 0;   // ways that it has space for; guarded by file_lock_
  std::uint64_t found_name_ = 0;  // the manifest's name (K27) in the file that open() found
  bool has_adopted_ = false;      // adopt() has decided whether to keep the file
  bool is_adopted_once_ = false;  // adopt() has succeeded once
  bool can_grow_ = true;          // guarded by file_lock_
  base::AtomicWord<std::uint32_t> ways_in_use_;
  // Since the last growth: how many pages replaced another one, and how many got no slot.
  base::AtomicWord<std::uint32_t> evictions_;
  base::AtomicWord<std::uint32_t> refusals_;
};

}  // namespace foedus::snapshot
