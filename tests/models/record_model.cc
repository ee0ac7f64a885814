// A record's TID and payload: the writer's half of the sequence lock in txn/commit_apply.cc, the
// reader's in occ/optimistic_read.h.
#include "tests/models/harness/commit.h"

namespace foedus::storage {

bool track_moved(page::PagePool&, occ::StorageControl*, page::RecordHeader*, page::RecordHeader**,
                 std::uint32_t*) {
  return false;
}

}  // namespace foedus::storage

namespace {

using namespace foedus;

// The value of a record is the ordinal of its TID. One thread writes it once or twice, as the
// phases of a commit do; the others read it.
template <rl::thread_id_t kThreads, std::uint32_t kWrites>
struct Reading : model::Suite<Reading<kThreads, kWrites>, kThreads> {
  model::Runtime<> runtime;
  epoch::EpochClock clock{&runtime, model::kFirstEpoch, 1, 0};
  model::Record record;

  void before() { record.begin(page::Tid(model::kFirstEpoch, 1), 1); }
  void write(std::uint32_t ordinal) {
    model::Transaction transaction(&clock, 0);
    transaction.write(&record, ordinal);
    occ::TxnContext* const txn = &transaction.context();
    txn->sets().writes().sort();
    // There is no lock, because there is one writer. The fence is the clock's, but not needed here.
    txn::mark_being_written(txn);
    const page::Tid tid(model::kFirstEpoch, ordinal);
    txn::apply_writes(txn, tid);
    txn::publish_records(txn, tid);
  }
  void thread(unsigned index) {
    if (index == 0) {
      for (std::uint32_t i = 0; i < kWrites; ++i) write(i + 2);
      return;
    }
    model::Transaction transaction(&clock, 0);
    std::uint64_t value = 0;
    if (!transaction.read(&record, &value)) return;
    model::require(value == transaction.last_read().ordinal(), "payload and TID belong together");
  }
};

}  // namespace

int main(int argc, char** argv) {
  model::Protocol protocol{"record",
                           {model::scenario<Reading<2, 1>, model::kExhaustive>("a write, a reader"),
                            model::scenario<Reading<2, 2>, 3>("two writes, a reader"),
                            model::scenario<Reading<3, 1>, 3>("a write, two readers")},
                           {},
                           {"buffer.h"}};
  return protocol.check(argc, argv);
}
