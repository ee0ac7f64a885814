#include "foedus-core/device/tiers/tiered_device.h"

#include <algorithm>
#include <set>
#include <utility>

#include "foedus-core/device/io_queue.h"
#include "foedus-core/device/spread/spread_device.h"
#include "foedus-core/device/tier_names.h"
#include "foedus-core/device/tiers/extent_copy.h"

namespace foedus::device {

namespace {

constexpr std::uint64_t kFreeShare = 8;      // 1 of 8 parts of memory is kept free
constexpr std::uint64_t kLentShare = 32;     // 1 of 32 parts is made free for a borrower
constexpr std::uint64_t kBatchExtents = 64;  // that one sync of the SSD makes durable
constexpr int kRounds = 3;
constexpr std::uint64_t kMovedMax = 1024;    // extents of one make_room(), so that it ends soon

bool is_tiered(std::string_view name) {
  return name.starts_with(kTieredPrefix) && number_in_name(name).has_value();
}

// TieredReads: reads in flight of both parts, by the queue of the device behind. A read whose
// extents were moved meanwhile ends with no bytes, so that its caller reads again.
class TieredReads final : public IoQueue {
 public:
  explicit TieredReads(std::unique_ptr<IoQueue> behind) : behind_(std::move(behind)) {}

  bool add_read(const std::shared_ptr<const File>& file, std::uint64_t offset, const Bytes* parts,
                std::size_t count, std::uint32_t tag) override {
    const auto* const tiered = dynamic_cast<const TieredFile*>(file.get());
    if (tiered == nullptr) return behind_->add_read(file, offset, parts, count, tag);
    if (count_ == kRequestsMax) return false;
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < count; ++i) bytes += parts[i].bytes;
    bool on_ssd = false;
    const std::shared_ptr<const File> part = tiered->part_of(offset, bytes, &on_ssd);
    if (part == nullptr || !behind_->add_read(part, offset, parts, count, tag)) return false;
    if (!on_ssd) reads_[count_++] = {file, tiered, offset, bytes, tag};
    return true;
  }
  void send() override { behind_->send(); }
  bool next(bool waits, Done* done) override {
    if (!behind_->next(waits, done)) return false;
    for (std::uint32_t i = 0; i < count_; ++i) {
      if (reads_[i].tag != done->tag) continue;
      base::fence_reader();
      if (!reads_[i].tiered->is_on_memory(reads_[i].offset, reads_[i].bytes)) done->bytes = 0;
      reads_[i] = std::move(reads_[--count_]);
      reads_[count_] = {};
      break;
    }
    return true;
  }

 private:
  // A read of the part on memory.
  struct Read {
    std::shared_ptr<const File> file;
    const TieredFile* tiered = nullptr;  // the same object as `file`
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint32_t tag = 0;
  };
  const std::unique_ptr<IoQueue> behind_;
  std::uint32_t count_ = 0;
  Read reads_[kRequestsMax] = {};
};

}  // namespace

TieredDevice::TieredDevice(std::unique_ptr<Device> behind, const TierLimits& limits,
                           Access ssd_access, const TierStaging& staging)
    : behind_(std::move(behind)),
      limits_(limits),
      ssd_access_(ssd_access),
      staged_(behind_.get(), staging) {}

// ---- files -------------------------------------------------------------------------------------

Status TieredDevice::look() {
  FOEDUS_CHECK(staged_.recover());
  keep_lent(staged_.bytes());
  return look_at_files();
}

Status TieredDevice::look_to_read() {
  FOEDUS_CHECK(staged_.check_none());
  return look_at_files();
}

Status TieredDevice::look_at_files() {
  FOEDUS_TRY(const auto names, behind_->list());
  for (const std::string& name : names) {
    if (!is_tiered(name)) continue;
    // A damaged file is an error of its open(). Its removal needs no map.
    const auto nvm = behind_->open(name, Access::kRead);
    if (nvm.is_ok()) static_cast<void>(map_of(name, **nvm).is_ok());
  }
  return {};
}

Result<std::shared_ptr<ExtentMap>> TieredDevice::read_map(std::string_view name,
                                                          const File& nvm) const {
  FOEDUS_TRY(const std::uint64_t bytes, nvm.size());
  auto map = std::make_shared<ExtentMap>(bytes);
  const auto file = behind_->open(tiers_name(name), Access::kRead);
  if (file.code() == ErrorCode::kNotFound) return map;
  FOEDUS_CHECK(file.status());
  FOEDUS_CHECK(map->read(**file));
  return map;
}

Result<std::shared_ptr<ExtentMap>> TieredDevice::map_of(std::string_view name, const File& nvm) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(name);
    if (found != known_.end()) return found->second.map;
  }
  FOEDUS_TRY(auto map, read_map(name, nvm));
  const std::lock_guard lock(mutex_);
  const auto [known, is_new] = known_.emplace(name, Known{std::move(map), false});
  if (is_new) {
    const std::uint64_t on_ssd = known->second.map->count_on_ssd();
    ssd_extents_ += on_ssd;
    nvm_extents_ += known->second.map->extents() - on_ssd;
    known->second.is_discarded = on_ssd == 0;
  }
  return known->second.map;
}

Result<std::unique_ptr<File>> TieredDevice::open(std::string_view name, Access access) {
  if (!is_tiered(name)) return behind_->open(name, access);
  if (access == Access::kReadWrite || access == Access::kReadWriteDirect) {
    return Status::error(ErrorCode::kNotSupported, std::string(name) + " cannot be changed");
  }
  FOEDUS_TRY(std::unique_ptr<File> nvm, behind_->open(name, access));
  if (access == Access::kCreate || access == Access::kCreateDirect) {
    return std::unique_ptr<File>(std::make_unique<NewTieredFile>(
        behind_.get(), this, std::string(name), std::move(nvm)));
  }
  FOEDUS_TRY(auto map, map_of(name, *nvm));
  FOEDUS_TRY(auto file, TieredFile::open(behind_.get(), name, std::move(nvm), std::move(map),
                                         staged_.find(name), ssd_access_));
  return std::unique_ptr<File>(std::move(file));
}

Result<std::vector<std::string>> TieredDevice::list() const {
  FOEDUS_TRY(auto names, behind_->list());
  std::set<std::string> wholes;
  std::erase_if(names, [&](const std::string& name) {
    if (!number_in_name(name).has_value()) return false;
    std::string whole = whole_name(name);
    if (!is_tiered(whole)) return false;
    wholes.insert(std::move(whole));
    return true;
  });
  names.insert(names.end(), wholes.begin(), wholes.end());
  return names;
}

Status TieredDevice::remove(std::string_view name) {
  if (!is_tiered(name)) return behind_->remove(name);
  FOEDUS_CHECK(staged_.drop(name));  // V32
  {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(name);
    if (found != known_.end()) {
      const std::uint64_t on_ssd = found->second.map->count_on_ssd();
      ssd_extents_ -= on_ssd;
      nvm_extents_ -= found->second.map->extents() - on_ssd;
      known_.erase(found);
    }
  }
  const Status nvm = behind_->remove(name);
  bool was_there = nvm.is_ok();
  FOEDUS_CHECK(unless_gone(nvm));
  for (const std::string& part : {tiers_name(name), ssd_name(name)}) {
    const Status removed = behind_->remove(part);
    was_there = was_there || removed.is_ok();
    FOEDUS_CHECK(unless_gone(removed));
  }
  return was_there ? Status() : nvm;
}

std::unique_ptr<IoQueue> TieredDevice::make_io_queue() {
  auto queue = behind_->make_io_queue();
  if (queue == nullptr) return nullptr;
  return std::make_unique<TieredReads>(std::move(queue));
}

// ---- space -------------------------------------------------------------------------------------

Status TieredDevice::check_ssd_room_locked(std::uint64_t extents) const {
  const std::uint64_t limit = limits_.ssd_bytes;
  if (limit == 0 || (ssd_extents_ + extents) * kExtentBytes <= limit) return {};
  return Status::error(ErrorCode::kOutOfSpace, path() + ": the SSD tier has " +
                                                   std::to_string(ssd_extents_ * kExtentBytes) +
                                                   " bytes of snapshots of " + "the " +
                                                   std::to_string(limit) +
                                                   " that option tiers.ssd_bytes gives it");
}

Status TieredDevice::take_extent(bool* on_ssd) {
  const std::lock_guard lock(mutex_);
  if (!*on_ssd) {
    const std::uint64_t limit = limits_.nvm_bytes;
    if (limit == 0 || (nvm_extents_ + 1) * kExtentBytes + lent_bytes_ <= limit) {
      ++nvm_extents_;
      return {};
    }
  }
  FOEDUS_CHECK(check_ssd_room_locked(1));
  ++ssd_extents_;
  *on_ssd = true;
  return {};
}

void TieredDevice::give_back(std::uint64_t nvm_extents, std::uint64_t ssd_extents) {
  const std::lock_guard lock(mutex_);
  nvm_extents_ -= nvm_extents;
  ssd_extents_ -= ssd_extents;
}

// Counts no extents: take_extent() has counted them.
void TieredDevice::add_finished(const std::string& name, std::shared_ptr<ExtentMap> map) {
  const std::lock_guard lock(mutex_);
  known_.insert_or_assign(name, Known{std::move(map), true});
}

TierFill TieredDevice::fill() const {
  const std::lock_guard lock(mutex_);
  return {nvm_extents_ * kExtentBytes, ssd_extents_ * kExtentBytes, moved_extents_ * kExtentBytes};
}

std::uint64_t TieredDevice::lend_room(std::uint64_t most, bool moves) {
  most -= most % kExtentBytes;
  const std::lock_guard lock(mutex_);
  const std::uint64_t limit = limits_.nvm_bytes;
  const std::uint64_t taken = nvm_extents_ * kExtentBytes + lent_bytes_ + limit / kFreeShare;
  std::uint64_t lent = limit == 0 ? most : std::min(most, limit - std::min(limit, taken));
  lent -= lent % kExtentBytes;
  lent_bytes_ += lent;
  moves = moves && lent < most && nvm_extents_ != 0 && can_move_;
  if (moves) wants_room_.store_relaxed(1);  // order: relaxed, a hint
  return lent;
}

void TieredDevice::return_room(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  lent_bytes_ -= bytes;
}

void TieredDevice::keep_lent(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  lent_bytes_ += bytes;
}

// ---- the mover ---------------------------------------------------------------------------------

std::uint64_t TieredDevice::extents_to_move() const {
  const std::lock_guard lock(mutex_);
  const std::uint64_t limit = limits_.nvm_bytes;
  if (limit == 0) return 0;
  const std::uint64_t for_borrower = wants_room() ? limit / kLentShare : 0;
  const std::uint64_t others = limit / kFreeShare + for_borrower + lent_bytes_;
  const std::uint64_t kept = (limit - std::min(limit, others)) / kExtentBytes;
  return nvm_extents_ > kept ? nvm_extents_ - kept : 0;
}

Status TieredDevice::make_room() {
  Status moved = move_extents();
  const std::lock_guard lock(mutex_);
  can_move_ = moved.is_ok();
  wants_room_.store_relaxed(0);  // order: relaxed, a hint
  return moved;
}

// Flushes what is staged, then moves extents (V32). No file is made meanwhile (make_room()), so
// nothing is staged before the end.
Status TieredDevice::move_extents() {
  FOEDUS_CHECK(staged_.flush());
  std::vector<std::pair<std::string, Known>> files;
  {
    const std::lock_guard lock(mutex_);
    files.assign(known_.begin(), known_.end());
  }
  for (const auto& [name, known] : files) FOEDUS_CHECK(discard_orphaned_file(name, known));
  std::uint64_t left = std::min(extents_to_move(), kMovedMax);
  if (left == 0) return {};
  ExtentCopy copy(behind_.get(), staged_.make_queue());
  // The first round begins at the hand, the second at the start. The third one takes also extents
  // that were read.
  for (int round = 0; round < kRounds; ++round) {
    for (const auto& [name, known] : files) {
      if (left == 0) return {};
      if (round == 0 && name < hand_name_) continue;
      if (name != hand_name_) hand_extent_ = 0;
      hand_name_ = name;
      FOEDUS_CHECK(move_of_file(name, known.map.get(), round + 1 == kRounds, &copy, &left));
    }
    hand_name_.clear();
  }
  return {};
}

// Moves extents of a file, from the hand on. `is_last_round`: also those that were read since the
// hand's last pass.
Status TieredDevice::move_of_file(const std::string& name, ExtentMap* map, bool is_last_round,
                                  ExtentCopy* copy, std::uint64_t* left) {
  while (*left != 0 && hand_extent_ < map->extents()) {
    Batch batch;
    while (hand_extent_ < map->extents() && batch.size() < std::min(*left, kBatchExtents)) {
      const std::uint64_t extent = hand_extent_++;
      if (map->is_on_ssd(extent)) continue;
      if (map->take_read(extent) && !is_last_round) continue;
      batch.push_back(extent);
    }
    if (batch.empty()) break;
    FOEDUS_CHECK(move(name, map, batch, copy));
    *left -= batch.size();
  }
  return {};
}

// Moves a batch of extents: writes them to the SSD, then the map, and then discards them on memory
// (V24).
Status TieredDevice::move(const std::string& name, ExtentMap* map, const Batch& batch,
                          ExtentCopy* copy) {
  {
    const std::lock_guard lock(mutex_);
    FOEDUS_CHECK(check_ssd_room_locked(batch.size()));
  }
  if (map->count_on_ssd() == 0) FOEDUS_CHECK(make_parts(name, *map));
  FOEDUS_CHECK(copy->copy(name, batch));
  FOEDUS_TRY(const auto file, open_existing(behind_.get(), tiers_name(name), Access::kReadWrite));
  FOEDUS_CHECK(map->write_with(batch, file.get()));
  for (const std::uint64_t extent : batch) map->set_on_ssd(extent);
  {
    const std::lock_guard lock(mutex_);
    nvm_extents_ -= batch.size();
    ssd_extents_ += batch.size();
    moved_extents_ += batch.size();
  }
  note_discarded(name, false);
  FOEDUS_CHECK(discard_extents(name, batch));
  note_discarded(name, true);
  return {};
}

void TieredDevice::note_discarded(const std::string& name, bool is_discarded) {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(name);
  if (found != known_.end()) found->second.is_discarded = is_discarded;
}

// Makes the part on the SSD and the map. A crash may have left either, with nothing in it that
// counts.
Status TieredDevice::make_parts(std::string_view name, const ExtentMap& map) {
  const auto ssd = behind_->open(ssd_name(name), Access::kCreateDirect);
  if (ssd.code() != ErrorCode::kAlreadyExists) FOEDUS_CHECK(ssd.status());
  auto tiers = behind_->open(tiers_name(name), Access::kCreate);
  if (tiers.code() == ErrorCode::kAlreadyExists) {
    tiers = behind_->open(tiers_name(name), Access::kReadWrite);
  }
  FOEDUS_CHECK(tiers.status());
  FOEDUS_CHECK(map.write(tiers->get()));
  return behind_->sync_directory();
}

Status TieredDevice::discard_extents(const std::string& name, const Batch& batch) {
  std::vector<Range> ranges;
  constexpr std::uint64_t kAny = ~std::uint64_t{0};
  for (const ExtentRun& run : runs_of(batch, kAny)) {
    ranges.push_back({run.first * kExtentBytes, run.count * kExtentBytes});
  }
  return behind_->discard(name, ranges.data(), ranges.size());
}

// Gives back space of extents that lie on the SSD, if a crash or an error came before their
// discard_extents(). The map may then be visible and not durable, and after a failed sync no later
// one helps (V2). So the map is written again first.
Status TieredDevice::discard_orphaned_file(const std::string& name, const Known& known) {
  if (known.is_discarded) return {};
  FOEDUS_TRY(const auto file, open_existing(behind_.get(), tiers_name(name), Access::kReadWrite));
  FOEDUS_CHECK(known.map->write(file.get()));
  FOEDUS_CHECK(behind_->sync_directory());
  Batch on_ssd;
  for (std::uint64_t i = 0; i < known.map->extents(); ++i) {
    if (known.map->is_on_ssd(i)) on_ssd.push_back(i);
  }
  FOEDUS_CHECK(discard_extents(name, on_ssd));
  note_discarded(name, true);
  return {};
}

}  // namespace foedus::device
