#include "foedus-core/engine/glean/storage_loads.h"

#include <optional>
#include <utility>

#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/base/system/process.h"
#include "foedus-core/snapshot/files/manifest.h"
#include "foedus/limits.h"

namespace foedus::engine {

namespace {

constexpr unsigned kFileTries = 8;  // a glean may take the number of the file meanwhile

}  // namespace

StorageLoads::StorageLoads(const Parts& parts)
    : parts_(parts), opened_in_(std::make_shared<base::AtomicWord<std::uint64_t>>()) {
  // order: relaxed, a handle of a load comes later
  opened_in_->store_relaxed(base::process_generation());
}

Result<std::shared_ptr<StorageLoad>> StorageLoads::begin(std::string_view name) {
  auto load = std::make_shared<StorageLoad>();
  load->opened_in = opened_in_;
  {
    const std::lock_guard lock(mutex_);
    if (current_ != nullptr) {
      return Status::error(ErrorCode::kBusy,
                           "another storage is being loaded; one load runs at a time")
          .at_storage(name);
    }
    current_ = load;
  }
  Status status = base::catching([&] { return start(name, load.get()); });
  if (status.is_ok()) return load;
  parts_.catalog->release(name);  // only a load reserves names, and there is no other one
  const std::lock_guard lock(mutex_);
  in_making_.clear();
  current_.reset();
  return std::move(status.at_storage(name));
}

Status StorageLoads::start(std::string_view name, StorageLoad* load) {
  FOEDUS_TRY(load->meta, parts_.catalog->reserve(name));
  Status status;
  for (unsigned tries = 0; tries < kFileTries; ++tries) {
    const std::optional<snapshot::Manifest> newest = parts_.newest->get();
    const auto before = newest.has_value() ? static_cast<std::uint32_t>(newest->number) : 0;
    const snapshot::SnapshotName file{page::SnapshotNumber{before + 1}, kMaxSocs - 1};
    file_name_ = snapshot::snapshot_name(file.snapshot, file.soc);
    in_making_.set(file);  // F9: before the file is there
    auto tree =
        begin_tree_load(parts_.device, file, load->meta, page::Tid(parts_.clock->current(), 1));
    status = tree.status();
    if (tree.is_ok()) {
      load->tree = std::move(tree).value();
      return {};
    }
    if (status.code() != ErrorCode::kAlreadyExists) break;
  }
  return status;
}

Status StorageLoads::complete(StorageLoad* load) {
  if (load->tree == nullptr) return {};
  FOEDUS_TRY(LoadedStorage made, load->tree->finish());
  auto loaded = std::make_shared<const LoadedStorage>(std::move(made));
  load->tree.reset();
  const std::lock_guard lock(mutex_);
  load->loaded = std::move(loaded);
  return {};
}

occ::StorageControl* StorageLoads::control_of(const StorageLoad& load) const {
  const std::lock_guard lock(mutex_);
  return load.control;
}

void StorageLoads::withdraw(const std::shared_ptr<StorageLoad>& load) {
  load->tree.reset();
  const std::lock_guard lock(mutex_);
  if (current_ != load) return;
  load->is_withdrawn = true;
  if (load->is_offered) return;  // E61
  // A failure is ignored: the next glean removes the file as an orphaned one.
  base::trying([&] { (void)parts_.device->remove(file_name_).is_ok(); });
  end_current();
}

void StorageLoads::close() {
  // order: relaxed, no call of a load runs
  opened_in_->store_relaxed(0);
  const std::lock_guard lock(mutex_);
  if (current_ != nullptr) current_->tree.reset();
  current_.reset();
}

std::shared_ptr<const LoadedStorage> StorageLoads::offer() {
  const std::lock_guard lock(mutex_);
  if (current_ == nullptr || current_->is_withdrawn || current_->loaded == nullptr) return nullptr;
  current_->is_offered = true;
  return current_->loaded;
}

// The gleaner's task waits here for the catalog's mutex. A holder of that mutex may wait for the
// log. Its wait ends even if the log's device is full until a glean has removed log: it then
// returns an error.
Status StorageLoads::enter(const snapshot::Manifest& manifest) {
  const std::lock_guard lock(mutex_);
  // Until the load is complete, the loading thread may still set its name and id.
  if (current_ == nullptr || current_->loaded == nullptr) return {};
  const auto* const storage = snapshot::find_storage(&manifest, current_->meta.id);
  if (current_->is_withdrawn) {
    if (storage == nullptr) end_current();  // E61
    return {};
  }
  if (storage == nullptr) return {};
  FOEDUS_TRY(current_->control, parts_.catalog->enter_loaded(current_->meta, storage->root));
  in_making_.clear();
  current_.reset();
  return {};
}

void StorageLoads::end_current() {
  parts_.catalog->release(current_->meta.name);
  in_making_.clear();
  current_.reset();
}

}  // namespace foedus::engine
