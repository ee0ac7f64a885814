#include "foedus-core/snapshot/nvm_pages.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/snapshot/snapshot_format.h"

namespace foedus::snapshot {

namespace {

constexpr std::string_view kFileName = "nvm-0";
constexpr std::uint64_t kNvmMagic = 0x534547415046454f;  // "OEFPAGES"
constexpr std::uint32_t kNvmVersion = 2;
constexpr std::uint32_t kSeen = 2;          // a version of a set that was looked at
constexpr std::uint32_t kTurnOver = 256;    // one of so many slots is wanted before the file grows,
constexpr std::uint32_t kGrowthShare = 4;   // by one of so many parts

// Page 0 of the file; the rest of it is zero.
struct NvmHeader {
  std::uint64_t magic;    // +8 -> 8
  std::uint32_t version;  // +4 -> 12
  std::uint32_t crc;      // +4 -> 16  of the words before `sets`
  std::uint64_t name;     // +8 -> 24  K27
  std::uint64_t sets;     // +8 -> 32  that have room in the file; not in the checksum
};
static_assert(offsetof(NvmHeader, crc) == kChecksumOffset);

// The set is told by low bits, what the admission set knows of an id by others.
std::uint64_t mixed(page::SnapshotPageId id) {
  std::uint64_t word = id.word() * 0x9e3779b97f4a7c15u;
  word ^= word >> 32;
  word *= 0xd6e8feb86659fd93u;
  return word ^ word >> 32;
}
std::uint32_t print_of(page::SnapshotPageId id) {
  const auto print = static_cast<std::uint32_t>(mixed(id) >> 32 ^ id.word());
  return print == 0 ? 1 : print;
}

}  // namespace

NvmPages::NvmPages(device::Device* device, std::uint32_t least, std::uint32_t most)
    : device_(device), least_(least), sets_(most) {}

// ---- the file ----------------------------------------------------------------------------------

std::unique_ptr<NvmPages> NvmPages::open(device::Device* device, std::uint64_t least,
                                         std::uint64_t most) {
  FOEDUS_INVARIANT(kStepBytes <= least && least <= most, least, most);
  std::unique_ptr<NvmPages> pages(new NvmPages(device, sets_of(least), sets_of(most)));
  // adopt() makes a file anew that cannot be opened or read, and says what is wrong with it.
  if (!pages->open_files().is_ok()) pages->close_files();
  return pages;
}

std::uint32_t NvmPages::sets_of(std::uint64_t bytes) {
  return static_cast<std::uint32_t>(bytes / kStepBytes * kSetsOfStep);
}

std::uint64_t NvmPages::file_bytes(std::uint32_t sets) {
  return page::kPageBytes + sets * kSetBytes;
}

std::uint64_t NvmPages::whole_bytes() const {
  return file_bytes(static_cast<std::uint32_t>(sets_.size()));
}

// Returns what was lent for them, too.
void NvmPages::close_files() {
  if (file_sets_ > least_) device_->return_room((file_sets_ - least_) * kSetBytes);
  file_sets_ = 0;
  to_write_.reset();
  to_read_.reset();
}

// Takes a file with a whole header that has room for sets as there may be. adopt() makes any other
// one anew.
Status NvmPages::open_files() {
  auto file = device_->open(kFileName, device::Access::kReadWrite);
  if (file.code() == ErrorCode::kNotFound) return {};
  FOEDUS_CHECK(file.status());
  FOEDUS_TRY(const std::uint64_t bytes, (*file)->size());
  NvmHeader header = {};
  FOEDUS_TRY(const std::size_t read, (*file)->read_at(0, &header, sizeof(header)));
  if (read < sizeof(header) || header.magic != kNvmMagic) return {};
  if (header.crc != checksum_of(&header, offsetof(NvmHeader, sets))) return {};
  if (header.version != kNvmVersion) return {};
  if (header.sets < least_ || header.sets > sets_.size()) return {};
  if (bytes < whole_bytes()) FOEDUS_CHECK((*file)->truncate(whole_bytes()));
  FOEDUS_CHECK((*file)->preallocate(file_bytes(static_cast<std::uint32_t>(header.sets))));
  FOEDUS_TRY(to_read_, device_->open(kFileName, device::Access::kRead));
  found_name_ = header.name;
  to_write_ = std::move(*file);
  file_sets_ = static_cast<std::uint32_t>(header.sets);
  device_->keep_lent((file_sets_ - least_) * kSetBytes);
  return {};
}

// It has its size from the begin, for readers map it once, and no room but for the sets in use.
Status NvmPages::make_files() {
  close_files();
  FOEDUS_CHECK(device::unless_gone(device_->remove(kFileName)));
  FOEDUS_TRY(to_write_, device_->open(kFileName, device::Access::kCreate));
  FOEDUS_CHECK(to_write_->truncate(whole_bytes()));
  FOEDUS_CHECK(to_write_->preallocate(file_bytes(least_)));
  FOEDUS_TRY(to_read_, device_->open(kFileName, device::Access::kRead));
  file_sets_ = least_;
  return {};
}

Status NvmPages::write_header(std::uint64_t name) {
  NvmHeader header{
      .magic = kNvmMagic, .version = kNvmVersion, .crc = 0, .name = name, .sets = file_sets_};
  header.crc = checksum_of(&header, offsetof(NvmHeader, sets));
  FOEDUS_CHECK(to_write_->write_at(0, &header, sizeof(header)));
  return to_write_->sync();
}

Status NvmPages::adopt(std::uint64_t name) {
  const std::lock_guard lock(file_lock_);
  Status adopted = try_adopt(name);
  if (adopted.is_ok()) return adopted;
  // order: relaxed; nothing of the new snapshot is read yet.
  sets_in_use_.store_relaxed(0);
  if (is_adopted_once_) return adopted;
  // The room that it has got is wanted by others.
  close_files();
  static_cast<void>(device_->remove(kFileName).is_ok());
  return adopted;
}

Status NvmPages::try_adopt(std::uint64_t name) {
  if (!has_adopted_) {
    has_adopted_ = true;
    if (to_write_ == nullptr || name != found_name_) FOEDUS_CHECK(make_files());
  }
  if (to_write_ == nullptr) return {};  // as it was said
  FOEDUS_CHECK(write_header(name));
  is_adopted_once_ = true;
  // order: release, pairs with look(): the files are there.
  sets_in_use_.store_release(file_sets_);
  return {};
}

std::uint64_t NvmPages::slot_offset(const Set* set, std::uint32_t way) const {
  const auto index = static_cast<std::uint64_t>(set - sets_.data());
  return (1 + index * kWays + way) * page::kPageBytes;
}

// ---- readers -----------------------------------------------------------------------------------

// The hash by as many bits as the number of sets has, or one less where that set is not there yet.
NvmPages::Places NvmPages::places_of(page::SnapshotPageId id, std::uint32_t sets) {
  const std::uint32_t mask = std::bit_ceil(sets) - 1;
  const std::uint32_t index = static_cast<std::uint32_t>(mixed(id)) & mask;
  const std::uint32_t before = index & mask >> 1;
  return {index < sets ? index : before, before};
}

bool NvmPages::is_found_in(page::SnapshotPageId id, const Set* set) const {
  const std::uint32_t sets = sets_in_use_.load_relaxed();  // order: relaxed, K29
  if (sets == 0) return false;
  const Places places = places_of(id, sets);
  return set == &sets_[places.now] || set == &sets_[places.before];
}

NvmPages::Look NvmPages::look(page::SnapshotPageId id) {
  // order: acquire, pairs with adopt() and grow(): slots of so many sets are there.
  const std::uint32_t sets = sets_in_use_.load_acquire();
  if (sets == 0) return {nullptr, 0, kNoWay};
  const Places places = places_of(id, sets);
  const Look found = look_in(&sets_[places.now], id);
  if (found.way != kNoWay || places.before == places.now) return found;
  const Look before = look_in(&sets_[places.before], id);
  return before.way != kNoWay ? before : found;
}

NvmPages::Look NvmPages::look_in(Set* set, page::SnapshotPageId id) {
  // order: acquire, pairs with the release in end_change(): ids of that version, or newer ones.
  std::uint32_t version = set->version.load_acquire();
  if (version == 0) {
    find_again(set);
    version = set->version.load_acquire();  // order: acquire, as above
  }
  if (version % 2 != 0) return {set, version, kNoWay};
  std::uint32_t way = 0;
  // order: relaxed, is_still() confirms it.
  while (way < kWays && set->ids[way].load_relaxed() != id.word()) ++way;
  return {set, version, way};
}

// K24
bool NvmPages::is_still(const Look& look) const {
  base::fence_reader();  // order: what was read of the slot stays before the version
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
  const bool is_sure = (found.set->sure.load_relaxed() >> found.way & 1) != 0;  // order: as ids
  if (!is_still(found)) return Found::kNothing;
  note_use(found);
  return is_sure ? Found::kPage : Found::kUnsure;
}

bool NvmPages::has_lines(page::SnapshotPageId id) {
  const Look found = look(id);
  if (found.way == kNoWay) return false;
  const std::uint32_t sure = found.set->sure.load_relaxed();  // order: as of ids
  return (sure >> found.way & 1) != 0 && is_still(found);
}

bool NvmPages::read_lines(page::SnapshotPageId id, page::LineMask lines, char* to) {
  const Look found = look(id);
  if (found.way == kNoWay) return false;
  const std::uint32_t sure = found.set->sure.load_relaxed();  // order: as of ids
  if ((sure >> found.way & 1) == 0) return false;             // K26
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
  // change behind the fence.
  set->version.store_relaxed(set->version.load_relaxed() | 1);
  base::fence_writer();
}

void NvmPages::end_change(Set* set) {
  // 0 is for sets that were not looked at.
  const std::uint32_t next = set->version.load_relaxed() + 1;  // order: as in begin_change()
  // order: release, pairs with look().
  set->version.store_release(next == 0 ? kSeen : next);
}

// K28. What has no id of this set is a free slot.
void NvmPages::find_again(Set* set) {
  const std::lock_guard lock(stripe_of(set).lock);
  if (set->version.load_relaxed() != 0) return;  // order: relaxed, changed under the lock
  begin_change(set);
  alignas(64) std::uint64_t heads[kWays][page::kLineBytes / sizeof(std::uint64_t)] = {};
  device::File::Piece pieces[kWays];
  for (std::uint32_t way = 0; way < kWays; ++way) {
    pieces[way] = {slot_offset(set, way), heads[way], page::kLineBytes};
  }
  const Result<bool> read = to_read_->read_pieces(pieces, kWays);
  for (std::uint32_t way = 0; read.is_ok() && *read && way < kWays; ++way) {
    const page::SnapshotPageId id(heads[way][0]);
    if (!id.is_null() && is_found_in(id, set)) name_slot(set, way, id.word());
  }
  end_change(set);
}

void NvmPages::settle(page::SnapshotPageId id, bool is_whole) {
  const Look found = look(id);
  if (found.way == kNoWay) return;
  const std::lock_guard lock(stripe_of(found.set).lock);
  // order: relaxed in all of it, changed under the lock.
  if (found.set->ids[found.way].load_relaxed() != id.word()) return;
  begin_change(found.set);
  if (is_whole) {
    found.set->sure.store_relaxed(found.set->sure.load_relaxed() | 1u << found.way);
  } else {
    name_slot(found.set, found.way, 0);
  }
  end_change(found.set);
}

// order: relaxed in all of it, see begin_change() and end_change(); a statistic.
void NvmPages::name_slot(Set* set, std::uint32_t way, std::uint64_t id) {
  base::AtomicWord<std::uint64_t>& pages = stripe_of(set).pages;
  if (set->ids[way].load_relaxed() != 0) pages.store_relaxed(pages.load_relaxed() - 1);
  if (id != 0) pages.store_relaxed(pages.load_relaxed() + 1);
  set->ids[way].store_relaxed(id);
  set->sure.store_relaxed(set->sure.load_relaxed() & ~(1u << way));
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

// False: there is no free slot. `evicts`: then another page goes.
bool NvmPages::put(Set* set, page::SnapshotPageId id, const page::PageHeader* page, bool evicts) {
  const std::lock_guard lock(stripe_of(set).lock);
  // order: relaxed in all of it, changed under the lock, or hints.
  std::uint32_t free = kNoWay;
  for (std::uint32_t way = 0; way < kWays; ++way) {
    const page::SnapshotPageId there(set->ids[way].load_relaxed());
    if (there == id) return true;
    if (there.is_null() || !is_found_in(there, set)) free = way;
  }
  while (free == kNoWay && evicts) {
    const std::uint32_t way = set->hand++ % kWays;
    if (set->used[way].load_relaxed() == 0) free = way;
    set->used[way].store_relaxed(0);
  }
  if (free == kNoWay) return false;
  put_locked(set, free, id, page);
  return true;
}

// Whether it is in the admission set, where it is not any more, or else is from now on.
bool NvmPages::take_seen(page::SnapshotPageId id) {
  Set* const set = &sets_[places_of(id, static_cast<std::uint32_t>(sets_.size())).now];
  const std::lock_guard lock(stripe_of(set).lock);
  std::uint32_t* const end = set->seen + kWays;
  std::uint32_t* const seen = std::find(set->seen, end, print_of(id));
  const bool is_there = seen != end;
  if (is_there) {
    *seen = 0;
  } else {
    set->seen[set->next_seen++ % kWays] = print_of(id);
  }
  return is_there;
}

// K25
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
    set->sure.store_relaxed(set->sure.load_relaxed() | 1u << way);
    set->used[way].store_relaxed(0);
  }
  end_change(set);
}

// ---- growth ------------------------------------------------------------------------------------

// Where so many pages found no free slot that they are a part of all.
void NvmPages::grow_if_wanted() {
  // order: relaxed in all of it, a threshold that need not be exact.
  const std::uint32_t sets = sets_in_use_.load_relaxed();
  if (sets == 0) return;  // adopt() has failed meanwhile
  const std::uint32_t many = std::max(1u, sets * kWays / kTurnOver);
  const bool is_needed = evictions_.load_relaxed() >= many;
  if (sets == sets_.size() || (!is_needed && refusals_.load_relaxed() < many)) return;
  const std::unique_lock lock(file_lock_, std::try_to_lock);
  if (!lock.owns_lock() || !can_grow_ || sets_in_use_.load_relaxed() != sets) return;
  const std::uint64_t wanted = std::max(kSetsOfStep, sets / kGrowthShare);
  const std::uint64_t most = std::min<std::uint64_t>(wanted, sets_.size() - sets) * kSetBytes;
  const std::uint64_t lent = device_->lend_room(most - most % kStepBytes, is_needed);
  if (lent == 0) return;  // the next page that finds no slot asks again
  evictions_.store_relaxed(0);
  refusals_.store_relaxed(0);
  can_grow_ = base::catching([&] { return grow_locked(sets + sets_of(lent)); }).is_ok();
  if (!can_grow_) device_->return_room(lent);
}

// K29. Sets that come have nothing that could be found.
Status NvmPages::grow_locked(std::uint32_t sets) {
  FOEDUS_CHECK(to_write_->preallocate(file_bytes(sets)));
  const std::uint64_t word = sets;
  FOEDUS_CHECK(to_write_->write_at(offsetof(NvmHeader, sets), &word, sizeof(word)));
  for (std::uint32_t i = file_sets_; i < sets; ++i) sets_[i].version.store_relaxed(kSeen);
  file_sets_ = sets;
  sets_in_use_.store_release(sets);  // order: release, pairs with look(): so has its room
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
