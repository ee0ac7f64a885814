#include "gleaner/snapshot_composer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "foedus-core/base/invariant.h"
#include "foedus-core/storage/page_check.h"
#include "gleaner/compose/kinds.h"

namespace foedus::gleaner {

SnapshotComposer::SnapshotComposer(const engine::GleanOrder& order, const PartitionTable& table,
                                   const MapReduce& sorted)
    : order_(order),
      table_(table),
      sorted_(sorted),
      old_pages_(order.device,
                 [&order](const page::PageHeader& page) {
                   FOEDUS_INVARIANT(order.previous != nullptr, page.page_id);
                   return storage::broken_rule(page, order.previous->covered);
                 }),
      composers_(order),
      ahead_(order) {
  for (const storage_meta::StorageMeta& meta : order.storages) {
    roots_.push_back(snapshot::root_in(order.previous, meta.id));
  }
  manifest_.number = order.number();
  manifest_.covered = order.covered;
  manifest_.newest_seen = order.newest_seen;
  manifest_.next_storage_id = order.next_storage_id;
}

Status SnapshotComposer::create_files() {
  for (std::uint32_t i = 0; i < table_.partitions(); ++i) {
    FOEDUS_TRY(auto writer, snapshot::SnapshotWriter::create(order_.device, manifest_.number, i));
    writers_.push_back(std::move(writer));
  }
  return {};
}

void SnapshotComposer::start_composers() {
  for (std::uint32_t i = 0; i < table_.partitions(); ++i) {
    composers_.start(std::make_unique<PartitionComposer>(
        PartitionComposer::Parts{.runtime = order_.runtime,
                                 .finished = &finished_,
                                 .table = &table_,
                                 .storages = &order_.storages,
                                 .roots = &roots_,
                                 .previous = &old_pages_,
                                 .records = sorted_.reducers()[i],
                                 .writer = writers_[i].get(),
                                 .partition = i}));
  }
  for (std::uint32_t i = 0; order_.reads_ahead && i < table_.partitions(); ++i) {
    ahead_.start(std::make_unique<PartitionReadAhead>(composers_[i], *sorted_.reducers()[i]));
  }
}

Status SnapshotComposer::compose() {
  FOEDUS_CHECK(create_files());
  start_composers();
  const auto are_done = [this] { return composers_.are_done(); };
  FOEDUS_CHECK(wait_for_tasks(order_, &finished_, are_done, [this]() -> GleanProgress {
    std::uint64_t records = 0;
    for (const auto& reducer : sorted_.reducers()) records += reducer->records_merged();
    const std::uint64_t all = sorted_.records_shipped();
    return {GleanStage::kCompose, std::min(records, all), all};
  }));
  for (const auto& composer : composers_) FOEDUS_CHECK(composer->status());
  return {};
}

Status SnapshotComposer::join_storages() {
  for (std::size_t i = 0; i < order_.storages.size(); ++i) FOEDUS_CHECK(join_storage(i));
  return {};
}

// Returns the subtrees of a storage from all partitions, in their order. A partition without a
// record of it composes its range now, from old pages alone.
Result<std::vector<Subtree>> SnapshotComposer::subtrees_of(std::size_t index) {
  std::vector<Subtree> subtrees;
  for (const auto& composer : composers_) {
    std::optional<std::vector<Subtree>> some = composer->subtrees(index);
    if (!some.has_value()) {
      FOEDUS_TRY(some, composer->compose_nothing(index));
    }
    subtrees.insert(subtrees.end(), some->begin(), some->end());
  }
  return subtrees;
}

Status SnapshotComposer::join_storage(std::size_t index) {
  const storage_meta::StorageMeta& meta = order_.storages[index];
  snapshot::ManifestStorage storage{.id = meta.id,
                                    .kind = meta.kind,
                                    .name = meta.name,
                                    .records = meta.records,
                                    .payload_bytes = meta.payload_bytes,
                                    .fan_out_bits = meta.fan_out_bits,
                                    .root = roots_[index],
                                    .boundaries = table_.storages()[index].boundaries};
  const auto* const before = snapshot::find_storage(order_.previous, meta.id);
  if (before != nullptr) storage.live = before->live;
  const bool has_records =
      std::any_of(composers_.begin(), composers_.end(),
                  [index](const auto& composer) { return composer->subtrees(index).has_value(); });
  if (has_records) {
    FOEDUS_TRY(const std::vector<Subtree> subtrees, subtrees_of(index));
    FOEDUS_TRY(storage.root, join(composers_[0]->composition(index), subtrees));
  }
  snapshot::PageAccounting accounting;
  for (const auto& composer : composers_) accounting.add(composer->accounting(index));
  Status counted = accounting.apply_to(&storage.live);
  if (!counted.is_ok()) return std::move(counted.at_storage(meta.name));
  manifest_.storages.push_back(std::move(storage));
  return {};
}

// Adds the storage that was loaded, and its file.
Status SnapshotComposer::add_load(const engine::LoadedStorage& load) {
  snapshot::ManifestStorage storage;
  storage.id = load.meta.id;
  storage.kind = load.meta.kind;
  storage.name = load.meta.name;
  storage.root = load.root;
  FOEDUS_CHECK(load.accounting.apply_to(&storage.live));
  manifest_.storages.push_back(std::move(storage));
  std::ranges::sort(manifest_.storages, {}, &snapshot::ManifestStorage::id);
  if (load.file.pages != 0) manifest_.files.push_back(load.file);
  return {};
}

Result<snapshot::Manifest> SnapshotComposer::finish() {
  if (order_.previous != nullptr) manifest_.files = order_.previous->files;
  if (order_.load != nullptr) FOEDUS_CHECK(add_load(*order_.load));
  for (std::uint32_t i = 0; i < writers_.size(); ++i) {
    FOEDUS_CHECK(writers_[i]->finish());
    const std::uint32_t pages = writers_[i]->pages();
    if (pages != 0) manifest_.files.push_back({manifest_.number, i, pages, 0});
  }
  // The file of a load has an older number than files of gleans that came meanwhile.
  std::ranges::sort(manifest_.files, {}, [](const snapshot::ManifestFile& file) {
    return std::pair(file.snapshot, file.soc);
  });
  snapshot::settle_files(&manifest_);
  return std::move(manifest_);
}

void SnapshotComposer::count(GleanReport* report) const {
  for (const auto& reducer : sorted_.reducers()) {
    report->records_composed += reducer->records_streamed();
  }
  for (const auto& writer : writers_) report->pages_written += writer->pages();
  for (const auto& composer : composers_) report->compose_cpu_us += composer->cpu_us();
}

}  // namespace foedus::gleaner
