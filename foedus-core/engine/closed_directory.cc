#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "foedus-core/device/file_device.h"
#include "foedus-core/engine/snapshot_driver.h"
#include "foedus-core/log/log.h"
#include "foedus-core/snapshot/snapshot_format.h"

namespace foedus::engine {

namespace {

constexpr std::size_t kRecordSamplesMax = 8192;

class CatalogReader {
 public:
  explicit CatalogReader(const snapshot::Manifest* previous) {
    if (previous == nullptr) return;
    covered_ = previous->covered;
    next_id_ = static_cast<std::uint32_t>(previous->next_storage_id);
    known_before_ = next_id_;
    for (const snapshot::ManifestStorage& one : previous->storages) {
      storages_[one.id] = {one.id,      one.kind,          one.name,
                           one.records, one.payload_bytes, one.fan_out_bits};
    }
  }

  // The record came last out of `records`.
  Status read(const log::LogRecord& record, std::uint32_t soc, const log::SegmentRecords& records) {
    const auto id = static_cast<std::uint32_t>(record.storage_id);
    const bool is_covered = page::Tid(record.tid).epoch() <= covered_;
    if (id == ~std::uint32_t{0}) return records.corrupt("a record of an impossible storage");
    next_id_ = std::max(next_id_, id + 1);
    has_news_ = has_news_ || !is_covered;
    if (record.type == log::LogRecordType::kDropStorage) {
      if (record.payload_bytes() != 0) return records.corrupt("a drop that is none");
      dropped_.insert(record.storage_id);
      if (!is_covered) drops_.emplace_back(record.storage_id, record.key());
    } else if (record.type == log::LogRecordType::kCreateStorage) {
      if (!is_covered) return create(record, records);
    } else if (const Known* const known = find(record.storage_id)) {
      if (is_covered) return {};
      occ::PageSamples& samples = *known->samples;
      if (samples.is_next_taken()) samples.add(position_of(known->kind, record), soc);
    } else if (id >= known_before_) {
      unknown_.insert(record.storage_id);  // its creation may be in another segment
    }
    return {};
  }

  // Ids are never used again, and a name only after its storage was dropped.
  Result<FoundCatalog> finish() {
    FoundCatalog found;
    found.next_storage_id = page::StorageId{next_id_};
    found.has_news = has_news_;
    for (const page::StorageId id : unknown_) {
      if (storages_.contains(id) || dropped_.contains(id)) continue;
      return Status::error(ErrorCode::kCorruption,
                           "the log has records of storage " +
                               std::to_string(static_cast<std::uint32_t>(id)) +
                               ", which it never creates");
    }
    FOEDUS_CHECK(check_drops());
    std::set<std::string> names;
    for (auto& [id, meta] : storages_) {
      if (dropped_.contains(id)) continue;
      if (!names.insert(meta.name).second) return created_twice(meta.name);
      found.storages.push_back(std::move(meta));
      found.samples.push_back(samples_of(id).take());
    }
    return found;
  }

 private:
  struct Known {
    page::StorageId id{};
    StorageKind kind{};
    occ::PageSamples* samples = nullptr;
  };

  occ::PageSamples& samples_of(page::StorageId id) {
    return samples_.try_emplace(id, kRecordSamplesMax).first->second;
  }

  // Null: nothing has created it so far. Every record asks, and few storages have most of them.
  const Known* find(page::StorageId id) {
    Known& lately = lately_[static_cast<std::uint32_t>(id) % lately_.size()];
    if (lately.samples != nullptr && lately.id == id) return &lately;
    const auto found = storages_.find(id);
    if (found == storages_.end()) return nullptr;
    lately = {id, found->second.kind, &samples_of(id)};  // which stay where they are
    return &lately;
  }

  static Status created_twice(std::string_view name) {
    Status status = Status::error(ErrorCode::kCorruption, "the log creates a storage twice");
    return std::move(status.at_storage(name));
  }

  // A record of something else that became a drop would take a whole storage with it.
  Status check_drops() const {
    for (const auto& [id, name] : drops_) {
      const auto found = storages_.find(id);
      if (found != storages_.end() && found->second.name == name) continue;
      Status status = Status::error(
          ErrorCode::kCorruption, "the log drops storage " +
                                      std::to_string(static_cast<std::uint32_t>(id)) +
                                      ", which is not there, or has another name");
      return std::move(status.at_storage(name));
    }
    return {};
  }

  Status create(const log::LogRecord& record, const log::SegmentRecords& records) {
    Result<storage_meta::StorageMeta> meta =
        storage_meta::parse(record.storage_id, record.key(), record.payload());
    if (!meta.is_ok()) return records.corrupt("a creation of what cannot be a storage");
    if (storages_.contains(record.storage_id)) return created_twice(meta->name);
    storages_[record.storage_id] = std::move(meta).value();
    return {};
  }

  Epoch covered_;                   // by the snapshot before
  std::uint32_t known_before_ = 1;  // what it does not have of ids below was dropped
  std::uint32_t next_id_ = 1;
  bool has_news_ = false;
  std::map<page::StorageId, storage_meta::StorageMeta> storages_;
  std::map<page::StorageId, occ::PageSamples> samples_;
  std::array<Known, 64> lately_;  // that were found, by id
  std::set<page::StorageId> dropped_;
  std::vector<std::pair<page::StorageId, std::string>> drops_;  // behind the snapshot before
  std::set<page::StorageId> unknown_;
};

// A directory without a log is new, and has nothing else.
Status check_new(device::Device* device, const log::Log& log) {
  if (!log.was_missing()) return {};
  FOEDUS_TRY(const auto names, device->list());
  for (const std::string& name : names) {
    const bool is_of_database = snapshot::parse_manifest_name(name).has_value() ||
                                snapshot::parse_snapshot_name(name).has_value();
    if (!is_of_database) continue;
    return Status::error(ErrorCode::kCorruption,
                         device->path() + ": " + name + " is there, but the log is missing, and " +
                             "with it what was committed behind the newest snapshot");
  }
  return {};
}

}  // namespace

Result<FoundCatalog> read_found_catalog(const log::Log& log, const snapshot::Manifest* previous) {
  CatalogReader reader(previous);
  for (std::size_t i = 0; i < log.found_segment_count(); ++i) {
    const std::uint32_t soc = log.found_segment(i).soc;
    FOEDUS_TRY(const auto records, log.open_segment(i));
    for (;;) {
      std::uint32_t session = 0;
      FOEDUS_TRY(const log::LogRecord* const record, records->next(&session));
      if (record == nullptr) break;
      FOEDUS_CHECK(reader.read(*record, soc, *records));
    }
  }
  return reader.finish();
}

Result<std::optional<snapshot::Manifest>> find_newest_manifest(device::Device* device) {
  Result<snapshot::Manifest> found = snapshot::read_newest_manifest(device);
  if (found.is_ok()) return std::optional(std::move(found).value());
  if (found.code() != ErrorCode::kNotFound) return found.status();
  return std::optional<snapshot::Manifest>();
}

Status check_together(device::Device* device, const log::Log& log,
                      const std::optional<snapshot::Manifest>& newest) {
  FOEDUS_CHECK(check_new(device, log));
  const Epoch covered = newest.has_value() ? newest->covered : Epoch();
  const Epoch removed = log.removed_epoch_found();
  if (removed <= covered) return {};
  return Status::error(
      ErrorCode::kCorruption,
      device->path() + ": a manifest is missing: segments of epochs up to " +
          std::to_string(removed.number()) + " were removed because a snapshot covered them, and " +
          (newest.has_value() ? "the newest one that is left covers epochs up to " +
                                    std::to_string(covered.number())
                              : std::string("there is none")));
}

GleanOrder order_of_found(const log::Log& log, const snapshot::Manifest* previous) {
  GleanOrder order;
  order.previous = previous;
  order.covered = log.durable_epoch_found();
  order.newest_seen = std::max(order.covered, log.first_new_epoch().previous());
  if (previous != nullptr) {
    order.covered = std::max(order.covered, previous->covered);
    order.newest_seen = std::max(order.newest_seen, previous->newest_seen);
  }
  for (std::size_t i = 0; i < log.found_segment_count(); ++i) {
    order.segments.push_back([&log, i] { return log.open_segment(i); });
  }
  return order;
}

ClosedDirectory::~ClosedDirectory() = default;

Result<std::unique_ptr<ClosedDirectory>> ClosedDirectory::open(const std::string& dir,
                                                               std::uint32_t socs, LogSink sink) {
  std::unique_ptr<ClosedDirectory> opened(new ClosedDirectory());
  FOEDUS_CHECK(opened->read(dir, socs, std::move(sink)));
  return opened;
}

Status ClosedDirectory::read(const std::string& dir, std::uint32_t socs, LogSink sink) {
  runtime_ = base::make_thread_runtime();
  FOEDUS_TRY(numa::Topology topology, numa::Topology::make(socs));
  topology_ = std::make_unique<numa::Topology>(std::move(topology));
  FOEDUS_TRY(device_, device::FileDevice::open(dir, Facility::kTry));
  FOEDUS_TRY(log_, log::Log::open(device_.get(), runtime_.get(), {.socs = topology_->socs()},
                                  std::move(sink)));
  FOEDUS_CHECK(log_->make_cut_durable());  // E13
  FOEDUS_TRY(manifest_, find_newest_manifest(device_.get()));
  FOEDUS_CHECK(check_together(device_.get(), *log_, manifest_));
  if (segment_count() == 0 && !manifest_.has_value()) {
    return Status::error(ErrorCode::kNotFound, dir + " holds no log");
  }
  const GleanOrder all = order();
  durable_ = all.covered;
  newest_seen_ = all.newest_seen;
  const std::uint64_t begin_us = runtime_->now_us();
  FOEDUS_TRY(catalog_, read_found_catalog(*log_, newest_manifest()));
  catalog_us_ = runtime_->now_us() - begin_us;
  return {};
}

std::size_t ClosedDirectory::segment_count() const { return log_->found_segment_count(); }

Result<std::unique_ptr<log::SegmentRecords>> ClosedDirectory::open_segment(
    std::size_t index) const {
  return log_->open_segment(index);
}

GleanOrder ClosedDirectory::order() const {
  GleanOrder order = order_of_found(*log_, newest_manifest());
  order.device = device_.get();
  order.runtime = runtime_.get();
  order.topology = topology_.get();
  order.storages = catalog_.storages;
  order.samples = catalog_.samples;
  order.next_storage_id = catalog_.next_storage_id;
  return order;
}

}  // namespace foedus::engine
