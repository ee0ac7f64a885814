#include "foedus-core/engine/sessions/catalog.h"

#include <algorithm>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/line_allocator.h"
#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/storage/dispatch.h"

namespace foedus::engine {

namespace {

// Longest wait of drop() for transactions that may still follow pointers to the storage's pages.
// If they take longer, a later Catalog::open() or drop() of any storage frees the pages.
constexpr std::uint64_t kFreeWaitUs = 100'000;
constexpr std::uint64_t kFreeLookUs = 1'000;

bool is_same_shape(const storage_meta::StorageMeta& a, const storage_meta::StorageMeta& b) {
  // fan_out_bits of a hash is not compared: it follows from the number of records that open_hash()
  // was told to expect. A later call may expect more or fewer, since the hash grows as needed.
  return a.kind == b.kind && a.records == b.records && a.payload_bytes == b.payload_bytes;
}

std::string in_words(const storage_meta::StorageMeta& meta) {
  return std::to_string(meta.records) + " records of " + std::to_string(meta.payload_bytes) +
         " bytes";
}

std::string in_words(StorageKind kind) {
  const std::string name(to_string(kind));
  if (kind == StorageKind::kSequential) return "a " + name + " storage";
  return (kind == StorageKind::kArray ? "an " : "a ") + name;
}

Status check_name(std::string_view name) {
  if (!name.empty() && name.size() <= kMaxStorageNameBytes) return {};
  return Status::error(ErrorCode::kInvalidArgument,
                       "a storage's name has 1 .. " + std::to_string(kMaxStorageNameBytes) +
                           " bytes, not " + std::to_string(name.size()));
}

// Returns the error of an open() whose `wanted` does not describe the storage of that name, `meta`.
Status other_shape(const storage_meta::StorageMeta& meta, const storage_meta::StorageMeta& wanted) {
  std::string text;
  if (meta.kind == wanted.kind) {
    text = "it has " + in_words(meta) + "; " + in_words(wanted) + " were asked for";
  } else {
    text = "it is " + in_words(meta.kind) + "; " + in_words(wanted.kind) + " was asked for";
  }
  Status status = Status::error(ErrorCode::kInvalidArgument, std::move(text));
  return std::move(status.at_storage(wanted.name));
}

}  // namespace

Result<occ::StorageControl*> Catalog::open(const storage_meta::StorageMeta& wanted) {
  FOEDUS_CHECK(check_name(wanted.name));
  if (!parts_.state->is_recovered()) [[unlikely]] {
    occ::StorageControl* const early = find_early(wanted);
    if (early != nullptr) return early;
    FOEDUS_CHECK(parts_.state->check_recovered());  // E24: waits, so before mutex_
  }
  const std::lock_guard lock(mutex_);
  free_dropped();
  auto found = by_name_.find(wanted.name);
  // If a drop of the storage has begun, but a full device stopped it, ends the drop first (E5).
  if (found != by_name_.end() && found->second->is_dropped()) {
    FOEDUS_CHECK(drop_found(found));
    found = by_name_.end();
  }
  if (reserved_.contains(wanted.name)) {
    return Status::error(ErrorCode::kBusy, "the storage is being loaded").at_storage(wanted.name);
  }
  const bool is_announced = found != by_name_.end();
  if (!is_announced && !unannounced_.contains(wanted.name)) FOEDUS_CHECK(create(wanted));
  const storage_meta::StorageMeta& meta =
      is_announced ? found->second->meta : unannounced_.at(wanted.name).control->meta;
  if (is_same_shape(meta, wanted)) {
    return is_announced ? Result(found->second) : announce(wanted.name);
  }
  return other_shape(meta, wanted);
}

// Returns the storage of `wanted` if the newest snapshot has it, else null. Recovery may drop the
// storage later, as if that drop came after this call. Returns null, too, for a storage of another
// shape: the log may drop it and create one of the wanted shape, so the caller waits for recovery.
occ::StorageControl* Catalog::find_early(const storage_meta::StorageMeta& wanted) const {
  const std::lock_guard lock(mutex_);
  const auto found = by_name_.find(wanted.name);
  if (found == by_name_.end() || !is_same_shape(found->second->meta, wanted)) return nullptr;
  return found->second;
}

Status Catalog::create(const storage_meta::StorageMeta& wanted) {
  storage_meta::StorageMeta meta = wanted;
  {
    const std::lock_guard lock(ids_mutex_);
    meta.id = page::StorageId{next_id_++};
  }
  auto control = std::make_unique<occ::StorageControl>(meta, parts_.database);
  occ::StorageControl* const made = control.get();
  // Allocates all memory first: after the create record is published nothing may fail, since the
  // catalog must know the storage.
  std::map<std::string, Unannounced> unannounced;
  unannounced.emplace(meta.name, Unannounced{std::move(control), Epoch()});
  std::map<std::uint32_t, Life> life;
  life.emplace(static_cast<std::uint32_t>(meta.id), Life{meta, Epoch(), Epoch()});
  FOEDUS_CHECK(storage::create(parts_.pool, parts_.ddl->pages(), made));
  const storage_meta::StorageParameters parameters = storage_meta::parameters_of(meta);
  const Result<Epoch> epoch = base::catching([&]() -> Result<Epoch> {
    FOEDUS_TRY(
        log::LogRecord* const record,
        parts_.ddl->prepare(log::LogRecordType::kCreateStorage, meta.id, meta.name,
                            {reinterpret_cast<const char*>(&parameters), sizeof(parameters)}));
    const std::lock_guard lock(ids_mutex_);  // E19: publishes and notes the epoch under it
    const Epoch created = parts_.ddl->publish(record);
    life.begin()->second.created = created;
    lives_.merge(life);
    return created;
  });
  if (!epoch.is_ok()) {
    storage::drop(parts_.pool, parts_.ddl->pages(), made);
    return std::move(Status(epoch.status()).at_storage(meta.name));
  }
  unannounced.begin()->second.epoch = *epoch;
  unannounced_.merge(unannounced);
  return {};
}

Result<occ::StorageControl*> Catalog::announce(const std::string& name) {
  const auto found = unannounced_.find(name);
  Status durable = parts_.durability->wait(found->second.epoch, Ticket::kForever);
  if (!durable.is_ok()) return std::move(durable.at_storage(name));
  occ::StorageControl* const created = found->second.control.get();
  StorageMap named;
  named.emplace(name, created);
  base::reserve_more(&controls_, 1);
  const std::lock_guard lock(ids_mutex_);
  by_id_.emplace(static_cast<std::uint32_t>(created->id()), created);
  by_name_.merge(named);
  controls_.push_back(std::move(found->second.control));
  unannounced_.erase(found);
  return created;
}

Status Catalog::drop(std::string_view name) {
  FOEDUS_CHECK(parts_.state->check_recovered());  // E24: waits, so before mutex_
  const std::lock_guard lock(mutex_);
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) {
    return Status::error(ErrorCode::kNotFound, "there is no storage '" + std::string(name) + "'");
  }
  return drop_found(found);
}

Status Catalog::drop_found(StorageMap::iterator found) {
  occ::StorageControl* const control = found->second;
  base::reserve_more(&dropped_, 1);
  log::LogRecord* record = nullptr;
  if (!is_drop_logged(*control)) {  // E5
    FOEDUS_TRY(record, parts_.ddl->prepare(log::LogRecordType::kDropStorage, control->id(),
                                           control->meta.name, {}));
  }
  // order: release, and the fence of E5: wait_published() below waits for each commit that does not
  // see the flag.
  control->set_dropped();
  base::fence_seq_cst();
  FOEDUS_SYNC_POINT("catalog:drop_marked");
  const Epoch epoch = parts_.clock->current();
  parts_.ddl->wait_published(epoch);
  FOEDUS_CHECK(parts_.durability->wait(publish_drop(*control, record), Ticket::kForever));
  by_name_.erase(found);
  dropped_.push_back({control, epoch});
  for (std::uint64_t waited_us = 0; waited_us < kFreeWaitUs; waited_us += kFreeLookUs) {
    free_dropped();
    if (dropped_.empty()) break;
    parts_.runtime->pause(kFreeLookUs);
  }
  return {};
}

Result<storage_meta::StorageMeta> Catalog::reserve(std::string_view name) {
  FOEDUS_CHECK(check_name(name));
  FOEDUS_CHECK(parts_.state->check_recovered());  // E24: waits, so before mutex_
  storage_meta::StorageMeta meta{.kind = StorageKind::kMasstree, .name = std::string(name)};
  const std::lock_guard lock(mutex_);
  if (by_name_.contains(meta.name) || unannounced_.contains(meta.name)) {
    return Status::error(ErrorCode::kAlreadyExists,
                         "there is a storage of that name; a load makes a new one");
  }
  reserved_.insert(meta.name);
  const std::lock_guard lock_ids(ids_mutex_);
  meta.id = page::StorageId{next_id_++};
  return meta;
}

void Catalog::release(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto found = reserved_.find(name);
  if (found != reserved_.end()) reserved_.erase(found);
}

Result<occ::StorageControl*> Catalog::enter_loaded(const storage_meta::StorageMeta& meta,
                                                   page::SnapshotPageId root) {
  const std::lock_guard lock(mutex_);
  auto control = std::make_unique<occ::StorageControl>(meta, parts_.database);
  occ::StorageControl* const loaded = control.get();
  // Allocates all memory first: once the storage has pages, nothing may fail.
  StorageMap named;
  named.emplace(meta.name, loaded);
  std::map<std::uint32_t, occ::StorageControl*> numbered;
  numbered.emplace(static_cast<std::uint32_t>(meta.id), loaded);
  std::map<std::uint32_t, Life> life;
  life.emplace(static_cast<std::uint32_t>(meta.id), Life{meta, Epoch(), Epoch()});
  base::reserve_more(&controls_, 1);
  FOEDUS_CHECK(set_root(loaded, root));
  const std::lock_guard lock_ids(ids_mutex_);
  controls_.push_back(std::move(control));
  by_name_.merge(named);
  by_id_.merge(numbered);
  lives_.merge(life);
  reserved_.erase(meta.name);
  return loaded;
}

bool Catalog::is_drop_logged(const occ::StorageControl& control) const {
  const std::lock_guard lock(ids_mutex_);
  return lives_.at(static_cast<std::uint32_t>(control.id())).dropped.is_valid();
}

// Logs the drop by `record`; null: an earlier call has logged it. Returns the epoch of the drop.
Epoch Catalog::publish_drop(const occ::StorageControl& control, log::LogRecord* record) {
  const std::lock_guard lock(ids_mutex_);  // E19: publishes and notes the epoch under it
  const auto id = static_cast<std::uint32_t>(control.id());
  Life& life = lives_.at(id);
  if (record != nullptr) {
    life.dropped = parts_.ddl->publish(record);
    by_id_.erase(id);
  }
  return life.dropped;
}

void Catalog::free_dropped() {
  std::erase_if(dropped_, [this](const Dropped& dropped) {
    if (parts_.clock->reclaimable() < dropped.epoch) return false;
    // If memory runs out in storage::drop(), the pages are not reused until the database is closed.
    base::trying([&] { storage::drop(parts_.pool, parts_.ddl->pages(), dropped.control); });
    return true;
  });
  parts_.ddl->pages()->reclaim();
}

std::vector<StorageInfo> Catalog::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<StorageInfo> infos;
  for (const auto& [name, control] : by_name_) {
    infos.push_back({static_cast<std::uint32_t>(control->id()), control->meta.kind, name,
                     control->meta.records, control->meta.payload_bytes});
  }
  return infos;
}

void Catalog::add_stats(Stats* stats) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [name, control] : by_name_) {
    StorageStats one;
    one.name = name;
    // order: relaxed, statistics.
    one.volatile_pages = control->volatile_pages.load_relaxed();
    const occ::StorageControl* const delta = control->made_delta() ? control->delta.get() : nullptr;
    if (delta != nullptr) one.volatile_pages += delta->volatile_pages.load_relaxed();
    for (std::size_t i = 0; i < kConflictReasonCount; ++i) {
      one.conflicts[i] = control->conflicts[i].load_relaxed();
      if (delta != nullptr) one.conflicts[i] += delta->conflicts[i].load_relaxed();
    }
    stats->volatile_page_bytes += one.volatile_pages * page::kPageBytes;
    stats->storages.push_back(std::move(one));
  }
}

// ---- recovery

void Catalog::announce_found(const storage_meta::StorageMeta& meta) {
  const std::lock_guard lock(mutex_);
  controls_.push_back(std::make_unique<occ::StorageControl>(meta, parts_.database));
  by_name_.emplace(meta.name, controls_.back().get());
}

// Sessions need no precautions: until recovery is over, no session follows the roots that are set
// here (E23).
Status Catalog::recover(const RecoveredCatalog& found, const snapshot::Manifest* newest) {
  const std::lock_guard lock(mutex_);
  std::map<page::StorageId, occ::StorageControl*> known;
  for (const auto& [name, control] : by_name_) known.emplace(control->id(), control);
  Recovered recovered;
  for (const storage_meta::StorageMeta& meta : found.storages) {
    occ::StorageControl*& control = known[meta.id];
    if (control == nullptr) {
      controls_.push_back(std::make_unique<occ::StorageControl>(meta, parts_.database));
      control = controls_.back().get();
    }
    FOEDUS_INVARIANT(control->meta.name == meta.name, static_cast<std::uint32_t>(meta.id));
    FOEDUS_CHECK(set_root(control, snapshot::root_in(newest, meta.id)));
    const bool is_only = recovered.by_name.emplace(meta.name, control).second;
    FOEDUS_INVARIANT(is_only, static_cast<std::uint32_t>(meta.id));
    const auto id = static_cast<std::uint32_t>(meta.id);
    recovered.by_id.emplace(id, control);
    recovered.lives.emplace(id, Life{control->meta, Epoch(), Epoch()});
    known.erase(meta.id);
  }
  for (const auto& [id, control] : known) recovered.dropped.push_back(control);
  recovered.next_id = static_cast<std::uint32_t>(found.next_storage_id);
  recovered_ = std::move(recovered);
  return {};
}

// No commit to a storage that is dropped here can run (E23).
void Catalog::enter_recovered() noexcept {
  const std::lock_guard lock(mutex_);
  // order: release, pairs with is_dropped(). A fence as in a drop (E5) is not needed: no commit can
  // run.
  for (occ::StorageControl* const gone : recovered_.dropped) gone->set_dropped();
  by_name_ = std::move(recovered_.by_name);
  const std::lock_guard lock_ids(ids_mutex_);
  by_id_ = std::move(recovered_.by_id);
  lives_ = std::move(recovered_.lives);
  next_id_ = recovered_.next_id;
  recovered_ = {};
}

Status Catalog::set_root(occ::StorageControl* control, page::SnapshotPageId root) {
  if (root.is_null()) {
    return storage::create(parts_.pool, parts_.ddl->pages(), control);
  }
  const bool is_first = control->root.compare_exchange({}, {page::VolatilePageId(), root});
  FOEDUS_INVARIANT(is_first, root.word());
  // A drop_epoch of 0 would mean that no pointer of the storage leads to a snapshot page, and
  // installations would skip the storage.
  control->drop_epoch.store_release(1);  // order: relaxed would do, no thread uses it yet
  return {};
}

void Catalog::list_at(Epoch covered, std::vector<storage_meta::StorageMeta>* storages,
                      page::StorageId* next_id) const {
  const std::lock_guard lock(ids_mutex_);
  for (const auto& [id, life] : lives_) {
    const bool is_dropped = life.dropped.is_valid() && life.dropped <= covered;
    if (life.created <= covered && !is_dropped) storages->push_back(life.meta);
  }
  *next_id = page::StorageId{next_id_};
}

std::string Catalog::name_of(page::StorageId id) const {
  const std::lock_guard lock(ids_mutex_);
  const auto found = lives_.find(static_cast<std::uint32_t>(id));
  return found == lives_.end() ? std::string() : found->second.meta.name;
}

occ::StorageControl* Catalog::find(page::StorageId id) const {
  const std::lock_guard lock(ids_mutex_);
  const auto found = by_id_.find(static_cast<std::uint32_t>(id));
  return found == by_id_.end() ? nullptr : found->second;
}

}  // namespace foedus::engine
