// Checks pages of sequential storages against sequential_snapshot_page.h (S5 to S7): runs of
// consecutive pages. Records are in the order of TID and session, runs in that of epochs.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "foedus-core/storage/sequential/sequential_snapshot_page.h"
#include "foedus/options.h"
#include "tools/foedus/preview.h"
#include "tools/foedus/verify/page_walk.h"

namespace foedus::cli {

namespace {

using page::PageBytes;
using page::SnapshotPageId;
using storage::sequential::SequentialRun;
using storage::sequential::SequentialRunsPage;
using storage::sequential::SequentialSnapshotPage;
using storage::sequential::SequentialSnapshotRecord;

// State after the pages of a run that were checked so far.
struct RunState {
  std::uint64_t records = 0;
  std::uint64_t first_epoch = 0;
  page::Tid tid;  // of the last record
  std::uint32_t session = 0;
};

class SequentialWalk {
 public:
  explicit SequentialWalk(PageWalk* walk) : walk_(*walk) {}

  void run();

 private:
  // A run, and the page that leads to it.
  struct FoundRun {
    SnapshotPageId from;
    SequentialRun run;
  };

  bool collect_runs(std::vector<FoundRun>* runs);
  bool runs_page(SnapshotPageId id, const SequentialRunsPage& page, SnapshotPageId from);
  void check_order(SnapshotPageId id, const SequentialRunsPage& page, std::uint64_t next_epoch);
  void visit_run(SnapshotPageId id, const SequentialRun& run);
  void check_run(SnapshotPageId id, const SequentialRun& run, const RunState& state);
  bool visit_page(SnapshotPageId id, SnapshotPageId from, std::uint64_t number, PageBytes* block);
  bool records(SnapshotPageId id, const SequentialSnapshotPage& page, RunState* state);
  void give(const SequentialSnapshotPage& page);
  void lose(SnapshotPageId first, std::uint64_t pages, const SequentialRun& run);

  PageWalk& walk_;
  std::uint64_t next_epoch_ = ~std::uint64_t{0};  // of the first record after the runs at hand
  std::uint64_t number_ = 0;                      // of the page of runs after the one at hand
};

// A page of runs leads to the one before it, and records are read from the oldest on (W7). So all
// runs, 40 bytes each, are collected first.
void SequentialWalk::run() {
  walk_.counts().levels = 2;
  std::vector<FoundRun> runs;
  if (!collect_runs(&runs)) {
    const std::string before = runs.empty()
                                   ? "all its records"
                                   : "its records before epoch " + std::to_string(next_epoch_);
    walk_.lose({before});
  }
  std::reverse(runs.begin(), runs.end());
  for (const FoundRun& found : runs) visit_run(found.from, found.run);
}

// Collects the runs from the newest to the oldest. Returns false if a page of them is lost, and
// with it all before.
bool SequentialWalk::collect_runs(std::vector<FoundRun>* runs) {
  const auto block = std::make_unique<PageBytes>();
  const auto& page = *block->as<SequentialRunsPage>();
  SnapshotPageId from;
  for (SnapshotPageId id = walk_.storage().root; !id.is_null(); id = page.full_page) {
    const std::uint64_t before = walk_.problems();
    if (!walk_.enter(id, from, page::PageKind::kSequentialHeads, 1, block.get()) ||
        !runs_page(id, page, from) || walk_.must_lose(before)) {
      return false;
    }
    number_ = page.header.kind_word;
    next_epoch_ = page.runs[0].first_epoch;
    for (std::uint32_t i = page.run_count; i-- != 0;) runs->push_back({id, page.runs[i]});
    from = id;
  }
  return true;
}

// Checks a page of runs. Returns false if it is none, or not the one in its place.
bool SequentialWalk::runs_page(SnapshotPageId id, const SequentialRunsPage& page,
                               SnapshotPageId from) {
  if (!walk_.expect(page.is_of(walk_.storage().id), id, "it is no page of runs")) return false;
  const bool is_next = from.is_null() || (page.header.kind_word + 1 == number_ && page.is_full());
  if (!walk_.expect(is_next, id, "it is not the page of runs before the one that leads to it")) {
    return false;
  }
  check_order(id, page, next_epoch_);
  return true;
}

void SequentialWalk::check_order(SnapshotPageId id, const SequentialRunsPage& page,
                                 std::uint64_t next_epoch) {
  for (std::uint32_t i = page.run_count; i-- != 0;) {
    const SequentialRun& run = page.runs[i];
    const bool ascends =
        run.first_epoch != 0 && run.first_epoch <= run.last_epoch && run.last_epoch < next_epoch;
    walk_.expect(ascends, id,
                 "the epochs of run " + std::to_string(i) + " are not between its neighbours'");
    next_epoch = run.first_epoch;
  }
}

// A run says where each of its pages lies. So a page that is lost does not hide those after it.
void SequentialWalk::visit_run(SnapshotPageId id, const SequentialRun& run) {
  const std::uint64_t pages_left =
      SnapshotPageId::kPageMax - std::uint64_t{run.first_page.page()} + 1;
  const bool is_run = run.page_count >= 1 && run.page_count <= pages_left;
  if (!walk_.expect(is_run, id, "a run of impossible length")) {
    return lose(run.first_page, run.page_count, run);
  }
  const auto block = std::make_unique<PageBytes>();
  const auto& page = *block->as<SequentialSnapshotPage>();
  RunState state;
  std::uint32_t free_bytes = 0;  // of the page before
  std::uint32_t lost = 0;        // pages in succession, up to the one at hand
  bool is_whole = true;
  for (std::uint32_t i = 0; i < run.page_count; ++i) {
    const SnapshotPageId at = run.first_page.plus(i);
    const std::uint64_t before = walk_.problems();
    RunState next = state;
    bool is_sound = visit_page(at, id, i, block.get());
    if (is_sound) {
      const std::uint32_t first_bytes =
          SequentialSnapshotRecord::size_of(page.record_at(0)->payload_bytes);
      walk_.expect(i == 0 || lost != 0 || first_bytes > free_bytes, at,
                   "its first record would have had room in the page before");
      is_sound = records(at, page, &next);
    }
    if (!is_sound || walk_.must_lose(before)) {
      if (!walk_.gives_rows()) return;
      is_whole = false;
      lost += 1;
      continue;
    }
    if (lost != 0) lose(run.first_page.plus(i - lost), lost, run);
    lost = 0;
    state = next;
    free_bytes = SequentialSnapshotPage::kDataBytes - page.data_end;
    give(page);
  }
  if (lost != 0) lose(run.first_page.plus(run.page_count - lost), lost, run);
  if (is_whole) check_run(id, run, state);
}

void SequentialWalk::give(const SequentialSnapshotPage& page) {
  if (!walk_.gives_rows()) return;
  std::uint32_t at = 0;
  for (std::uint32_t i = 0; i < page.record_count; ++i) {
    const SequentialSnapshotRecord& record = *page.record_at(at);
    walk_.give({{}, 0, {record.payload(), record.payload_bytes}});
    at += SequentialSnapshotRecord::size_of(record.payload_bytes);
  }
}

void SequentialWalk::lose(SnapshotPageId first, std::uint64_t pages, const SequentialRun& run) {
  walk_.lose({"the records in " + count_of(pages, "page") + " from " + name_of(first) +
              " on, of epochs " + std::to_string(run.first_epoch) + " to " +
              std::to_string(run.last_epoch)});
}

void SequentialWalk::check_run(SnapshotPageId id, const SequentialRun& run, const RunState& state) {
  const bool is_as_said = state.records == run.record_count &&
                          state.first_epoch == run.first_epoch &&
                          state.tid.epoch().number() == run.last_epoch;
  if (is_as_said) return;
  walk_.problem(id, "its run from page " + std::to_string(run.first_page.page()) + " on has " +
                        std::to_string(state.records) + " records of epochs " +
                        std::to_string(state.first_epoch) + " to " +
                        std::to_string(state.tid.epoch().number()) + ", and should have " +
                        std::to_string(run.record_count) + " of epochs " +
                        std::to_string(run.first_epoch) + " to " + std::to_string(run.last_epoch));
}

bool SequentialWalk::visit_page(SnapshotPageId id, SnapshotPageId from, std::uint64_t number,
                                PageBytes* block) {
  if (!walk_.enter(id, from, page::PageKind::kSequential, 0, block)) return false;
  const auto& page = *block->as<SequentialSnapshotPage>();
  const bool is_next = page.is_of(walk_.storage().id, number);
  return walk_.expect(is_next, id, "it is not the page of the run that its place says") &&
         walk_.expect(page.record_count >= 1 && page.data_end <= SequentialSnapshotPage::kDataBytes,
                      id, "it has no record, or an impossible end");
}

bool SequentialWalk::records(SnapshotPageId id, const SequentialSnapshotPage& page,
                             RunState* state) {
  std::uint32_t at = 0;
  for (std::uint32_t i = 0; i < page.record_count; ++i) {
    const std::string which = "record " + std::to_string(i);
    const bool has_head = at + sizeof(SequentialSnapshotRecord) <= page.data_end;
    if (!walk_.expect(has_head, id, which + " ends behind the page's end")) return false;
    const SequentialSnapshotRecord& record = *page.record_at(at);
    const bool fits = record.payload_bytes <= kMaxSequentialPayloadBytes &&
                      at + SequentialSnapshotRecord::size_of(record.payload_bytes) <= page.data_end;
    if (!walk_.expect(fits, id, which + " ends behind the page's end")) return false;
    const page::Tid tid = record.header.load_tid();
    walk_.check_tid(id, tid, i);
    const bool is_behind = state->records == 0 || std::pair(state->tid.word(), state->session) <=
                                                      std::pair(tid.word(), record.session);
    walk_.expect(is_behind, id, which + " is not behind the one before it");
    if (state->records++ == 0) state->first_epoch = tid.epoch().number();
    state->tid = tid;
    state->session = record.session;
    at += SequentialSnapshotRecord::size_of(record.payload_bytes);
    walk_.counts().records += 1;
    walk_.counts().payload_bytes += record.payload_bytes;
  }
  return walk_.expect(at == page.data_end, id, "its records do not end where it says");
}

}  // namespace

void verify_sequential(PageWalk* walk) { SequentialWalk(walk).run(); }

}  // namespace foedus::cli
