#pragma once
// SequentialRig: a sequential storage that is appended to and gleaned again and again, and a list
// of all records that the pages of every snapshot must equal.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "foedus-core/storage/sequential/sequential_snapshot_order.h"
#include "gleaner/compose/sequential/composer.h"
#include "tests/gleaner/compose/list_stream.h"
#include "tests/gleaner/compose/memory_pages.h"
#include "tests/gleaner/live_walk.h"

namespace foedus::gleaner {

class SequentialRig {
 public:
  struct Record {
    std::uint64_t tid;
    std::uint32_t session;
    std::string payload;
    bool operator==(const Record&) const = default;
  };

  SequentialRig() {
    meta_.id = page::StorageId{9};
    meta_.kind = StorageKind::kSequential;
    meta_.name = "history";
    new_stream();
  }

  // Adds an append. Appends of one session and TID must come in their order, all others in any.
  void append(page::Tid tid, std::uint32_t session, std::string_view payload) {
    stream_->add(log::LogRecordType::kAppend, tid, "", payload, 0, session);
    model_.push_back({tid.word(), session, std::string(payload)});
  }

  Status glean(const PositionRange& range = {}) {
    ++snapshot_;
    writer_ = std::make_unique<MemoryWriter>(&pages_, snapshot_);
    writer_->fail_append_after(appends_before_failure_);
    stream_->rewind();
    const Composition composition{&meta_, root_, &pages_, writer_.get(), live_.begin()};
    FOEDUS_TRY(const std::vector<Subtree> subtrees,
               compose_sequential(composition, range, stream_.get()));
    FOEDUS_TRY(root_, join_sequential(composition, subtrees));
    pages_.finish();
    live_.expect_counted(pages_, root_);
    new_stream();
    return {};
  }

  // Returns all records in order, and checks all pages that lead to them.
  std::vector<Record> read_all() {
    std::vector<Record> all;
    std::uint64_t last_epoch = 0;
    for (const page::SnapshotPageId id : runs_pages()) {
      const auto* const page = pages_.as<storage::sequential::SequentialRunsPage>(id);
      EXPECT_EQ(page->is_full() || id == root_, true);
      for (std::uint32_t i = 0; i < page->run_count; ++i) {
        EXPECT_GT(page->runs[i].first_epoch, last_epoch);
        read_run(page->runs[i], &all);
        last_epoch = page->runs[i].last_epoch;
      }
    }
    return all;
  }
  void expect_equal_to_model() {
    std::stable_sort(model_.begin(), model_.end(), [](const Record& left, const Record& right) {
      return std::tie(left.tid, left.session) < std::tie(right.tid, right.session);
    });
    const std::vector<Record> all = read_all();
    ASSERT_EQ(all.size(), model_.size());
    for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], model_[i]) << i;
  }
  std::vector<page::SnapshotPageId> runs_pages() {
    const auto ids =
        storage::sequential::runs_pages_of(root_, meta_.id, [this](page::SnapshotPageId id) {
          return Result<const storage::sequential::SequentialRunsPage*>(
              pages_.as<storage::sequential::SequentialRunsPage>(id));
        });
    EXPECT_TRUE(ids.is_ok()) << ids.status().message();
    return ids.is_ok() ? *ids : std::vector<page::SnapshotPageId>();
  }
  const storage::sequential::SequentialRun& last_run() {
    return pages_.as<storage::sequential::SequentialRunsPage>(root_)->last_run();
  }

  storage_meta::StorageMeta& meta() { return meta_; }
  ListStream& stream() { return *stream_; }
  MemoryPages& pages() { return pages_; }
  page::SnapshotPageId root() const { return root_; }
  void set_root(page::SnapshotPageId root) { root_ = root; }
  LiveCheck<MemoryPages>& live() { return live_; }
  std::uint32_t take_snapshot_number() { return ++snapshot_; }
  std::uint32_t snapshot() const { return snapshot_; }
  std::uint32_t appended() const { return writer_->count(); }
  void fail_append_after(std::uint32_t appends) { appends_before_failure_ = appends; }

 private:
  using RecordPage = storage::sequential::SequentialSnapshotPage;

  void new_stream() { stream_ = std::make_unique<ListStream>(StorageKind::kSequential, meta_.id); }

  void read_run(const storage::sequential::SequentialRun& run, std::vector<Record>* all) {
    const std::size_t before = all->size();
    for (std::uint32_t i = 0; i < run.page_count; ++i) {
      const auto* const page = pages_.as<RecordPage>(run.first_page.plus(i));
      ASSERT_NE(page, nullptr);
      ASSERT_TRUE(page->is_of(meta_.id, i));
      ASSERT_TRUE(storage::sequential::has_whole_records(*page));
      for (const auto& record : storage::sequential::records_of(*page)) {
        EXPECT_EQ(record.header.lock.load_relaxed(), 0u);
        all->push_back({record.header.tid.load_relaxed(),
                        record.session,
                        {record.payload(), record.payload_bytes}});
      }
      if (i + 1 == run.page_count) break;
      const auto* const next = pages_.as<RecordPage>(run.first_page.plus(i + 1));
      ASSERT_FALSE(page->has_room(next->record_at(0)->payload_bytes)) << "S7";
    }
    ASSERT_EQ(all->size() - before, run.record_count);
    ASSERT_EQ(page::Tid((*all)[before].tid).epoch().number(), run.first_epoch);
    ASSERT_EQ(page::Tid(all->back().tid).epoch().number(), run.last_epoch);
  }

  storage_meta::StorageMeta meta_;
  MemoryPages pages_;
  std::unique_ptr<MemoryWriter> writer_;  // of the last snapshot
  std::uint32_t snapshot_ = 0;
  std::uint32_t appends_before_failure_ = ~std::uint32_t{0};
  page::SnapshotPageId root_;
  std::unique_ptr<ListStream> stream_;
  std::vector<Record> model_;
  LiveCheck<MemoryPages> live_;
};

}  // namespace foedus::gleaner
