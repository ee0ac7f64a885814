#pragma once
// ChangeStream: the changes of committed transactions, from the log, in the order of their epochs.
// For copies in other systems, caches, search indexes, audits.
//
//     FOEDUS_TRY(foedus::ChangeStream stream, db.changes(position));  // position: Epoch() at first
//     for (;;) {
//       FOEDUS_TRY(const foedus::ChangeBatch batch, stream.next(100'000));
//       FOEDUS_CHECK(store(batch.changes, batch.position));  // both at once
//     }
//
// A batch has all changes of one epoch, and an epoch is handed out only once it is durable. A
// consumer that stores a batch's position together with what it made of the changes, and begins
// there after a crash of its own or of the database, gets every durable change once, in order.
//
// The log keeps changes in a directory that was opened with LogOptions::change_bytes. A stream that
// is open keeps all segments of the log that it has not handed out. So a consumer that stops
// reading, without an end to its stream, fills the device.

#include "foedus/cxx20.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

#include "foedus/epoch.h"
#include "foedus/status.h"
#include "foedus/storage.h"

namespace foedus {

namespace engine {
class OpenStream;
}  // namespace engine

// What a change did. The numbers are those of the log, and stable.
enum class ChangeKind : std::uint8_t {
  kPut = 1,        // the row has this payload now, whether it was there before or not
  kErase = 2,      // the row is gone
  kWriteAt = 3,    // the payload has these bytes at payload_offset now
  kIncrement = 4,  // addend() was added to the 64-bit number at payload_offset
  kAppend = 5,     // a record was added to a sequential storage
  kCreateStorage = 6,
  kDropStorage = 7,
};
// Returns "put", "erase", "write_at", "increment", "append", "create_storage" or "drop_storage";
// static lifetime.
std::string_view to_string(ChangeKind kind);

struct Change {
  ChangeKind kind = ChangeKind::kPut;
  // Number of the transaction in its batch, from 0 on. Changes of one transaction follow each
  // other, in the order in which it made them.
  std::uint32_t transaction = 0;
  std::uint32_t storage_id = 0;
  std::uint32_t payload_offset = 0;
  std::string_view storage;  // name
  std::string_view key;      // of the row; empty: appends, and changes of storages
  std::string_view payload;
  const StorageInfo* created = nullptr;  // kCreateStorage: what was created; else null

  // Returns which record of the array was changed. REQUIRES: the storage is an array.
  std::uint64_t index() const { return number_of(key); }
  // REQUIRES: kIncrement. The sum wraps around as Txn::increment() does.
  std::uint64_t addend() const { return number_of(payload); }

 private:
  static std::uint64_t number_of(std::string_view bytes) {
    std::uint64_t number = 0;
    std::memcpy(&number, bytes.data(), bytes.size() < 8 ? bytes.size() : 8);
    return number;
  }
};

// The changes of one epoch, or none and only a position. What it points to stays valid until the
// next call of next(), or the end of the stream.
struct ChangeBatch {
  Epoch epoch;     // of the changes; not valid if there are none
  Epoch position;  // everything up to here was handed out; where a later stream goes on
  // In an order in which the transactions could have run one after the other, as far as they wrote
  // to the same rows.
  std::span<const Change> changes;
};

// Made by Database::changes(). Belongs to one thread at a time. Costs transactions nothing.
class ChangeStream {
 public:
  ChangeStream(ChangeStream&& other) noexcept;
  ChangeStream& operator=(ChangeStream&&) = delete;
  // Ends the stream. What it has kept of the log goes at the next glean.
  ~ChangeStream();

  // Returns the changes of the next epoch that has any. Waits for one up to timeout_us; then
  // returns no changes, and the position. A call says that the consumer has stored all that earlier
  // calls returned: the log need not keep it any more. kClosed: also, close() was called meanwhile.
  // kIoError, kOutOfSpace, kCorruption: after an error the next call reads the same epoch again. If
  // the log has failed, the changes that are durable come first, and then its error.
  Result<ChangeBatch> next(std::uint64_t timeout_us = 0);

 private:
  friend class Database;
  explicit ChangeStream(std::shared_ptr<engine::OpenStream> stream);

  std::shared_ptr<engine::OpenStream> stream_;  // null: moved from
};

}  // namespace foedus
