// Sequential storages: a few runs pages, each of which leads to the one before it, and runs, each
// of which lies in one file.
#include <memory>
#include <vector>

#include "foedus-core/base/invariant.h"
#include "foedus-core/storage/sequential/sequential_snapshot_page.h"
#include "gleaner/reclaim/relocation.h"

namespace foedus::gleaner {

namespace {

using page::PageKind;
using page::SnapshotPageId;
using storage::sequential::SequentialRun;
using storage::sequential::SequentialRunsPage;
using storage::sequential::SequentialSnapshotPage;

class SequentialMove {
 public:
  explicit SequentialMove(Relocation* relocation)
      : relocation_(*relocation), block_(std::make_unique<page::PageBytes>()) {}

  // Moves the runs pages from the oldest on, because the new id of each goes into the next one.
  Result<SnapshotPageId> move() {
    FOEDUS_CHECK(find_runs_pages());
    SnapshotPageId before;
    while (!ids_.empty()) {
      FOEDUS_TRY(before, move_runs_page(ids_.back(), before));
      ids_.pop_back();
    }
    return before;
  }

 private:
  // Puts the ids of all runs pages into ids_, the newest first.
  Status find_runs_pages() {
    std::uint64_t number = 0;
    for (SnapshotPageId id = relocation_.storage().root; !id.is_null();) {
      FOEDUS_CHECK(read_runs_page(id));
      const auto& page = *block_->as<SequentialRunsPage>();
      if (!ids_.empty() && page.header.kind_word + 1 != number) {
        return relocation_.corrupt(id, "not the runs page before the one that leads to it");
      }
      number = page.header.kind_word;
      ids_.push_back(id);
      id = page.full_page;
    }
    return {};
  }

  Status read_runs_page(SnapshotPageId id) {
    FOEDUS_CHECK(relocation_.read(id, PageKind::kSequentialHeads, block_.get()));
    if (block_->as<SequentialRunsPage>()->is_of(relocation_.storage().id)) return {};
    return relocation_.corrupt(id, "not a runs page");
  }

  Result<SnapshotPageId> move_runs_page(SnapshotPageId id, SnapshotPageId before) {
    FOEDUS_CHECK(read_runs_page(id));
    auto* const page = block_->as<SequentialRunsPage>();
    bool is_changed = relocation_.is_victim(id) || page->full_page != before;
    page->full_page = before;
    for (std::uint32_t i = 0; i < page->run_count; ++i) {
      if (!relocation_.is_victim(page->runs[i].first_page)) continue;
      FOEDUS_CHECK(move_run(&page->runs[i]));
      is_changed = true;
    }
    if (!is_changed) return id;
    return relocation_.write(*block_);
  }

  Status move_run(SequentialRun* run) {
    const auto block = std::make_unique<page::PageBytes>();
    const SnapshotPageId moved = relocation_.next_id();
    for (std::uint32_t i = 0; i < run->page_count; ++i) {
      const SnapshotPageId id = run->first_page.plus(i);
      FOEDUS_CHECK(relocation_.read(id, PageKind::kSequential, block.get()));
      if (!block->as<SequentialSnapshotPage>()->is_of(relocation_.storage().id, i)) {
        return relocation_.corrupt(id, "not the expected page of a run");
      }
      FOEDUS_TRY(const SnapshotPageId written, relocation_.write(*block));
      FOEDUS_INVARIANT(written == moved.plus(i), written.word(), moved.word(), i);
    }
    run->first_page = moved;
    return {};
  }

  Relocation& relocation_;
  const std::unique_ptr<page::PageBytes> block_;  // a runs page
  std::vector<SnapshotPageId> ids_;         // of runs pages
};

}  // namespace

Result<SnapshotPageId> move_sequential(Relocation* relocation) {
  return SequentialMove(relocation).move();
}

}  // namespace foedus::gleaner
