#include "gleaner/compose/array/composer.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "foedus-core/base/increment.h"
#include "foedus-core/base/invariant.h"
#include "foedus-core/log/ring/record.h"
#include "foedus-core/page/page_bytes.h"
#include "foedus-core/storage/array/array_page.h"
#include "foedus-core/storage/array/array_page_check.h"

namespace foedus::gleaner {

namespace {

using log::LogRecordType;
using page::SnapshotPageId;
using storage::array::ArrayBorderPage;
using storage::array::ArrayInteriorPage;
using storage::array::ArrayShape;

constexpr std::uint64_t kFanOut = ArrayInteriorPage::kPointers;

// Has one open page of each level on the path from the root to the composer's place. The pages
// above the range's subtrees are open only to find the old pages.
class OpenPages {
 public:
  OpenPages(const Composition& composition, const PositionRange& range)
      : composition_(composition),
        meta_(*composition.meta),
        shape_(storage::array::shape_of(meta_.payload_bytes)),
        range_(range),
        levels_(storage::array::levels_of(shape_.pages_of(meta_.records))),
        blocks_(std::make_unique<page::PageBytes[]>(levels_ + 1)) {
    FOEDUS_INVARIANT(meta_.kind == StorageKind::kArray, meta_.kind, meta_.name);
    FOEDUS_INVARIANT(levels_ <= storage::array::kLevelsMax, levels_, meta_.records);
    std::fill(std::begin(numbers_), std::end(numbers_), kClosed);
  }

  const ArrayShape& shape() const { return shape_; }
  std::uint32_t levels() const { return levels_; }

  Result<ArrayBorderPage*> border(std::uint64_t number) {
    if (numbers_[0] != number) FOEDUS_CHECK(open_path(0, number));
    return blocks_[0].as<ArrayBorderPage>();
  }

  // Makes the page above point to a page that is written already. REQUIRES: level < levels().
  Status place(std::uint32_t level, std::uint64_t number, SnapshotPageId id) {
    FOEDUS_INVARIANT(level < levels_, level, levels_);
    FOEDUS_INVARIANT(numbers_[level] != number, level, number);
    FOEDUS_CHECK(open_path(level + 1, number / kFanOut));
    point_to(level, number, id);
    return {};
  }

  // Closes all pages, and returns the subtrees.
  Result<std::vector<Subtree>> finish() {
    FOEDUS_CHECK(close_up_to(levels_));
    return std::move(subtrees_);
  }

  // Returns how many border pages one page of a level covers.
  static std::uint64_t span_of(std::uint32_t level) {
    std::uint64_t span = 1;
    while (level-- != 0) span *= kFanOut;
    return span;
  }
  PositionRange positions_of(std::uint32_t level, std::uint64_t number) const {
    const std::uint64_t positions = span_of(level) * shape_.records_per_page;
    return {number * positions, (number + 1) * positions - 1};
  }

 private:
  static constexpr std::uint64_t kClosed = ~std::uint64_t{0};

  // Returns true if all records of a page are of this range.
  bool is_ours(std::uint32_t level, std::uint64_t number) const {
    const PositionRange covered = positions_of(level, number);
    return range_.begin <= covered.begin &&
           std::min(covered.last, meta_.records - 1) <= range_.last;
  }

  void point_to(std::uint32_t level, std::uint64_t number, SnapshotPageId id) {
    FOEDUS_INVARIANT(numbers_[level + 1] == number / kFanOut, numbers_[level + 1], number);
    blocks_[level + 1].as<ArrayInteriorPage>()->pointers[number % kFanOut].store(
        {page::VolatilePageId(), id});
  }

  // Returns the page's id in the previous snapshot. REQUIRES: the page above is open and still
  // points there.
  SnapshotPageId old_page_of(std::uint32_t level, std::uint64_t number) {
    if (level == levels_) return composition_.previous_root;
    const auto* const above = blocks_[level + 1].as<ArrayInteriorPage>();
    return above->pointers[number % kFanOut].load().snapshot_page;
  }

  // Opens the path down to a page; pages that are on it already stay open.
  Status open_path(std::uint32_t lowest, std::uint64_t number) {
    for (std::uint32_t level = levels_ + 1; level-- != lowest;) {
      const std::uint64_t at_level = number / span_of(level - lowest);
      if (numbers_[level] == at_level) continue;
      FOEDUS_CHECK(close_up_to(level));
      FOEDUS_CHECK(load(level, at_level, old_page_of(level, at_level)));
      numbers_[level] = at_level;
    }
    return {};
  }

  Status load(std::uint32_t level, std::uint64_t number, SnapshotPageId old) {
    page::PageBytes& block = blocks_[level];
    const page::PageKind kind =
        level == 0 ? page::PageKind::kArrayBorder : page::PageKind::kArrayInterior;
    const std::uint64_t first_index = positions_of(level, number).begin;
    if (old.is_null()) {
      block.initialize(meta_.id, kind, static_cast<std::uint8_t>(level));
      block.header()->kind_word = first_index;
      return {};
    }
    FOEDUS_CHECK(composition_.previous->read(old, block.header()));
    const bool is_good =
        storage::array::is_page_of(*block.header(), meta_.id, level, first_index) &&
        (level != 0 || storage::array::has_quiet_records(*block.as<ArrayBorderPage>(), shape_,
                                                         Epoch(Epoch::kMax)));
    if (is_good) return {};
    Status status =
        Status::error(ErrorCode::kCorruption,
                      "snapshot page " + std::to_string(old.word()) + " is not the page of level " +
                          std::to_string(level) + " from index " + std::to_string(first_index));
    return std::move(status.at_storage(meta_.name));
  }

  Status close_up_to(std::uint32_t highest) {
    for (std::uint32_t level = 0; level <= highest; ++level) {
      const std::uint64_t number = std::exchange(numbers_[level], kClosed);
      if (number == kClosed || !is_ours(level, number)) continue;
      // The page id is not 0 if the page was read from the previous snapshot: then it is replaced.
      const page::PageHeader& header = *blocks_[level].header();
      if (header.page_id != 0) composition_.supersede(header);
      FOEDUS_TRY(const SnapshotPageId id, composition_.append(&header));
      if (level < levels_ && is_ours(level + 1, number / kFanOut)) {
        point_to(level, number, id);
      } else {
        subtrees_.push_back({positions_of(level, number), id, level});
      }
    }
    return {};
  }

  const Composition& composition_;
  const storage_meta::StorageMeta& meta_;
  const ArrayShape& shape_;
  const PositionRange range_;
  const std::uint32_t levels_;
  std::unique_ptr<page::PageBytes[]> blocks_;              // by level
  std::uint64_t numbers_[storage::array::kLevelsMax + 1];  // of the pages in blocks_, or kClosed
  std::vector<Subtree> subtrees_;
};

[[gnu::cold]] Status contradiction(const storage_meta::StorageMeta& meta, std::uint64_t index,
                                   const std::string& what) {
  Status status = Status::error(ErrorCode::kCorruption,
                                "log record of index " + std::to_string(index) + ": " + what);
  status.at_storage(meta.name);
  return std::move(status.at_key(&index, sizeof(index)));
}

// Checks that a write to this array can have logged the record.
Status check(const storage_meta::StorageMeta& meta, std::uint64_t index,
             const log::LogRecord& log) {
  if (log.key_bytes != sizeof(index)) {
    return contradiction(meta, index, "a key of " + std::to_string(log.key_bytes) + " bytes");
  }
  FOEDUS_INVARIANT(log.index() == index, log.index(), index);
  if (index >= meta.records) {
    return contradiction(meta, index, "the array has " + std::to_string(meta.records));
  }
  switch (log.type) {
    case LogRecordType::kPut:
    case LogRecordType::kWriteAt:
      break;
    case LogRecordType::kIncrement:
      if (log.payload_bytes() != sizeof(std::uint64_t)) {
        return contradiction(meta, index,
                             "adds a number of " + std::to_string(log.payload_bytes()) + " bytes");
      }
      break;
    default:
      return contradiction(
          meta, index,
          "arrays log no record of type " + std::to_string(static_cast<unsigned>(log.type)));
  }
  if (log.payload_bytes() > meta.payload_bytes ||
      log.payload_offset > meta.payload_bytes - log.payload_bytes()) {
    return contradiction(meta, index,
                         "bytes " + std::to_string(log.payload_offset) + " + " +
                             std::to_string(log.payload_bytes()) + " end after the payload of " +
                             std::to_string(meta.payload_bytes));
  }
  return {};
}

// Changes the record as commit changed the volatile one (array_storage.cc, change()). A log record
// with a TID below the record's was gleaned before: its increment would count twice.
Status fold(const storage_meta::StorageMeta& meta, const log::LogRecord& log,
            page::RecordHeader* record) {
  const page::Tid tid = page::Tid(log.tid).without(page::Tid::kFlags);
  const page::Tid old = record->load_tid();
  if (tid.version() < old.version()) {
    return contradiction(meta, log.index(),
                         "its TID " + std::to_string(tid.word()) + " is below the record's " +
                             std::to_string(old.word()));
  }
  char* const at = storage::array::payload_of(record) + log.payload_offset;
  if (log.type == LogRecordType::kIncrement) {
    base::increment(at, log.payload_data());
  } else {
    std::memcpy(at, log.payload_data(), log.payload_bytes());
  }
  record->tid.store_relaxed(tid.word());  // order: relaxed, the page is not shared
  return {};
}

}  // namespace

std::uint64_t align_array_boundary(const storage_meta::StorageMeta& meta, std::uint64_t position) {
  const std::uint64_t records_per_page =
      storage::array::shape_of(meta.payload_bytes).records_per_page;
  return position - position % (records_per_page * kFanOut);
}

Result<std::vector<Subtree>> compose_array(const Composition& composition,
                                           const PositionRange& range, RecordStream* records) {
  const storage_meta::StorageMeta& meta = *composition.meta;
  // Boundaries after the last record divide no page, so they need not be aligned.
  FOEDUS_INVARIANT(
      range.begin >= meta.records || align_array_boundary(meta, range.begin) == range.begin,
      range.begin, meta.records);
  FOEDUS_INVARIANT(range.last >= meta.records - 1 ||
                       align_array_boundary(meta, range.last + 1) == range.last + 1,
                   range.last, meta.records);
  OpenPages pages(composition, range);
  std::uint64_t least = range.begin;
  for (;;) {
    const StreamRecord* const record = records->next();
    if (record == nullptr) {
      FOEDUS_CHECK(records->status());
      return pages.finish();
    }
    FOEDUS_INVARIANT(record->position >= least, record->position, least);
    FOEDUS_INVARIANT(record->position <= range.last, record->position, range.last);
    least = record->position;
    FOEDUS_CHECK(check(meta, least, *record->log));
    const std::uint64_t number = pages.shape().page_of(least);
    FOEDUS_TRY(ArrayBorderPage* const border, pages.border(number));
    const std::uint64_t place = least - number * pages.shape().records_per_page;
    FOEDUS_CHECK(fold(meta, *record->log, storage::array::record_at(border, place, pages.shape())));
  }
}

Result<SnapshotPageId> join_array(const Composition& composition,
                                  const std::vector<Subtree>& subtrees) {
  if (subtrees.empty()) return composition.previous_root;
  OpenPages pages(composition, PositionRange());
  if (subtrees.size() == 1 && subtrees.front().level == pages.levels()) {
    return subtrees.front().page;
  }
  for (const Subtree& subtree : subtrees) {
    const std::uint64_t positions = pages.positions_of(subtree.level, 0).last + 1;
    FOEDUS_INVARIANT(subtree.range.begin % positions == 0, subtree.range.begin, subtree.level);
    FOEDUS_CHECK(pages.place(subtree.level, subtree.range.begin / positions, subtree.page));
  }
  FOEDUS_TRY(const std::vector<Subtree> root, pages.finish());
  FOEDUS_INVARIANT(root.size() == 1, root.size());
  FOEDUS_INVARIANT(root.front().level == pages.levels(), root.front().level);
  return root.front().page;
}

}  // namespace foedus::gleaner
