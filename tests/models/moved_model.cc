// A page that moves: its records are copied to a twin and marked moved (storage/masstree, M2 to
// M4), while transactions lock, read and verify them with txn/commit*.cc themselves. The lines of
// storage/masstree/change/move.cc, storage/masstree/search/find.h and
// storage/masstree/change/track.cc are quoted.
#include "foedus-core/storage/masstree/layout/page.h"
#include "tests/models/harness/commit.h"

namespace {

using namespace foedus;
using page::VolatilePageId;
using storage::masstree::TreePage;

// A border page of one record.
struct Page {
  TreePage tree;
  model::Record record;
  model::Plain<int> is_complete{0};
};

}  // namespace

namespace foedus::page {

// A pool of pages; page 0 is none.
class PagePool {
 public:
  Page* resolve(VolatilePageId id) {
    model::require(!id.is_null(), "M4: the foster words are set");
    return &pages[id.number()];
  }
  Page* page_of(const RecordHeader* record) {
    for (Page& page : pages) {
      if (&page.record.header == record) return &page;
    }
    model::require(false, "a record is in a page");
    return nullptr;
  }
  Page pages[3];
};

}  // namespace foedus::page

namespace {

Page* twin_of(page::PagePool& pool, const TreePage* moved) {
  // from foedus-core/storage/masstree/search/find.h:
  //     const page::VolatilePageId minor_id(moved->foster_minor.load_acquire());
  //     const page::VolatilePageId major_id(moved->foster_major.load_acquire());
  const page::VolatilePageId minor_id(moved->foster_minor.load_acquire());
  const page::VolatilePageId major_id(moved->foster_major.load_acquire());
  Page* const twin = pool.resolve(major_id.is_null() ? minor_id : major_id);
  model::require(twin->is_complete.get() == 1, "a twin is complete before it is named");
  return twin;
}

}  // namespace

namespace foedus::storage {

bool track_moved(page::PagePool& pool, occ::StorageControl*, page::RecordHeader* record,
                 page::RecordHeader** to, std::uint32_t*) {
  // from foedus-core/storage/masstree/change/track.cc:
  //     const page::Tid tid = record->load_tid();
  //     if (!tid.is_moved() && !tid.is_next_layer()) break;
  const page::Tid tid = record->load_tid();
  if (tid.is_moved()) record = &twin_of(pool, &pool.page_of(record)->tree)->record.header;
  *to = record;
  return true;
}

}  // namespace foedus::storage

namespace {

template <typename Scenario>
struct Moving : model::Suite<Scenario, 2> {
  model::Runtime<> runtime;
  epoch::EpochClock clock{&runtime, model::kFirstEpoch, 2, 0};
  page::PagePool pool;
  model::Record other;
  Page& old_page = pool.pages[1];
  Page& new_page = pool.pages[2];

  void before() {
    const page::Tid tid(model::kFirstEpoch, 1);
    old_page.record.begin(tid, 0);
    old_page.is_complete.set(1);
    old_page.tree.header.store_version(page::PageVersion(1, 0));
    new_page.record.begin(page::Tid(), 0);
    other.begin(tid, 0);
  }

  // Moves a page as MovingPage does, to one new page.
  void move() {
    const occ::LockGuard guard(&old_page.tree.header.lock);
    page::RecordHeader* const record = &old_page.record.header;
    page::RecordHeader* const copied = &new_page.record.header;
    occ::LockWaiter waiter;
    // from foedus-core/storage/masstree/change/move.cc:
    //     if (!occ::try_lock_for(&record->lock, waiter, spins)) {
    if (!occ::try_lock_for(&record->lock, &waiter, 1)) return;
    const page::PageVersion version = old_page.tree.header.load_version();
    // lay_record() and copy_payload() do this, too, while the new page is unreachable.
    copied->tid.store_relaxed(record->load_tid().word());
    base::racy_read(&new_page.record.payload, &old_page.record.payload, sizeof(model::Payload));
    new_page.is_complete.set(1);
    new_page.tree.header.store_version(version);
    // from foedus-core/storage/masstree/change/move.cc:
    //     page_->foster_major.store_release(major == nullptr ? 0 : major->header.page_id);
    //     page_->foster_minor.store_release(minor->header.page_id);
    old_page.tree.foster_major.store_release(0);
    old_page.tree.foster_minor.store_release(2);
    // from foedus-core/storage/masstree/change/move.cc:
    //     record->tid.store_release(record->load_tid().with(page::Tid::kMoved).word());
    record->tid.store_release(record->load_tid().with(page::Tid::kMoved).word());
    // from foedus-core/storage/masstree/change/move.cc:
    //     page_->header.store_version(version_.with(page::PageVersion::kMoved));
    old_page.tree.header.store_version(version.with(page::PageVersion::kMoved));
    occ::unlock(&record->lock, &waiter);
  }
  // Returns the record that a search finds.
  model::Record* find() {
    // from foedus-core/storage/masstree/search/find.cc:
    //     const page::PageVersion version = page->header.load_version();
    //     if (version.is_gone()) [[unlikely]] {
    const page::PageVersion version = old_page.tree.header.load_version();
    if (!version.is_moved()) return &old_page.record;
    return &twin_of(pool, &old_page.tree)->record;
  }
  // Reads as TxnContext::read_below() does, which searches again from above if the record has
  // moved.
  bool read(model::Transaction* transaction, std::uint64_t* value) {
    model::Record* record = find();
    if (!transaction->read(record, value)) return false;
    if (!transaction->last_read().is_moved()) return true;
    transaction->context().sets().reads().truncate(transaction->context().sets().reads().size() -
                                                   1);
    page::RecordHeader* to = nullptr;
    storage::track_moved(pool, nullptr, &record->header, &to, nullptr);
    return transaction->read(model::Record::of(to), value);
  }
};

// A write whose entry was of the old record is in the new one after its commit.
struct Writing : Moving<Writing> {
  bool has_committed = false;

  void thread(unsigned index) {
    if (index == 0) return move();
    model::Transaction transaction(&clock, 0, &pool);
    transaction.write(find(), 1);
    has_committed = transaction.commit();
  }
  void after() {
    model::require(has_committed, "a move is no conflict");
    model::require(find()->payload.words[0] == 1, "what was committed is found");
  }
};

// After the move a commit writes the new record and another one: a reader sees both writes or
// neither, and its verify follows the move.
struct Verifying : Moving<Verifying> {
  void thread(unsigned index) {
    model::Transaction transaction(&clock, index, &pool);
    if (index == 0) {
      move();
      transaction.write(find(), 1);
      transaction.write(&other, 1);
      model::require(transaction.commit(), "blind writes commit");
      return;
    }
    std::uint64_t values[2] = {};
    if (!read(&transaction, &values[0]) || !transaction.read(&other, &values[1])) return;
    if (transaction.commit()) model::require(values[0] == values[1], "both or neither");
  }
};

// Threads search while the page moves.
struct Finding : Moving<Finding> {
  void thread(unsigned index) {
    if (index == 0) return move();
    model::Transaction transaction(&clock, 0, &pool);
    std::uint64_t value = 1;
    if (read(&transaction, &value)) model::require(value == 0, "the record is whole");
  }
};

// M2: the count makes a record visible.
struct Inserting : Moving<Inserting> {
  model::Plain<int> record{0};

  void thread(unsigned index) {
    if (index == 0) {
      const occ::LockGuard guard(&old_page.tree.header.lock);
      record.set(1);
      old_page.tree.header.store_version(old_page.tree.header.load_version().plus_key());
    } else if (old_page.tree.header.load_version().keys() == 2) {
      model::require(record.get() == 1, "the record is complete");
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  model::Protocol protocol{
      "moved records",
      {model::scenario<Inserting, model::kExhaustive>("inserting"),
       model::scenario<Finding, 3>("finding"), model::scenario<Writing, 2>("writing"),
       model::scenario<Verifying, 2>("verifying")},
      {{"moved_model.cc move store_release #1", rl::mo_relaxed,
        "foster words are read behind a flag that was stored behind them, record's or page's"},
       {"moved_model.cc move store_release #2", rl::mo_relaxed, "as above"},
       {"moved_model.cc twin_of load_acquire #1", rl::mo_relaxed, "as above"},
       {"moved_model.cc twin_of load_acquire #2", rl::mo_relaxed, "as above"}},
      {"buffer.h", "record_lock.h", "record_lock.cc", "epoch_clock.cc", "epoch_clock.h",
       "commit.cc", "commit_apply.cc", "optimistic_read.h"}};
  return protocol.check(argc, argv);
}
