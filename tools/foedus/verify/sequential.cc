// Checks pages of sequential storages against sequential_snapshot_page.h (S5 to S7): runs of
// consecutive pages. Records are in the order of TID and session, runs in that of epochs.
#include <memory>
#include <string>
#include <utility>

#include "foedus-core/storage/sequential/sequential_snapshot_page.h"
#include "foedus/options.h"
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

  // Runs pages from the newest to the oldest.
  void run();

 private:
  void check_order(SnapshotPageId id, const SequentialRunsPage& page, std::uint64_t next_epoch);
  void visit_run(SnapshotPageId id, const SequentialRun& run);
  bool visit_page(SnapshotPageId id, SnapshotPageId from, std::uint64_t number, PageBytes* block);
  bool records(SnapshotPageId id, const SequentialSnapshotPage& page, RunState* state);

  PageWalk& walk_;
};

void SequentialWalk::run() {
  const auto block = std::make_unique<PageBytes>();
  const auto& page = *block->as<SequentialRunsPage>();
  walk_.counts().levels = 2;
  std::uint64_t next_epoch = ~std::uint64_t{0};  // of the first record after this page's
  std::uint64_t number = 0;
  SnapshotPageId from;
  for (SnapshotPageId id = walk_.storage().root; !id.is_null(); id = page.full_page) {
    if (!walk_.enter(id, from, page::PageKind::kSequentialHeads, 1, block.get())) return;
    if (!walk_.expect(page.is_of(walk_.storage().id), id, "it is no page of runs")) return;
    const bool is_next = from.is_null() || (page.header.kind_word + 1 == number && page.is_full());
    if (!walk_.expect(is_next, id, "it is not the page of runs before the one that leads to it")) {
      return;
    }
    number = page.header.kind_word;
    check_order(id, page, next_epoch);
    next_epoch = page.runs[0].first_epoch;
    for (std::uint32_t i = 0; i < page.run_count; ++i) visit_run(id, page.runs[i]);
    from = id;
  }
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

void SequentialWalk::visit_run(SnapshotPageId id, const SequentialRun& run) {
  const std::uint64_t pages_left =
      SnapshotPageId::kPageMax - std::uint64_t{run.first_page.page()} + 1;
  const bool is_run = run.page_count >= 1 && run.page_count <= pages_left;
  if (!walk_.expect(is_run, id, "a run of impossible length")) return;
  const auto block = std::make_unique<PageBytes>();
  const auto& page = *block->as<SequentialSnapshotPage>();
  RunState state;
  std::uint32_t free_bytes = 0;  // of the page before
  for (std::uint32_t i = 0; i < run.page_count; ++i) {
    const SnapshotPageId at = run.first_page.plus(i);
    if (!visit_page(at, id, i, block.get())) return;
    const std::uint32_t first_bytes =
        SequentialSnapshotRecord::size_of(page.record_at(0)->payload_bytes);
    walk_.expect(i == 0 || first_bytes > free_bytes, at,
                 "its first record would have had room in the page before");
    free_bytes = SequentialSnapshotPage::kDataBytes - page.data_end;
    if (!records(at, page, &state)) return;
  }
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
