// Commits against commits: txn/commit*.cc themselves, with the clock, the locks and the rings of
// the engine. Values name their writer, so that each scenario can exclude the results that no
// serial order allows.
#include "tests/models/harness/commit.h"

namespace foedus::storage {

bool track_moved(page::PagePool&, occ::StorageControl*, page::RecordHeader*, page::RecordHeader**,
                 std::uint32_t*) {
  return false;
}

}  // namespace foedus::storage

namespace {

using namespace foedus;
using model::kFirstEpoch;
using model::Transaction;

template <typename Scenario, rl::thread_id_t kThreads>
struct TwoRecords : model::Suite<Scenario, kThreads> {
  model::Runtime<> runtime;
  epoch::EpochClock clock{&runtime, kFirstEpoch, 2, 0};
  model::Record records[2];

  void before() {
    for (model::Record& record : records) record.begin(page::Tid(kFirstEpoch, 1), 0);
  }
};

// Two transactions read each other's writes. If both commit, one saw the other.
struct WriteSkew : TwoRecords<WriteSkew, 2> {
  bool has_committed[2] = {};
  std::uint64_t seen[2] = {};

  void thread(unsigned index) {
    Transaction transaction(&clock, index);
    if (!transaction.read(&records[1 - index], &seen[index])) return;
    transaction.write(&records[index], 1);
    has_committed[index] = transaction.commit();
  }
  void after() {
    const bool both = has_committed[0] && has_committed[1];
    model::require(!both || seen[0] + seen[1] == 1, "no write skew");
    model::require(records[0].payload.words[0] == (has_committed[0] ? 1 : 0), "what commits stays");
  }
};

// Two transactions add one to the same record.
struct LostUpdate : TwoRecords<LostUpdate, 2> {
  unsigned commits = 0;

  void thread(unsigned index) {
    Transaction transaction(&clock, index);
    std::uint64_t value = 0;
    if (!transaction.read(&records[0], &value)) return;
    transaction.write(&records[0], value + 1);
    if (transaction.commit()) ++commits;
  }
  void after() { model::require(records[0].payload.words[0] == commits, "no update is lost"); }
};

// One transaction writes both records, the other reads both and writes none.
struct ReadOnly : TwoRecords<ReadOnly, 2> {
  void thread(unsigned index) {
    Transaction transaction(&clock, index);
    if (index == 0) {
      for (model::Record& record : records) transaction.write(&record, 1);
      model::require(transaction.commit(), "blind writes commit");
      return;
    }
    std::uint64_t values[2] = {};
    for (int i = 0; i < 2; ++i) {
      if (!transaction.read(&records[i], &values[i])) return;
    }
    if (transaction.commit()) model::require(values[0] == values[1], "all of it or nothing");
  }
};

// The second transaction reads the first one's write, or overwrites it, while the clock advances:
// neither its epoch nor its TID is below (C2, C3). choose_tid() checks the epoch by an invariant.
template <bool kReads>
struct Chain : TwoRecords<Chain<kReads>, 3> {
  page::Tid tid_of(int record) {
    return page::Tid(this->records[record].header.tid.load_relaxed());
  }
  Epoch epochs[2];
  bool has_committed[2] = {};

  void thread(unsigned index) {
    if (index == 2) {
      static_cast<void>(this->clock.step());
      return;
    }
    Transaction transaction(&this->clock, index);
    if (index == 1 && kReads) {
      std::uint64_t value = 0;
      if (!transaction.read(&this->records[0], &value) || value == 0) return;
    }
    transaction.write(&this->records[index == 1 && kReads ? 1 : 0], index + 1);
    has_committed[index] = transaction.commit(&epochs[index]);
  }
  void after() {
    const bool both = has_committed[0] && has_committed[1];
    if (kReads && both) {
      model::require(epochs[0] <= epochs[1], "C2");
      model::require(tid_of(0).version() < tid_of(1).version(), "C3");
    }
  }
};

// Two transactions write both records, in different orders of their calls.
struct TwoWriters : TwoRecords<TwoWriters, 2> {
  void thread(unsigned index) {
    Transaction transaction(&clock, index);
    transaction.write(&records[index], index + 1);
    transaction.write(&records[1 - index], index + 1);
    model::require(transaction.commit(), "blind writes commit");
  }
  void after() {
    model::require(records[0].payload.words[0] == records[1].payload.words[0], "one was last");
  }
};

// Two readers do not see two writers in different orders. The writers consist only of their visible
// effect: new TIDs.
struct OneOrder : TwoRecords<OneOrder, 4> {
  bool has_committed[2] = {};
  bool is_new[2][2] = {};

  void thread(unsigned index) {
    if (index < 2) {
      model::Words::all().store(model::Words::all().get(&records[index].header.tid),
                                page::Tid(kFirstEpoch, 2).word(), rl::mo_release);
      return;
    }
    const unsigned reader = index - 2;
    Transaction transaction(&clock, 0);
    for (const unsigned record : {reader, 1 - reader}) {
      std::uint64_t value = 0;
      if (!transaction.read(&records[record], &value)) return;
      is_new[reader][record] = transaction.last_read().ordinal() == 2;
    }
    has_committed[reader] = transaction.commit();
  }
  void after() {
    if (!has_committed[0] || !has_committed[1]) return;
    for (const int record : {0, 1}) {
      const bool first_sees_it_alone = is_new[0][record] && !is_new[0][1 - record];
      const bool second_sees_the_other = is_new[1][1 - record] && !is_new[1][record];
      model::require(!first_sees_it_alone || !second_sees_the_other, "there is one order");
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  model::Protocol protocol{
      "commit",
      {model::scenario<WriteSkew, 3>("write skew"), model::scenario<LostUpdate, 3>("lost update"),
       model::scenario<ReadOnly, 2>("read-only"), model::scenario<TwoWriters, 2>("two writers"),
       model::scenario<OneOrder, 1>("one order for all"),
       model::scenario<Chain<true>, 1>("a chain of reads"),
       model::scenario<Chain<false>, 1>("a chain of writes")},
      {{"commit_apply.cc apply_writes fence_writer", rl::mo_relaxed,
        "the fence of enter_commit comes in between; record_model has none, and reports it"},
       {"commit_apply.cc unmark_being_written store_release", rl::mo_relaxed,
        "the same fence hands on what was seen before it"},
       {"epoch_clock.h enter_commit store_release", rl::mo_relaxed, "E4: epoch_clock_model"},
       {"epoch_clock.h leave_commit store_release", rl::mo_relaxed, "E2: epoch_clock_model"}},
      {"buffer.h", "record_lock.h", "record_lock.cc", "epoch_clock.cc"}};
  return protocol.check(argc, argv);
}
