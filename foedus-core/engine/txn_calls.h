#pragma once
// What every operation of a Txn checks before it calls a storage, and what it adds to an error
// after.

#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>

#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/base/system/process.h"
#include "foedus-core/engine/engine.h"
#include "foedus-core/engine/sessions/operation_mark.h"
#include "foedus-core/engine/sessions/session.h"
#include "foedus-core/engine/sessions/session_slot.h"
#include "foedus-core/engine/storage_access.h"
#include "foedus/options.h"

namespace foedus::engine {

// How many reads get_many() keeps in flight: more than the processor's loads, for the device's.
inline constexpr std::size_t kPrefetchDistance = 32;

// Behind a size that is above its limit.
inline constexpr const char* kSeeLimits = "; see the limits in foedus/options.h";

[[gnu::cold]] inline Status no_storage() {
  return Status::error(ErrorCode::kInvalidArgument, "a handle of no storage");
}

// Why the transaction that began as `turn` in the session of `slot` cannot be used.
[[gnu::cold]] Status why_no_txn(const SessionSlot* slot, std::uint64_t turn);

// Whether the transaction that began as `turn` in the session of `slot` is open, and of this
// process.
inline bool is_txn_open(const SessionSlot* slot, std::uint64_t turn) {
  // order: relaxed, as in Call.
  return slot->is_in(turn) && slot->generation.load_relaxed() == base::process_generation();
}
inline Status check_txn(const SessionSlot* slot, std::uint64_t turn) {
  if (is_txn_open(slot, turn)) [[likely]]
    return {};
  return why_no_txn(slot, turn);
}

// The heap was spent in an operation of that transaction, which can only end now (T4).
[[gnu::cold]] Status out_of_memory_in(SessionSlot* slot, std::uint64_t turn,
                                      const std::bad_alloc& thrown);

// Behind the parameters of the lambda of an operation: it is part of the caller, as if written
// there. Left to itself the compiler calls it, and passes all it captures through memory.
#define FOEDUS_IN_LINE __attribute__((always_inline))

// An operation of that transaction: what `function` returns. Where the heap is spent in it,
// kOutOfMemory. In line is what every operation of every transaction pays.
template <typename Function>
[[gnu::always_inline]] inline auto operation(SessionSlot* slot, std::uint64_t turn,
                                             Function&& function)
    -> std::invoke_result_t<Function&> {
  const OperationMark mark(slot, turn);
  try {
    return function();
  } catch (const std::bad_alloc& thrown) {
    return out_of_memory_in(slot, turn, thrown);
  }
}

// The checks of an operation. Once they have passed, session and storage may be followed.
class Call {
 public:
  Call(SessionSlot* slot, std::uint64_t turn, const Storage& storage)
      : slot_(slot),
        turn_(turn),
        storage_(storage),
        session_(slot->session.load_relaxed()),  // order: relaxed, followed only if E30 holds
        control_(internal::StorageAccess::control_of(storage)) {}

  Status check(bool is_write) const {
    if (is_ready(is_write)) [[likely]]
      return {};
    return refusal(is_write);
  }

 private:
  // All that refusal() asks, in one expression. In line, as the calls that are made for each row:
  // which sources are compiled as one is no reason for another choice.
  [[gnu::always_inline]] bool is_ready(bool is_write) const {
    // order: relaxed thrice: E30, and what does not change while a transaction is open.
    if (!slot_->is_in(turn_) ||
        slot_->database.load_relaxed() != internal::StorageAccess::database_of(storage_) ||
        slot_->generation.load_relaxed() != base::process_generation()) {
      return false;
    }
    const occ::TxnContext& txn = session_->context();
    return !txn.is_doomed() && control_->is_plain() && !(is_write && txn.is_read_only());
  }
  // Explains what is wrong, if anything is.
  [[gnu::cold, gnu::noinline]] Status refusal(bool is_write) const;
  // Applies the row of that key (E38); an index is given as the bytes of a log record's key.
  Status touch(std::string_view key) const;

 public:
  // In line are only the tests: Status objects of what went well cost more than they.
  [[gnu::always_inline]] Status check_key(std::string_view key, bool is_write) const {
    if (is_ready(is_write) && key.size() <= kMaxKeyBytes) [[likely]]
      return {};
    return refusal_of_key(key, is_write);
  }
  // Checks a bound of a range, or a key that is only a hint: no row is applied for it.
  Status check_bound(std::string_view key) const {
    if (is_ready(false) && key.size() <= kMaxKeyBytes) [[likely]]
      return {};
    FOEDUS_CHECK(refusal(false));
    return key.size() <= kMaxKeyBytes ? Status() : key_too_large(key);
  }
  // Returns whether a write to a keyed storage is refused by none of the checks.
  [[gnu::always_inline]] bool is_ready_to_write(std::string_view key,
                                                std::string_view payload) const {
    return is_ready(true) && key.size() <= kMaxKeyBytes && payload.size() <= kMaxPayloadBytes;
  }
  [[gnu::always_inline]] Status check_payload(std::string_view payload,
                                              std::size_t bytes_max) const {
    if (payload.size() <= bytes_max) [[likely]]
      return {};
    return refusal_of_payload(payload, bytes_max);
  }
  [[gnu::always_inline]] Status check_index(std::uint64_t index, bool is_write) const {
    if (is_ready(is_write) && index < control_->meta.records) [[likely]]
      return {};
    return refusal_of_index(index, is_write);
  }
  // Returns whether an array has those bytes.
  bool is_within(std::uint64_t index, std::uint32_t offset, std::size_t bytes) const {
    return index < control_->meta.records && offset + bytes <= control_->meta.payload_bytes;
  }
  // Returns whether a read is refused by none of the checks but those of what it asks for.
  bool is_ready_to_read() const { return is_ready(false); }
  // Returns whether a read of those bytes of an array is refused by none of the checks.
  bool is_ready_for(std::uint64_t index, std::uint32_t offset, std::size_t bytes) const {
    return is_ready(false) && is_within(index, offset, bytes);
  }
  // Returns whether a write of those bytes of an array is refused by none of the checks.
  bool is_ready_to_write(std::uint64_t index, std::uint32_t offset, std::size_t bytes) const {
    return is_ready(true) && is_within(index, offset, bytes);
  }
  // [offset, offset + bytes) of an array's payload.
  [[gnu::always_inline]] Status check_part(std::uint32_t offset, std::size_t bytes) const {
    if (offset + bytes <= control_->meta.payload_bytes) [[likely]]
      return {};
    return refusal_of_part(offset, bytes);
  }

 private:
  [[gnu::cold, gnu::noinline]] void explain_error(Status* status, std::string_view key) const {
    status->at_storage(control_->meta.name).at_key(key.data(), key.size());
    if (status->code() != ErrorCode::kOutOfMemory) return;
    *status = session_->engine().why_no_memory(std::move(*status), context().session());
  }
  // Explains what is wrong with the key. If nothing is, a row of the log's tail was applied for it.
  [[gnu::cold, gnu::noinline]] Status refusal_of_key(std::string_view key, bool is_write) const {
    FOEDUS_CHECK(refusal(is_write));
    return key.size() <= kMaxKeyBytes ? touch(key) : key_too_large(key);
  }
  [[gnu::cold, gnu::noinline]] Status key_too_large(std::string_view key) const {
    return Status::error(ErrorCode::kTooLarge, "a key of " + std::to_string(key.size()) +
                                                   " bytes; at most " +
                                                   std::to_string(kMaxKeyBytes) + kSeeLimits)
        .at_storage(control_->meta.name)
        .at_key(key.data(), key.size());
  }
  [[gnu::cold, gnu::noinline]] Status refusal_of_payload(std::string_view payload,
                                                         std::size_t bytes_max) const {
    return Status::error(ErrorCode::kTooLarge, "a payload of " + std::to_string(payload.size()) +
                                                   " bytes; at most " + std::to_string(bytes_max) +
                                                   kSeeLimits)
        .at_storage(control_->meta.name);
  }
  [[gnu::cold, gnu::noinline]] Status refusal_of_index(std::uint64_t index, bool is_write) const {
    FOEDUS_CHECK(refusal(is_write));
    if (index < control_->meta.records) {
      return touch({reinterpret_cast<const char*>(&index), sizeof(index)});
    }
    return Status::error(ErrorCode::kInvalidArgument,
                         "index " + std::to_string(index) + " of an array of " +
                             std::to_string(control_->meta.records) + " records")
        .at_storage(control_->meta.name);
  }
  [[gnu::cold, gnu::noinline]] Status refusal_of_part(std::uint32_t offset,
                                                      std::size_t bytes) const {
    return Status::error(ErrorCode::kInvalidArgument,
                         "bytes " + std::to_string(offset) + " to " +
                             std::to_string(offset + bytes) + " of a payload of " +
                             std::to_string(control_->meta.payload_bytes))
        .at_storage(control_->meta.name);
  }

 public:
  // Adds storage and key to an error of the storage.
  void explain(Status* status, std::string_view key) const {
    if (!status->is_ok()) [[unlikely]] explain_error(status, key);
  }

  EngineSession* session() const { return session_; }
  occ::TxnContext& context() const { return session_->context(); }
  occ::StorageControl* control() const { return control_; }
  bool is_of_snapshot() const { return context().read_mode() == occ::ReadMode::kSnapshot; }
  // Where the storage begins in the transaction's snapshot; null: it is empty there.
  page::SnapshotPageId root_in_snapshot() const {
    const ReadableSnapshot* const snapshot = session_->snapshot();
    return snapshot == nullptr ? page::SnapshotPageId() : snapshot->root_of(control_->id());
  }
  [[gnu::cold]] Status no_lock_in_snapshot() const {
    Status status = Status::error(ErrorCode::kInvalidArgument, "get_for_update() in a snapshot");
    return std::move(status.at_storage(control_->meta.name));
  }

 private:
  SessionSlot* const slot_;
  const std::uint64_t turn_;
  const Storage& storage_;
  EngineSession* const session_;
  occ::StorageControl* const control_;
};

}  // namespace foedus::engine
