#include "tools/foedus/salvage/salvage.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "foedus-core/snapshot/files/format.h"
#include "tools/foedus/describe.h"
#include "tools/foedus/dump/dump_writer.h"
#include "tools/foedus/salvage/storage_rows.h"

namespace foedus::cli {

Result<Salvage> Salvage::plan(const ClosedDatabase& database, const SalvageOptions& options,
                              Losses* losses) {
  Salvage salvage(database, losses);
  FOEDUS_CHECK(salvage.choose_manifest());
  const Epoch covered = salvage.manifest_.has_value() ? salvage.manifest_->covered : Epoch();
  FOEDUS_TRY(salvage.tail_, read_log_tail(database, covered, losses));
  LogTail& tail = salvage.tail_;
  for (const auto& [id, records] : tail.records) {
    salvage.later_records_ += static_cast<std::uint64_t>(std::count_if(
        records.begin(), records.end(),
        [&tail](const TailRecord& record) { return record.tid.epoch() > tail.whole; }));
  }
  if (!options.is_newest) tail.forget_later();
  FOEDUS_CHECK(salvage.find_storages());
  if (salvage.storages_.empty() && !salvage.manifest_.has_value() && losses->count() != 0) {
    return Status::error(ErrorCode::kCorruption,
                         salvage.later_records_ == 0
                             ? "nothing can be salvaged: there is neither a snapshot nor a log "
                               "that can be read"
                             : "nothing that is surely consistent can be salvaged; --newest takes "
                               "what checks out of the log");
  }
  FOEDUS_CHECK(salvage.select(options.storages));
  return salvage;
}

// Takes the newest snapshot whose manifest can be read and that has a file which can be opened. The
// log after an older one is there unless segments were removed for the newer one (J3).
Status Salvage::choose_manifest() {
  const auto& numbers = database_->manifests;
  for (auto number = numbers.rbegin(); number != numbers.rend(); ++number) {
    const std::string name = snapshot::manifest_name(*number);
    auto read = snapshot::read_manifest(database_->device.get(), *number);
    if (read.code() == ErrorCode::kWrongVersion) return read.status();
    if (!read.is_ok()) {
      losses_->file(name, read.status().message() + "; an older snapshot is looked for");
      continue;
    }
    if (!has_files(*read)) {
      losses_->file(name, "none of its files can be opened; an older snapshot is looked for");
      continue;
    }
    manifest_ = std::move(read).value();
    return {};
  }
  return {};
}

bool Salvage::has_files(const snapshot::Manifest& manifest) const {
  return manifest.files.empty() ||
         std::any_of(manifest.files.begin(), manifest.files.end(), [this](const auto& file) {
           const std::string name = snapshot::snapshot_name(file.snapshot, file.soc);
           return database_->device->open(name, device::Access::kRead).is_ok();
         });
}

// Finds the storages that exist at the end of the log that is used. Ids are never used again, so
// the order of creations and drops does not matter.
Status Salvage::find_storages() {
  std::map<page::StorageId, storage_meta::StorageMeta> found;
  if (manifest_.has_value()) {
    for (const auto& storage : manifest_->storages) found[storage.id] = meta_of(storage);
  }
  std::vector<page::StorageId> dropped;
  for (auto& [id, records] : tail_.records) {
    for (const TailRecord& record : records) {
      if (record.type == log::LogRecordType::kDropStorage) dropped.push_back(id);
      if (record.type != log::LogRecordType::kCreateStorage) continue;
      auto meta = storage_meta::parse(id, record.key, record.payload);
      if (meta.is_ok()) {
        found[id] = std::move(meta).value();
      } else {
        losses_->row(record.key, meta.status().message());
      }
    }
    std::erase_if(records, [](const TailRecord& record) {
      return record.type == log::LogRecordType::kCreateStorage ||
             record.type == log::LogRecordType::kDropStorage;
    });
  }
  for (const page::StorageId id : dropped) found.erase(id);
  // After the whole epoch a drop may be missing: the newer storage of a name counts.
  std::map<std::string, storage_meta::StorageMeta> by_name;
  for (const auto& [id, meta] : found) {
    if (by_name.contains(meta.name)) losses_->row(meta.name, "an older storage of that name");
    by_name[meta.name] = meta;
  }
  for (const auto& [name, meta] : by_name) storages_.push_back({meta, 0});
  return {};
}

Status Salvage::select(const std::vector<std::string>& names) {
  if (names.empty()) return {};
  std::vector<SalvagedStorage> selected;
  for (const std::string& name : names) {
    const auto found =
        std::find_if(storages_.begin(), storages_.end(),
                     [&name](const SalvagedStorage& one) { return one.meta.name == name; });
    if (found == storages_.end()) {
      return Status::error(ErrorCode::kNotFound, "there is no storage " + cli::quoted(name));
    }
    selected.push_back(*found);
  }
  storages_ = std::move(selected);
  return {};
}

namespace {

// A walk gets the storage to which rows go after it was made.
class CurrentRows final : public PageRows {
 public:
  void set(StorageRows* rows) { rows_ = rows; }
  void row(const PageRow& row) override { rows_->row(row); }
  void lost(const LostRows& rows) override { rows_->lost(rows); }

 private:
  StorageRows* rows_ = nullptr;
};

}  // namespace

void Salvage::write(DumpFormat format, const Progress& progress, std::ostream* out) {
  const std::unique_ptr<DumpWriter> writer = make_dump_writer(format, out);
  CurrentRows current;
  std::optional<PageWalk> walk;
  if (manifest_.has_value()) {
    walk.emplace(database_->device.get(), *manifest_, losses_->findings(), progress, &current);
    losses_->settle();
  }
  writer->begin();
  for (SalvagedStorage& storage : storages_) {
    const storage_meta::StorageMeta& meta = storage.meta;
    writer->storage(meta.name, {meta.kind, meta.records, meta.payload_bytes});
    StorageRows rows(meta, std::move(tail_.records[meta.id]), tail_.whole, writer.get(), losses_);
    current.set(&rows);
    const snapshot::ManifestStorage* const in_snapshot =
        manifest_.has_value() ? snapshot::find_storage(&*manifest_, meta.id) : nullptr;
    if (in_snapshot != nullptr) walk->run(*in_snapshot);
    rows.finish();
    storage.rows = rows.rows();
  }
  writer->end({storages_.size(), rows()});
}

std::uint64_t Salvage::rows() const {
  std::uint64_t rows = 0;
  for (const SalvagedStorage& storage : storages_) rows += storage.rows;
  return rows;
}

}  // namespace foedus::cli
