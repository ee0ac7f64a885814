#include "foedus-core/device/tiers/staged_files.h"

#include <utility>

#include "foedus-core/device/io_queue.h"
#include "foedus-core/device/staging/slot_writer.h"
#include "foedus-core/device/tier_names.h"

namespace foedus::device {

namespace {

constexpr std::uint32_t kStagedBuckets = 4;
constexpr std::uint64_t kStagedSlotsMin = 8;  // fewer would cost more than they save
constexpr std::uint32_t kWriters = 4;         // tasks in place of a queue

// Returns how many slots a bucket has, as many as the bytes allow; 0: they allow too few.
std::uint32_t slots_of(const TierStaging& options) {
  if (options.runtime == nullptr) return 0;
  const std::uint64_t bytes = options.bytes / options.directories;
  for (std::uint64_t slots = bytes / kStagedBuckets / kBlockBytes; slots >= kStagedSlotsMin;
       --slots) {
    const auto count = static_cast<std::uint32_t>(slots);
    if (StagingArea::bytes_of({kStagedBuckets, count}) <= bytes) return count;
  }
  return 0;
}

// Opens the SSD part of a number. Null: the file is gone, or a crash came before its name was
// durable, so that it does not count.
Result<std::shared_ptr<File>> find_part(Device* device, std::uint64_t id, Access access) {
  auto file = device->open(staged_name(id), access);
  if (file.code() == ErrorCode::kNotFound) return std::shared_ptr<File>();
  FOEDUS_CHECK(file.status());
  return std::shared_ptr<File>(std::move(*file));
}

}  // namespace

StagedFiles::StagedFiles(Device* behind, const TierStaging& options)
    : behind_(behind), options_(options), slots_(slots_of(options)) {}

std::uint64_t StagedFiles::bytes() const {
  return slots_ == 0 ? 0
                     : options_.directories * StagingArea::bytes_of({kStagedBuckets, slots_});
}

// Abandons the buffer in a child of fork(), which has none of the tasks whose end it waits for.
StagedFiles::~StagedFiles() {
  if (generation_ == base::process_generation()) return;
  static_cast<void>(buffer_.release());
  static_cast<void>(pool_.release());
}

ResolveTarget StagedFiles::resolve() const {
  return [this](std::uint64_t id) {
    return find_part(behind_, id, Access::kReadWriteDirect);
  };
}

Status StagedFiles::recover() {
  return recover_staged(behind_, make_queue(), resolve()).status();
}

// Makes the areas anew (V33). recover() has emptied the old ones, so nothing is lost with them. If
// memory has no space for areas, pages are written to the SSD at once.
Status StagedFiles::make_buffer_locked() {
  FOEDUS_CHECK(remove_areas(behind_));
  const StagingOptions options{.partitions = options_.directories,
                               .buckets = kStagedBuckets,
                               .slots = slots_,
                               .flushers = options_.directories,
                               .spread = StagingSpread::kPlaced};
  auto opened = StagingBuffer::open(behind_, options_.runtime, options,
                                    [this] { return make_queue(); }, resolve());
  has_no_room_ = opened.code() == ErrorCode::kOutOfSpace;
  if (has_no_room_) return remove_areas(behind_);
  FOEDUS_TRY(buffer_, std::move(opened));
  return {};
}

// Ignores files without a map, which were not finished and count nowhere (V23).
Status StagedFiles::check_none() {
  const auto resolve = [this](std::uint64_t id) -> Result<std::shared_ptr<File>> {
    const auto map = behind_->open(tiers_name(whole_name(staged_name(id))), Access::kRead);
    if (map.code() == ErrorCode::kNotFound) return std::shared_ptr<File>();
    FOEDUS_CHECK(map.status());
    return find_part(behind_, id, Access::kRead);
  };
  FOEDUS_TRY(const bool is_staged, has_staged_pages(behind_, resolve));
  if (!is_staged) return {};
  return Status::error(ErrorCode::kNotSupported,
                       behind_->path() + ": pages of snapshots are on their way to the SSD, in " +
                           std::string(kStagingPrefix) +
                           "... files; open the database once, which writes them there, before "
                           "its directories are only read");
}

std::unique_ptr<IoQueue> StagedFiles::make_queue() {
  auto queue = behind_->make_io_queue();
  if (queue != nullptr || options_.runtime == nullptr) return queue;
  const std::lock_guard lock(pool_mutex_);
  if (pool_ == nullptr) pool_ = std::make_unique<IoPool>(options_.runtime, kWriters);
  return pool_->make_queue();
}

Result<StagedPart> StagedFiles::add(const std::string& name, const std::shared_ptr<File>& ssd) {
  const auto id = staged_id(ssd_name(name));
  if (slots_ == 0 || !id.has_value()) return StagedPart();
  auto target = std::make_shared<StagingTarget>(*id, ssd);
  const std::lock_guard lock(mutex_);
  if (buffer_ == nullptr && !has_no_room_) FOEDUS_CHECK(make_buffer_locked());
  if (has_no_room_) return StagedPart();
  targets_.insert_or_assign(name, target);
  return StagedPart{buffer_.get(), std::move(target)};
}

StagedPart StagedFiles::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = targets_.find(name);
  if (found == targets_.end()) return {};
  return {buffer_.get(), found->second};
}

Status StagedFiles::drop(std::string_view name) {
  const StagedPart staged = find(name);
  if (staged.target == nullptr) return {};
  FOEDUS_CHECK(staged.buffer->drop(staged.target.get()));
  const std::lock_guard lock(mutex_);
  targets_.erase(std::string(name));
  return {};
}

// Forgets targets that only targets_ refers to: no bucket has a page of them, and no open file uses
// them.
Status StagedFiles::flush() {
  StagingBuffer* buffer = nullptr;
  {
    const std::lock_guard lock(mutex_);
    buffer = buffer_.get();
  }
  if (buffer == nullptr) return {};
  FOEDUS_CHECK(buffer->flush());
  const std::lock_guard lock(mutex_);
  std::erase_if(targets_, [](const auto& entry) { return entry.second.use_count() == 1; });
  return {};
}

}  // namespace foedus::device
