#include "foedus-core/device/staging/slot_writer.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "foedus-core/base/invariant.h"
#include "foedus-core/device/spread/spread_device.h"
#include "foedus-core/device/tier_names.h"

namespace foedus::device {

SlotWriter::SlotWriter(std::uint32_t slots_max, std::unique_ptr<IoQueue> queue)
    : queue_(std::move(queue)), blocks_(new Block[slots_max]) {
  runs_.reserve(slots_max);
  files_.reserve(slots_max);
}

Status SlotWriter::write(const StagingArea& area, std::vector<SlotToWrite>* slots) {
  FOEDUS_INVARIANT(slots->size() <= runs_.capacity(), slots->size());
  std::sort(slots->begin(), slots->end(), [](const SlotToWrite& a, const SlotToWrite& b) {
    return std::tuple(a.target->id(), a.page) < std::tuple(b.target->id(), b.page);
  });
  for (std::size_t i = 0; i < slots->size(); ++i) {
    FOEDUS_CHECK(area.read((*slots)[i].bucket, (*slots)[i].slot, &blocks_[i]));
  }
  collect_runs(*slots);
  FOEDUS_CHECK(write_runs());
  for (const WrittenFile& file : files_) {
    FOEDUS_CHECK(file.target->syncs_.sync(file.target->file().get(), file.failed_syncs));
  }
  return {};
}

void SlotWriter::collect_runs(const std::vector<SlotToWrite>& slots) {
  runs_.clear();
  files_.clear();
  for (std::size_t i = 0; i < slots.size(); ++i) {
    StagingTarget* const target = slots[i].target.get();
    const std::uint64_t offset = slots[i].page * kBlockBytes;
    const bool is_new_file = files_.empty() || files_.back().target != target;
    if (is_new_file) files_.push_back({target, target->syncs_.failed()});
    if (!is_new_file && runs_.back().offset + runs_.back().bytes == offset) {
      runs_.back().bytes += kBlockBytes;
    } else {
      runs_.push_back({target, offset, blocks_[i].bytes, kBlockBytes});
    }
  }
}

bool SlotWriter::add(std::uint32_t run) {
  if (queue_ == nullptr) return false;
  const Run& added = runs_[run];
  return queue_->add_write(added.target->file(), added.offset, added.from, added.bytes, run);
}

// Writes all runs. Even after an error, it returns when the queue is empty: the next batch reuses
// the blocks.
Status SlotWriter::write_runs() {
  Status failed;
  const auto write_by_call = [&](std::uint32_t run) {
    const Run& left = runs_[run];
    Status written = left.target->file()->write_at(left.offset, left.from, left.bytes);
    if (failed.is_ok()) failed = std::move(written);
  };
  std::uint32_t in_flight = 0;
  for (std::uint32_t next = 0; next < runs_.size() || in_flight != 0;) {
    while (next < runs_.size() && add(next)) {
      ++next;
      ++in_flight;
    }
    if (in_flight == 0) {  // the queue takes none
      write_by_call(next++);
    } else {
      queue_->send();
      IoQueue::Done done;
      const bool has_ended = queue_->next(true, &done);
      FOEDUS_INVARIANT(has_ended, in_flight);
      --in_flight;
      if (done.bytes < runs_[done.tag].bytes) write_by_call(done.tag);
    }
    if (!failed.is_ok()) next = static_cast<std::uint32_t>(runs_.size());
  }
  return failed;
}

// ---- recovery ----------------------------------------------------------------------------------

namespace {

// A bucket in use, as it was found.
struct FoundBucket {
  StagingArea* area;
  std::uint32_t bucket;
  std::uint64_t sequence;
  std::vector<std::optional<StagedKey>> keys;
};

Result<std::vector<std::string>> area_names(Device* device) {
  FOEDUS_TRY(auto names, device->list());
  std::erase_if(names, [](const std::string& name) {
    return !name.starts_with(kStagingPrefix) || !number_in_name(name).has_value();
  });
  return names;
}

Result<std::vector<std::unique_ptr<StagingArea>>> find_areas(Device* device, Access access) {
  FOEDUS_TRY(const auto names, area_names(device));
  std::vector<std::unique_ptr<StagingArea>> areas;
  for (const std::string& name : names) {
    FOEDUS_TRY(auto area, StagingArea::find(device, name, access));
    if (area != nullptr) areas.push_back(std::move(area));
  }
  return areas;
}

// Returns the buckets in use, in the order of their sequence numbers.
Result<std::vector<FoundBucket>> find_buckets(
    const std::vector<std::unique_ptr<StagingArea>>& areas, std::uint64_t* highest) {
  std::vector<FoundBucket> found;
  for (const auto& area : areas) {
    FOEDUS_TRY(const auto states, area->states());
    for (std::uint32_t bucket = 0; bucket < states.size(); ++bucket) {
      const StagingArea::State& state = states[bucket];
      *highest = std::max(*highest, state.sequence);
      if (state.mark != StagingArea::Mark::kInUse) continue;
      FOEDUS_TRY(auto keys, area->keys(bucket, state.sequence));
      found.push_back({area.get(), bucket, state.sequence, std::move(keys)});
    }
  }
  std::sort(found.begin(), found.end(), [](const FoundBucket& a, const FoundBucket& b) {
    return a.sequence < b.sequence;
  });
  return found;
}

// Returns true if any bucket is in use.
Result<bool> has_buckets(Device* device, std::uint64_t* highest) {
  FOEDUS_TRY(const auto areas, find_areas(device, Access::kRead));
  FOEDUS_TRY(const std::vector<FoundBucket> buckets, find_buckets(areas, highest));
  return !buckets.empty();
}

// The files that staged pages are for, as they are found.
class FoundTargets {
 public:
  explicit FoundTargets(const ResolveTarget& resolve) : resolve_(resolve) {}
  // Finds the target of a number. Null: the file is gone.
  Result<std::shared_ptr<StagingTarget>> find(std::uint64_t id) {
    const auto known = targets_.find(id);
    if (known != targets_.end()) return known->second;
    FOEDUS_TRY(std::shared_ptr<File> file, resolve_(id));
    std::shared_ptr<StagingTarget> target;
    if (file != nullptr) target = std::make_shared<StagingTarget>(id, std::move(file));
    targets_.emplace(id, target);
    return target;
  }

 private:
  const ResolveTarget& resolve_;
  std::map<std::uint64_t, std::shared_ptr<StagingTarget>> targets_;
};

using PageName = std::pair<std::uint64_t, std::uint64_t>;  // target and page
using SlotPlace = std::pair<std::size_t, std::uint32_t>;   // index of a found bucket, and the slot

}  // namespace

Result<std::uint64_t> recover_staged(Device* device, std::unique_ptr<IoQueue> queue,
                                     const ResolveTarget& resolve) {
  std::uint64_t highest = 0;
  // Opens areas to be written only if a bucket is in use: a device may have to change something
  // before it opens a file to be written (V13).
  FOEDUS_TRY(const bool is_needed, has_buckets(device, &highest));
  if (!is_needed) return highest;
  FOEDUS_TRY(const auto areas, find_areas(device, Access::kReadWrite));
  FOEDUS_TRY(const std::vector<FoundBucket> buckets, find_buckets(areas, &highest));
  std::map<PageName, SlotPlace> newest;  // V28
  std::size_t slots_max = 0;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const auto& keys = buckets[i].keys;
    slots_max = std::max(slots_max, keys.size());
    for (std::uint32_t slot = 0; slot < keys.size(); ++slot) {
      if (keys[slot].has_value()) newest[{keys[slot]->target, keys[slot]->page}] = {i, slot};
    }
  }
  std::vector<std::vector<SlotToWrite>> slots(buckets.size());
  FoundTargets targets(resolve);
  for (const auto& [page, place] : newest) {
    FOEDUS_TRY(auto target, targets.find(page.first));
    if (target == nullptr) continue;
    slots[place.first].push_back(
        {std::move(target), page.second, buckets[place.first].bucket, place.second});
  }
  SlotWriter writer(static_cast<std::uint32_t>(slots_max), std::move(queue));
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const FoundBucket& found = buckets[i];
    FOEDUS_CHECK(writer.write(*found.area, &slots[i]));
    FOEDUS_CHECK(found.area->mark(found.bucket, found.sequence, StagingArea::Mark::kEmpty));
  }
  return highest;
}

Result<bool> has_staged_pages(Device* device, const ResolveTarget& resolve) {
  std::uint64_t highest = 0;
  FOEDUS_TRY(const auto areas, find_areas(device, Access::kRead));
  FOEDUS_TRY(const std::vector<FoundBucket> buckets, find_buckets(areas, &highest));
  FoundTargets targets(resolve);
  for (const FoundBucket& bucket : buckets) {
    for (const std::optional<StagedKey>& key : bucket.keys) {
      if (!key.has_value()) continue;
      FOEDUS_TRY(const auto target, targets.find(key->target));
      if (target != nullptr) return true;
    }
  }
  return false;
}

Status remove_areas(Device* device) {
  FOEDUS_TRY(const auto names, area_names(device));
  for (const std::string& name : names) FOEDUS_CHECK(unless_gone(device->remove(name)));
  return {};
}

}  // namespace foedus::device
