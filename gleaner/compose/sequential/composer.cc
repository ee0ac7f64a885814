#include "gleaner/compose/sequential/composer.h"

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "foedus-core/base/invariant.h"
#include "foedus-core/log/ring/record.h"
#include "foedus-core/page/page_bytes.h"
#include "foedus-core/storage/sequential/sequential_snapshot_page.h"

namespace foedus::gleaner {

namespace {

using page::SnapshotPageId;
using storage::sequential::kSnapshotLayout;
using storage::sequential::SequentialRun;
using storage::sequential::SequentialRunsPage;
using storage::sequential::SequentialSnapshotPage;
using storage::sequential::SequentialSnapshotRecord;

// The run that is being made: its last page, and its entry for the runs page.
class OpenRun {
 public:
  explicit OpenRun(const Composition& composition)
      : composition_(composition), block_(std::make_unique<page::PageBytes>()) {
    start_page();
  }

  Status add(const StreamRecord& record) {
    const std::uint32_t payload_bytes = record.log->payload_bytes();
    if (!page()->has_room(payload_bytes)) {
      FOEDUS_CHECK(append_page());
      start_page();
    }
    SequentialSnapshotRecord* const to = page()->record_at(page()->data_end);
    const page::Tid tid = page::Tid(record.log->tid).without(page::Tid::kFlags);
    to->header.tid.store_relaxed(tid.word());  // order: relaxed, the page is not shared
    to->payload_bytes = payload_bytes;
    to->session = record.session;
    if (payload_bytes != 0) {
      std::memcpy(to->payload(), record.log->payload_data(), payload_bytes);
    }
    page()->data_end += SequentialSnapshotRecord::size_of(payload_bytes);
    page()->record_count += 1;
    if (run_.record_count++ == 0) run_.first_epoch = tid.epoch().number();
    run_.last_epoch = tid.epoch().number();
    return {};
  }

  // Writes the last page, and returns the run. REQUIRES: a record was added.
  Result<SequentialRun> finish() {
    FOEDUS_INVARIANT(page()->record_count != 0, run_.record_count);
    FOEDUS_CHECK(append_page());
    return run_;
  }

 private:
  SequentialSnapshotPage* page() { return block_->as<SequentialSnapshotPage>(); }

  void start_page() {
    block_->initialize(composition_.meta->id, page::PageKind::kSequential, 0);
    block_->header()->flags = kSnapshotLayout;
    block_->header()->kind_word = run_.page_count;
  }

  Status append_page() {
    FOEDUS_TRY(const SnapshotPageId id, composition_.append(block_->header()));
    if (run_.page_count == 0) run_.first_page = id;
    FOEDUS_INVARIANT(id == run_.first_page.plus(run_.page_count), id.word(), run_.page_count);
    run_.page_count += 1;
    return {};
  }

  const Composition& composition_;
  std::unique_ptr<page::PageBytes> block_;
  SequentialRun run_{};
};

// Reads the newest runs page of the previous snapshot, or makes one without runs.
Status load_runs(const Composition& composition, page::PageBytes* block) {
  const storage_meta::StorageMeta& meta = *composition.meta;
  const SnapshotPageId old = composition.previous_root;
  if (old.is_null()) {
    block->initialize(meta.id, page::PageKind::kSequentialHeads, 1);
    block->header()->flags = kSnapshotLayout;
    return {};
  }
  FOEDUS_CHECK(composition.previous->read(old, block->header()));
  if (block->as<SequentialRunsPage>()->is_of(meta.id)) return {};
  Status status =
      Status::error(ErrorCode::kCorruption, "snapshot page " + std::to_string(old.word()) +
                                                " is not the root of the storage");
  return std::move(status.at_storage(meta.name));
}

// Appends the runs page with one more run (S6), and returns the page. REQUIRES: `block` is as
// load_runs() left it.
Result<SnapshotPageId> append_runs(const Composition& composition, page::PageBytes* block,
                                   const SequentialRun& run) {
  SequentialRunsPage* const page = block->as<SequentialRunsPage>();
  if (page->is_full()) {
    const std::uint64_t number = page->header.kind_word + 1;
    block->initialize(composition.meta->id, page::PageKind::kSequentialHeads, 1);
    page->header.flags = kSnapshotLayout;
    page->header.kind_word = number;
    page->full_page = composition.previous_root;
  } else if (page->run_count != 0) {
    composition.supersede(page->header);
  }
  page->runs[page->run_count++] = run;
  return composition.append(block->header());
}

// Checks that an append to this storage can have logged the record after `last_epoch`.
Status check(const storage_meta::StorageMeta& meta, const StreamRecord& record,
             std::uint64_t last_epoch) {
  const log::LogRecord& log = *record.log;
  const page::Tid tid(log.tid);
  std::string what;
  if (log.type != log::LogRecordType::kAppend) {
    what = "not an append but of type " + std::to_string(static_cast<unsigned>(log.type));
  } else if (log.key_bytes != 0 || log.payload_offset != 0) {
    what = "an append with a key of " + std::to_string(log.key_bytes) + " bytes, at offset " +
           std::to_string(log.payload_offset);
  } else if (log.payload_bytes() > kMaxSequentialPayloadBytes) {
    what = "a payload of " + std::to_string(log.payload_bytes()) + " bytes; at most " +
           std::to_string(kMaxSequentialPayloadBytes);
  } else if (tid.epoch().number() <= last_epoch) {
    what = "the previous snapshot covers epochs up to " + std::to_string(last_epoch);
  } else {
    return {};
  }
  Status status = Status::error(
      ErrorCode::kCorruption, "log record of session " + std::to_string(record.session) +
                                  ", epoch " + std::to_string(tid.epoch().number()) + ", ordinal " +
                                  std::to_string(tid.ordinal()) + ": " + what);
  return std::move(status.at_storage(meta.name));
}

}  // namespace

Result<std::vector<Subtree>> compose_sequential(const Composition& composition,
                                                const PositionRange&, RecordStream* records) {
  const storage_meta::StorageMeta& meta = *composition.meta;
  FOEDUS_INVARIANT(meta.kind == StorageKind::kSequential, meta.kind, meta.name);
  const StreamRecord* record = records->next();
  FOEDUS_CHECK(records->status());
  if (record == nullptr) return std::vector<Subtree>();

  auto block = std::make_unique<page::PageBytes>();
  FOEDUS_CHECK(load_runs(composition, block.get()));
  const auto& runs = *block->as<SequentialRunsPage>();
  const std::uint64_t last_epoch = runs.run_count == 0 ? 0 : runs.last_run().last_epoch;
  OpenRun run(composition);
  std::uint64_t least = 0;
  while (record != nullptr) {
    FOEDUS_CHECK(check(meta, *record, last_epoch));
    FOEDUS_INVARIANT(record->log->tid >= least, record->log->tid, least);
    least = record->log->tid;
    FOEDUS_CHECK(run.add(*record));
    record = records->next();
  }
  FOEDUS_CHECK(records->status());
  FOEDUS_TRY(const SequentialRun finished, run.finish());
  FOEDUS_TRY(const SnapshotPageId root, append_runs(composition, block.get(), finished));
  return std::vector<Subtree>{{PositionRange(), root, 1}};
}

Result<SnapshotPageId> join_sequential(const Composition& composition,
                                       const std::vector<Subtree>& subtrees) {
  if (subtrees.empty()) return composition.previous_root;
  FOEDUS_INVARIANT(subtrees.size() == 1, subtrees.size(), composition.meta->name);
  FOEDUS_INVARIANT(subtrees.front().level == 1, subtrees.front().level);
  return subtrees.front().page;
}

}  // namespace foedus::gleaner
