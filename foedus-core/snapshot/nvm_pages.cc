#include "foedus-core/snapshot/nvm_pages.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/snapshot/files/format.h"

namespace foedus::snapshot {

namespace {

constexpr std::string_view kFileName = "nvm-0";
constexpr std::uint64_t kNvmMagic = 0x534547415046454f;  // "OEFPAGES"
constexpr std::uint32_t kNvmVersion = 3;
constexpr std::uint32_t kSeen = 2;          // a version of a set that was looked at
constexpr std::uint32_t kTurnOver = 256;    // 1/256 of the slots was wanted: the file grows
constexpr std::uint32_t kGrowthShare = 4;   // by 1/4 of its ways
constexpr std::uint64_t kEachByte = 0x0101010101010101;

// Page 0 of the file; the rest of it is zero.
struct NvmHeader {
  std::uint64_t magic;    // +8 -> 8
  std::uint32_t version;  // +4 -> 12
  std::uint32_t crc;      // +4 -> 16  of the words before `ways`
  std::uint64_t name;     // +8 -> 24  K27
  std::uint64_t sets;     // +8 -> 32
  std::uint64_t ways;     // +8 -> 40  that have space in the file; not in the checksum
};
static_assert(offsetof(NvmHeader, crc) == kChecksumOffset);

// Returns a hash of the id: its upper half gives the set, other bits give fingerprints.
std::uint64_t mixed(page::SnapshotPageId id) {
  std::uint64_t word = id.word() * 0x9e3779b97f4a7c15u;
  word ^= word >> 32;
  word *= 0xd6e8feb86659fd93u;
  return word ^ word >> 32;
}
std::uint32_t print_of(page::SnapshotPageId id) {
  const auto fingerprint = static_cast<std::uint32_t>(mixed(id) ^ id.word());
  return fingerprint == 0 ? 1 : fingerprint;
}
std::uint64_t short_fingerprint_of(page::SnapshotPageId id) { return mixed(id) & 0xff; }

}  // namespace

NvmPages::NvmPages(device::Device* device, std::uint64_t least, std::uint64_t most)
    : device_(device),
      way_bytes_(way_bytes(most)),
      least_(static_cast<std::uint32_t>(least / way_bytes_)),
      most_(static_cast<std::uint32_t>(most / way_bytes_)),
      sets_(way_bytes_ / page::kPageBytes) {}

std::uint64_t NvmPages::way_bytes(std::uint64_t most) {
  return std::max((most / kWaysMost + kStepBytes - 1) / kStepBytes, std::uint64_t{1}) * kStepBytes;
}

// ---- the file ----------------------------------------------------------------------------------

std::unique_ptr<NvmPages> NvmPages::open(device::Device* device, std::uint64_t least,
                                         std::uint64_t most) {
  FOEDUS_INVARIANT(way_bytes(most) <= least && least <= most, least, most);
  std::unique_ptr<NvmPages> pages(new NvmPages(device, least, most));
  // adopt() replaces a file that cannot be opened or read, and reports its own errors.
  if (!pages->open_files().is_ok()) pages->close_files();
  return pages;
}

std::uint64_t NvmPages::file_bytes(std::uint32_t ways) const {
  return page::kPageBytes + ways * way_bytes_;
}

// Closes the files, and returns the space that was lent for them.
void NvmPages::close_files() {
  if (file_ways_ > least_) device_->return_room((file_ways_ - least_) * way_bytes_);
  file_ways_ = 0;
  to_write_.reset();
  to_read_.reset();
}

// Opens a file whose header is whole, and says as many sets as there are now and a number of ways
// that is possible now. adopt() replaces any other file.
Status NvmPages::open_files() {
  auto file = device_->open(kFileName, device::Access::kReadWrite);
  if (file.code() == ErrorCode::kNotFound) return {};
  FOEDUS_CHECK(file.status());
  FOEDUS_TRY(const std::uint64_t bytes, (*file)->size());
  NvmHeader header = {};
  FOEDUS_TRY(const std::size_t read, (*file)->read_at(0, &header, sizeof(header)));
  if (read < sizeof(header) || header.magic != kNvmMagic) return {};
  if (header.crc != checksum_of(&header, offsetof(NvmHeader, ways))) return {};
  if (header.version != kNvmVersion) return {};
  if (header.sets != sets_.size() || header.ways < least_ || header.ways > most_) return {};
  if (bytes < file_bytes(most_)) FOEDUS_CHECK((*file)->truncate(file_bytes(most_)));
  FOEDUS_CHECK((*file)->preallocate(file_bytes(static_cast<std::uint32_t>(header.ways))));
  FOEDUS_TRY(to_read_, device_->open(kFileName, device::Access::kRead));
  found_name_ = header.name;
  to_write_ = std::move(*file);
  file_ways_ = static_cast<std::uint32_t>(header.ways);
  device_->keep_lent((file_ways_ - least_) * way_bytes_);
  return {};
}

// Makes the file. It has its full size from the start, because readers map it once, but space only
// for the ways in use.
Status NvmPages::make_files() {
  close_files();
  FOEDUS_CHECK(device::unless_gone(device_->remove(kFileName)));
  FOEDUS_TRY(to_write_, device_->open(kFileName, device::Access::kCreate));
  FOEDUS_CHECK(to_write_->truncate(file_bytes(most_)));
  FOEDUS_CHECK(to_write_->preallocate(file_bytes(least_)));
  FOEDUS_TRY(to_read_, device_->open(kFileName, device::Access::kRead));
  file_ways_ = least_;
  return {};
}

Status NvmPages::write_header(std::uint64_t name) {
  NvmHeader header{.magic = kNvmMagic,
                   .version = kNvmVersion,
                   .crc = 0,
                   .name = name,
                   .sets = sets_.size(),
                   .ways = file_ways_};
  header.crc = checksum_of(&header, offsetof(NvmHeader, ways));
  FOEDUS_CHECK(to_write_->write_at(0, &header, sizeof(header)));
  return to_write_->sync();
}

Status NvmPages::adopt(std::uint64_t name) {
  const std::lock_guard lock(file_lock_);
  Status adopted = try_adopt(name);
  if (adopted.is_ok()) return adopted;
  // order: relaxed; nothing of the new snapshot is read yet.
  ways_in_use_.store_relaxed(0);
  if (is_adopted_once_) return adopted;
  // The file will not be used: its space goes to other files.
  close_files();
  static_cast<void>(device_->remove(kFileName).is_ok());
  return adopted;
}

Status NvmPages::try_adopt(std::uint64_t name) {
  if (!has_adopted_) {
    has_adopted_ = true;
    if (to_write_ == nullptr || name != found_name_) FOEDUS_CHECK(make_files());
  }
  if (to_write_ == nullptr) return {};  // an earlier call has failed
  FOEDUS_CHECK(write_header(name));
  is_adopted_once_ = true;
  // order: release, pairs with look(): the files are there.
  ways_in_use_.store_release(file_ways_);
  return {};
}

std::uint64_t NvmPages::slot_offset(const Set* set, std::uint32_t way) const {
  const auto index = static_cast<std::uint64_t>(set - sets_.data());
  return file_bytes(way) + index * page::kPageBytes;
}

// ---- readers -----------------------------------------------------------------------------------

NvmPages::Set* NvmPages::set_of(page::SnapshotPageId id) {
  return &sets_[(mixed(id) >> 32) * sets_.size() >> 32];
}

NvmPages::Look NvmPages::look(page::SnapshotPageId id) {
  // order: acquire, pairs with adopt(): the files are there.
  if (ways_in_use_.load_acquire() == 0) return {nullptr, 0, kNoWay};
  Set* const set = set_of(id);
  // order: acquire, pairs with the release in end_change(): ids of that version, or newer ones.
  std::uint32_t version = set->version.load_acquire();
  if (version == 0) {
    find_again(set);
    version = set->version.load_acquire();  // order: acquire, as above
  }
  return {set, version, version % 2 == 0 ? way_of(*set, id) : kNoWay};
}

// Compares fingerprints, eight at once. `marks` has the highest bit of each byte of `wanted` that
// is zero, and perhaps of a byte above it that is not, so the id is compared, too. order: relaxed
// twice, is_still() confirms what was read.
std::uint32_t NvmPages::way_of(const Set& set, page::SnapshotPageId id) {
  for (std::uint32_t i = 0; i < std::size(set.fingerprints); ++i) {
    const std::uint64_t wanted =
        set.fingerprints[i].load_relaxed() ^ short_fingerprint_of(id) * kEachByte;
    std::uint64_t marks = (wanted - kEachByte) & ~wanted & kEachByte << 7;
    for (; marks != 0; marks &= marks - 1) {
      const std::uint32_t byte = static_cast<std::uint32_t>(std::countr_zero(marks)) / 8;
      const std::uint32_t way = i * kFingerprintsPerWord + byte;
      if (set.ids[way].load_relaxed() == id.word()) return way;
    }
  }
  return kNoWay;
}

// Returns true if the set is as it was at the look (K24).
bool NvmPages::is_still(const Look& look) const {
  base::fence_reader();  // order: the slot is read before the version is
  return look.set->version.load_acquire() == look.version;  // order: acquire, for TSan's sake
}

// order: relaxed in all of it, hints and a statistic.
void NvmPages::note_use(const Look& look) {
  base::AtomicWord<std::uint8_t>& used = look.set->used[look.way];
  if (used.load_relaxed() == 0) used.store_relaxed(1);
  stripe_of(look.set).reads.fetch_add_relaxed(1);
}

NvmPages::Found NvmPages::read(page::SnapshotPageId id, page::PageHeader* to) {
  const Look found = look(id);
  if (found.way == kNoWay) return Found::kNothing;
  const std::uint64_t offset = slot_offset(found.set, found.way);
  const Result<std::size_t> read = to_read_->read_at(offset, to, page::kPageBytes);
  if (!read.is_ok() || *read < page::kPageBytes) return Found::kNothing;
  const bool is_verified =
      (found.set->verified.load_relaxed() >> found.way & 1) != 0;  // order: as ids in way_of()
  if (!is_still(found)) return Found::kNothing;
  note_use(found);
  return is_verified ? Found::kPage : Found::kUnverified;
}

bool NvmPages::has_lines(page::SnapshotPageId id) {
  const Look found = look(id);
  if (found.way == kNoWay) return false;
  const std::uint64_t verified = found.set->verified.load_relaxed();  // order: as ids in way_of()
  return (verified >> found.way & 1) != 0 && is_still(found);
}

bool NvmPages::read_lines(page::SnapshotPageId id, page::LineMask lines, char* to) {
  const Look found = look(id);
  if (found.way == kNoWay) return false;
  const std::uint64_t verified = found.set->verified.load_relaxed();  // order: as ids in way_of()
  if ((verified >> found.way & 1) == 0) return false;                 // K26
  const std::uint64_t offset = slot_offset(found.set, found.way);
  device::File::Piece pieces[page::kLinesPerPage / 2];
  std::size_t count = 0;
  while (lines != 0) {
    const page::LineRun run = page::take_run(&lines);
    pieces[count++] = {offset + run.offset(), to + run.offset(), run.bytes()};
  }
  const Result<bool> read = to_read_->read_pieces(pieces, count);
  if (!read.is_ok() || !*read || !is_still(found)) return false;
  note_use(found);
  return true;
}

// ---- changes -----------------------------------------------------------------------------------

void NvmPages::begin_change(Set* set) {
  // order: relaxed, the lock's holder alone changes it; readers see the odd version before any
  // change after the fence.
  set->version.store_relaxed(set->version.load_relaxed() | 1);
  base::fence_writer();
}

void NvmPages::end_change(Set* set) {
  // A version that wraps skips 0, which says that the set was not looked at.
  const std::uint32_t next = set->version.load_relaxed() + 1;  // order: as in begin_change()
  // order: release, pairs with look().
  set->version.store_release(next == 0 ? kSeen : next);
}

// Reads the ids of a set's slots for the first time (K28), in the ways that are in use. A slot
// without an id of this set is free.
void NvmPages::find_again(Set* set) {
  const std::lock_guard lock(stripe_of(set).lock);
  if (set->version.load_relaxed() != 0) return;  // order: relaxed, changed under the lock
  begin_change(set);
  const std::uint32_t ways = ways_in_use_.load_acquire();  // order: acquire, as in look()
  alignas(64) std::uint64_t heads[kWaysMost][page::kLineBytes / sizeof(std::uint64_t)] = {};
  device::File::Piece pieces[kWaysMost];
  for (std::uint32_t way = 0; way < ways; ++way) {
    pieces[way] = {slot_offset(set, way), heads[way], page::kLineBytes};
  }
  const Result<bool> read = to_read_->read_pieces(pieces, ways);
  for (std::uint32_t way = 0; read.is_ok() && *read && way < ways; ++way) {
    const page::SnapshotPageId id(heads[way][0]);
    if (!id.is_null() && set_of(id) == set) name_slot(set, way, id.word());
  }
  end_change(set);
}

void NvmPages::confirm(page::SnapshotPageId id, bool is_whole) {
  const Look found = look(id);
  if (found.way == kNoWay) return;
  const std::lock_guard lock(stripe_of(found.set).lock);
  // order: relaxed in all of it, changed under the lock.
  if (found.set->ids[found.way].load_relaxed() != id.word()) return;
  begin_change(found.set);
  if (is_whole) {
    found.set->verified.store_relaxed(found.set->verified.load_relaxed() | std::uint64_t{1}
                                                                               << found.way);
  } else {
    name_slot(found.set, found.way, 0);
  }
  end_change(found.set);
}

// order: relaxed twice, see begin_change() and end_change().
void NvmPages::set_fingerprint(Set* set, std::uint32_t way, std::uint64_t id) {
  base::AtomicWord<std::uint64_t>& fingerprints = set->fingerprints[way / kFingerprintsPerWord];
  const std::uint32_t shift = way % kFingerprintsPerWord * 8;
  const std::uint64_t others = fingerprints.load_relaxed() & ~(std::uint64_t{0xff} << shift);
  fingerprints.store_relaxed(others | short_fingerprint_of(page::SnapshotPageId(id)) << shift);
}

// order: relaxed in all of it, see begin_change() and end_change(); a statistic.
void NvmPages::name_slot(Set* set, std::uint32_t way, std::uint64_t id) {
  base::AtomicWord<std::uint64_t>& pages = stripe_of(set).pages;
  if (set->ids[way].load_relaxed() != 0) pages.store_relaxed(pages.load_relaxed() - 1);
  if (id != 0) pages.store_relaxed(pages.load_relaxed() + 1);
  set->ids[way].store_relaxed(id);
  if (id != 0) set_fingerprint(set, way, id);
  set->verified.store_relaxed(set->verified.load_relaxed() & ~(std::uint64_t{1} << way));
}

void NvmPages::add(page::SnapshotPageId id, const page::PageHeader* page) {
  const Look found = look(id);
  if (found.set == nullptr || found.way != kNoWay) return;
  if (put(found.set, id, page, false)) return;
  // order: relaxed, counts.
  if (take_seen(id)) {
    put(found.set, id, page, true);
    evictions_.fetch_add_relaxed(1);
  } else {
    refusals_.fetch_add_relaxed(1);
  }
  grow_if_wanted();
}

// Puts a page into a free slot. False: there is none. `evicts`: it then replaces a page by CLOCK.
bool NvmPages::put(Set* set, page::SnapshotPageId id, const page::PageHeader* page, bool evicts) {
  const std::lock_guard lock(stripe_of(set).lock);
  // order: relaxed in all of it, changed under the lock, or hints; acquire as in look(): the ways
  // have space.
  if (way_of(*set, id) != kNoWay) return true;
  const std::uint32_t ways = ways_in_use_.load_acquire();
  std::uint32_t free = 0;
  while (free < ways && set->ids[free].load_relaxed() != 0) ++free;
  if (free == ways) free = kNoWay;
  while (free == kNoWay && ways != 0 && evicts) {
    const std::uint32_t way = set->hand % ways;
    set->hand = static_cast<std::uint8_t>((way + 1) % ways);
    if (set->used[way].load_relaxed() == 0) free = way;
    set->used[way].store_relaxed(0);
  }
  if (free == kNoWay) return false;
  put_locked(set, free, id, page);
  return true;
}

// Returns true if the page is in the admission set, and removes it; else adds it.
bool NvmPages::take_seen(page::SnapshotPageId id) {
  Set* const set = set_of(id);
  const std::lock_guard lock(stripe_of(set).lock);
  std::uint32_t* const end = set->seen + most_;
  std::uint32_t* const seen = std::find(set->seen, end, print_of(id));
  const bool is_there = seen != end;
  if (is_there) {
    *seen = 0;
  } else {
    set->seen[set->next_seen] = print_of(id);
    set->next_seen = static_cast<std::uint8_t>((set->next_seen + 1) % most_);
  }
  return is_there;
}

// Writes the page to a slot (K25).
void NvmPages::put_locked(Set* set, std::uint32_t way, page::SnapshotPageId id,
                          const page::PageHeader* page) {
  FOEDUS_INVARIANT(page->page_id == id.word(), page->page_id, id.word());
  begin_change(set);
  name_slot(set, way, 0);
  const std::uint64_t offset = slot_offset(set, way);
  constexpr std::uint64_t kNoPage = 0;
  const bool is_there = base::catching([&]() -> Status {
                          FOEDUS_CHECK(to_write_->write_at(offset, &kNoPage, sizeof(kNoPage)));
                          return to_write_->write_at(offset, page, page::kPageBytes);
                        }).is_ok();
  if (is_there) {
    name_slot(set, way, id.word());
    // order: relaxed twice, as in name_slot(), and a hint.
    set->verified.store_relaxed(set->verified.load_relaxed() | std::uint64_t{1} << way);
    set->used[way].store_relaxed(0);
  }
  end_change(set);
}

// ---- growth ------------------------------------------------------------------------------------

// Grows the file if enough pages, compared to the number of slots, found no free slot since the
// last growth. If enough of them replaced another page, the device may move extents for it.
void NvmPages::grow_if_wanted() {
  // order: relaxed in all of it, a threshold that need not be exact.
  const std::uint32_t ways = ways_in_use_.load_relaxed();
  if (ways == 0) return;  // adopt() has failed meanwhile
  const std::uint64_t many = std::max<std::uint64_t>(ways * sets_.size() / kTurnOver, 1);
  const bool is_needed = evictions_.load_relaxed() >= many;
  if (ways == most_ || (!is_needed && refusals_.load_relaxed() < many)) return;
  const std::unique_lock lock(file_lock_, std::try_to_lock);
  if (!lock.owns_lock() || !can_grow_ || ways_in_use_.load_relaxed() != ways) return;
  const std::uint32_t wanted = std::min(std::max(1u, ways / kGrowthShare), most_ - ways);
  const std::uint64_t lent = device_->lend_room(wanted * way_bytes_, is_needed);
  const auto more = static_cast<std::uint32_t>(lent / way_bytes_);
  device_->return_room(lent % way_bytes_);
  if (more == 0) return;  // the next page that finds no slot asks again
  evictions_.store_relaxed(0);
  refusals_.store_relaxed(0);
  can_grow_ = base::catching([&] { return grow_locked(ways + more); }).is_ok();
  if (!can_grow_) device_->return_room(more * way_bytes_);
}

// Takes more ways into use (K29).
Status NvmPages::grow_locked(std::uint32_t ways) {
  FOEDUS_CHECK(to_write_->preallocate(file_bytes(ways)));
  const std::uint64_t word = ways;
  FOEDUS_CHECK(to_write_->write_at(offsetof(NvmHeader, ways), &word, sizeof(word)));
  file_ways_ = ways;
  // order: release, pairs with put() and find_again(): the ways have space.
  ways_in_use_.store_release(ways);
  return {};
}

NvmPagesStatistics NvmPages::statistics() const {
  NvmPagesStatistics all;
  for (const Stripe& stripe : stripes_) {
    all.pages += stripe.pages.load_relaxed();  // order: relaxed twice, statistics
    all.reads += stripe.reads.load_relaxed();
  }
  return all;
}

}  // namespace foedus::snapshot
