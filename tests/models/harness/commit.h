#pragma once
// The commit protocol for models: txn/commit*.cc, epoch/epoch_clock.cc and log/ring/buffer.cc
// themselves, over records with a payload of two words, which are always equal.

#include "foedus-core/epoch/epoch_clock.cc"
#include "foedus-core/log/ring/buffer.cc"
#include "foedus-core/occ/optimistic_read.h"
#include "foedus-core/occ/record_lock.cc"
#include "foedus-core/txn/commit.cc"
#include "foedus-core/txn/commit_apply.cc"
#include "foedus-core/txn/commit_lock.cc"
#include "foedus-core/txn/commit_verify.cc"
#include "tests/models/harness/runtime.h"

namespace foedus::log {

inline void LogRecord::fill(char*, std::size_t) {}  // no ring wraps in a model

}  // namespace foedus::log

namespace model {

using namespace foedus;

struct Payload {
  std::uint64_t words[2];
};

struct Record {
  page::RecordHeader header;
  Payload payload{};

  static Record* of(page::RecordHeader* header) { return reinterpret_cast<Record*>(header); }
  // Makes the record. REQUIRES: no thread of the model runs yet.
  void begin(page::Tid tid, std::uint64_t value) {
    header.tid.store_relaxed(tid.word());
    payload = {{value, value}};
    adopt(&payload, sizeof(payload));
  }
};

constexpr Epoch kFirstEpoch(10);

// A thread's transaction and the ring of its log.
class Transaction {
 public:
  Transaction(epoch::EpochClock* clock, std::uint32_t session, page::PagePool* pool = nullptr)
      : context_(pool, clock, &log_, session) {}

  occ::TxnContext& context() { return context_; }
  // Reads a record. Returns false if it was being written for too long; the transaction then
  // conflicts.
  bool read(Record* record, std::uint64_t* value) {
    page::Tid observed;
    Payload payload;
    const bool settled = occ::optimistic_read(record->header, &observed, [&](page::Tid) {
      base::racy_read(&payload, &record->payload, sizeof(payload));
    });
    if (!settled) return false;
    require(payload.words[0] == payload.words[1], "no half record is read");
    context_.sets().reads().add({&record->header, observed, &storage_});
    *value = payload.words[0];
    last_read_ = observed;
    return true;
  }
  page::Tid last_read() const { return last_read_; }
  void write(Record* record, std::uint64_t value) {
    Status status;
    log::LogRecord* const log = log_.reserve(sizeof(log::LogRecord), &status);
    log->type = log::LogRecordType::kPut;
    log->key_bytes = 0;
    occ::WriteEntry entry{&record->header, log, &storage_};
    entry.value = value;
    context_.sets().writes().entries().push_back(entry);
  }
  bool commit(Epoch* epoch) { return txn::commit(&context_, epoch).is_ok(); }
  bool commit() {
    Epoch epoch;
    return commit(&epoch);
  }

 private:
  alignas(8) char ring_[1024];
  log::LogBuffer log_{ring_, sizeof(ring_), 0, nullptr};
  occ::StorageControl storage_;
  occ::TxnContext context_;
  page::Tid last_read_;
};

}  // namespace model

namespace foedus::storage {

inline void apply(occ::TxnContext&, const occ::WriteEntry& entry) {
  const model::Payload payload{{entry.value, entry.value}};
  base::racy_write(&model::Record::of(entry.record)->payload, &payload, sizeof(payload));
}

}  // namespace foedus::storage
