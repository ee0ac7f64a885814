#include "foedus-core/snapshot/nvm_pages.h"

#include <algorithm>
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
constexpr std::uint32_t kNvmVersion = 1;

// Page 0 of the file; the rest of it is zero.
struct NvmHeader {
  std::uint64_t magic;    // +8 -> 8
  std::uint32_t version;  // +4 -> 12
  std::uint32_t crc;      // +4 -> 16  of the header
  std::uint64_t name;     // +8 -> 24  K27
};
static_assert(offsetof(NvmHeader, crc) == kChecksumOffset);

// Two different mixes of an id: the set, and what the admission set knows of it.
std::uint64_t mixed(page::SnapshotPageId id) {
  std::uint64_t word = id.word() * 0x9e3779b97f4a7c15u;
  word ^= word >> 32;
  return word * 0xd6e8feb86659fd93u;
}
std::uint32_t print_of(page::SnapshotPageId id) {
  const auto print = static_cast<std::uint32_t>(mixed(id) ^ id.word());
  return print == 0 ? 1 : print;
}

}  // namespace

NvmPages::NvmPages(device::Device* device, std::uint64_t sets) : device_(device), sets_(sets) {}

// ---- the file ----------------------------------------------------------------------------------

std::unique_ptr<NvmPages> NvmPages::open(device::Device* device, std::uint64_t bytes) {
  std::unique_ptr<NvmPages> pages(new NvmPages(device, sets_of(bytes)));
  // adopt() makes a file anew that cannot be opened or read, and says what is wrong with it.
  if (!pages->open_files().is_ok()) pages->close_files();
  return pages;
}

std::uint64_t NvmPages::sets_of(std::uint64_t bytes) {
  FOEDUS_INVARIANT(bytes >= 2 * kWays * page::kPageBytes, bytes);
  return (bytes / page::kPageBytes - 1) / kWays;
}

void NvmPages::close_files() {
  to_write_.reset();
  to_read_.reset();
}

std::uint64_t NvmPages::file_bytes() const {
  return (sets_.size() * kWays + 1) * page::kPageBytes;
}

// Takes a file of this size with a whole header. adopt() makes any other one anew.
Status NvmPages::open_files() {
  auto file = device_->open(kFileName, device::Access::kReadWrite);
  if (file.code() == ErrorCode::kNotFound) return {};
  FOEDUS_CHECK(file.status());
  FOEDUS_TRY(const std::uint64_t bytes, (*file)->size());
  NvmHeader header = {};
  FOEDUS_TRY(const std::size_t read, (*file)->read_at(0, &header, sizeof(header)));
  if (bytes != file_bytes() || read < sizeof(header) || header.magic != kNvmMagic) return {};
  if (header.crc != checksum_of(&header, sizeof(header))) return {};
  if (header.version != kNvmVersion) return {};
  found_name_ = header.name;
  to_write_ = std::move(*file);
  FOEDUS_TRY(to_read_, device_->open(kFileName, device::Access::kRead));
  return {};
}

Status NvmPages::make_files() {
  close_files();
  FOEDUS_CHECK(device::unless_gone(device_->remove(kFileName)));
  FOEDUS_TRY(to_write_, device_->open(kFileName, device::Access::kCreate));
  FOEDUS_CHECK(to_write_->preallocate(file_bytes()));
  FOEDUS_TRY(to_read_, device_->open(kFileName, device::Access::kRead));
  return {};
}

Status NvmPages::write_header(std::uint64_t name) {
  NvmHeader header{.magic = kNvmMagic, .version = kNvmVersion, .crc = 0, .name = name};
  header.crc = checksum_of(&header, sizeof(header));
  FOEDUS_CHECK(to_write_->write_at(0, &header, sizeof(header)));
  return to_write_->sync();
}

Status NvmPages::adopt(std::uint64_t name) {
  Status adopted = try_adopt(name);
  if (adopted.is_ok()) return adopted;
  // order: relaxed; nothing of the new snapshot is read yet.
  is_adopted_.store_relaxed(0);
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
  is_adopted_.store_release(1);  // order: release, pairs with look(): the files are there
  return {};
}

std::uint64_t NvmPages::slot_offset(const Set* set, std::uint32_t way) const {
  const auto index = static_cast<std::uint64_t>(set - sets_.data());
  return (1 + index * kWays + way) * page::kPageBytes;
}

// ---- readers -----------------------------------------------------------------------------------

NvmPages::Look NvmPages::look(page::SnapshotPageId id) {
  // order: acquire, pairs with adopt().
  if (is_adopted_.load_acquire() == 0) return {nullptr, 0, kNoWay};
  Set* const set = &sets_[mixed(id) % sets_.size()];
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
  set->version.store_release(next == 0 ? 2 : next);            // order: release, pairs with look()
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
    const bool is_ours = !id.is_null() && &sets_[mixed(id) % sets_.size()] == set;
    if (is_ours) name_slot(set, way, id.word());
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
  const std::lock_guard lock(stripe_of(found.set).lock);
  const std::uint32_t way = choose_locked(found.set, id);
  if (way != kNoWay) put_locked(found.set, way, id, page);
}

// The slot that the page gets; kNoWay: none.
std::uint32_t NvmPages::choose_locked(Set* set, page::SnapshotPageId id) {
  // order: relaxed in all of it, changed under the lock, or hints.
  for (std::uint32_t way = 0; way < kWays; ++way) {
    if (set->ids[way].load_relaxed() == id.word()) return kNoWay;
  }
  for (std::uint32_t way = 0; way < kWays; ++way) {
    if (set->ids[way].load_relaxed() == 0) return way;
  }
  std::uint32_t* const end = set->seen + kWays;
  std::uint32_t* const seen = std::find(set->seen, end, print_of(id));
  if (seen == end) {
    set->seen[set->next_seen++ % kWays] = print_of(id);
    return kNoWay;
  }
  *seen = 0;
  for (;;) {
    const std::uint32_t way = set->hand++ % kWays;
    if (set->used[way].load_relaxed() == 0) return way;
    set->used[way].store_relaxed(0);
  }
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

NvmPagesStatistics NvmPages::statistics() const {
  NvmPagesStatistics all;
  for (const Stripe& stripe : stripes_) {
    all.pages += stripe.pages.load_relaxed();  // order: relaxed twice, statistics
    all.reads += stripe.reads.load_relaxed();
  }
  return all;
}

}  // namespace foedus::snapshot
