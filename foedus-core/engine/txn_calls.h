#pragma once
// The checks that every operation of a Txn makes before it calls a storage, and the explanation
// that it adds to an error of the storage.

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

// Number of reads that get_many() keeps in flight. It exceeds the number of loads that a processor
// has in flight: a device needs more reads in flight to be fast.
inline constexpr std::size_t kPrefetchDistance = 32;

// Ends the message of an error about a size above its limit.
inline constexpr const char* kSeeLimits = "; see the limits in foedus/options.h";

[[gnu::cold]] inline Status no_storage() {
  return Status::error(ErrorCode::kInvalidArgument, "a handle of no storage");
}

// Returns why the transaction that began as `turn` in the session of `slot` cannot be used.
[[gnu::cold]] Status why_no_txn(const SessionSlot* slot, std::uint64_t turn);

// Returns whether the transaction that began as `turn` in the session of `slot` is open, and was
// begun by this process.
inline bool is_txn_open(const SessionSlot* slot, std::uint64_t turn) {
  // order: relaxed, as in Call::is_ready().
  return slot->is_in(turn) && slot->generation.load_relaxed() == base::process_generation();
}
inline Status check_txn(const SessionSlot* slot, std::uint64_t turn) {
  if (is_txn_open(slot, turn)) [[likely]]
    return {};
  return why_no_txn(slot, turn);
}

// Returns kOutOfMemory for an operation that threw (T4), and marks its transaction, which can only
// be rolled back from now on.
[[gnu::cold]] Status out_of_memory_in(SessionSlot* slot, std::uint64_t turn,
                                      const std::bad_alloc& thrown);

// Follows the parameters of an operation's lambda, and makes the compiler inline it. Otherwise the
// compiler would call the lambda, and pass its captures through memory.
#define FOEDUS_IN_LINE __attribute__((always_inline))

// Runs `function` as an operation of the transaction, and returns its result; kOutOfMemory if it
// throws std::bad_alloc. All is inlined but the handling of the exception, which is a call.
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

// Checks the session and the storage of an operation. Only after a check has succeeded may the
// pointers to the session and to the storage's control be followed.
class Call {
 public:
  Call(SessionSlot* slot, std::uint64_t turn, const Storage& storage)
      : slot_(slot),
        turn_(turn),
        storage_(storage),
        session_(slot->session.load_relaxed()),  // order: relaxed, followed after is_in() (E30)
        control_(internal::StorageAccess::control_of(storage)) {}

  Status check(bool is_write) const {
    if (is_ready(is_write)) [[likely]]
      return {};
    return refusal(is_write);
  }

 private:
  // Returns whether refusal() has nothing to refuse, and the storage has no waiting rows (E38).
  // Always inlined, like all functions that run for each row: otherwise the compiler's choice would
  // depend on which sources are compiled together.
  [[gnu::always_inline]] bool is_ready(bool is_write) const {
    // order: relaxed, all three: `turn` by E30; the other two are constant in a transaction.
    if (!slot_->is_in(turn_) ||
        slot_->database.load_relaxed() != internal::StorageAccess::database_of(storage_) ||
        slot_->generation.load_relaxed() != base::process_generation()) {
      return false;
    }
    const occ::TxnContext& txn = session_->context();
    return !txn.is_doomed() && control_->is_plain() && !(is_write && txn.is_read_only());
  }
  // Returns the error of the first check that fails; ok if none does.
  [[gnu::cold, gnu::noinline]] Status refusal(bool is_write) const;
  // Applies the row of `key` if that row waits (E38). The key of an array's record is its index, as
  // eight bytes.
  Status touch(std::string_view key) const;

 public:
  // Checks an operation on a row, and the size of its key. Only a failed test leads to a call that
  // is not inlined: returning an ok Status from such a call would cost more than the tests do.
  [[gnu::always_inline]] Status check_key(std::string_view key, bool is_write) const {
    if (is_ready(is_write) && key.size() <= kMaxKeyBytes) [[likely]]
      return {};
    return refusal_of_key(key, is_write);
  }
  // Checks a bound of a range, or the key of a prefetch. Applies no waiting row (E38), because no
  // row of that key is read here.
  Status check_bound(std::string_view key) const {
    if (is_ready(false) && key.size() <= kMaxKeyBytes) [[likely]]
      return {};
    FOEDUS_CHECK(refusal(false));
    return key.size() <= kMaxKeyBytes ? Status() : key_too_large(key);
  }
  // Returns whether all checks of a write to a keyed storage succeed.
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
  // Returns whether the array has the record, and the payload has bytes [offset, offset + bytes).
  bool is_within(std::uint64_t index, std::uint32_t offset, std::size_t bytes) const {
    return index < control_->meta.records && offset + bytes <= control_->meta.payload_bytes;
  }
  // Returns whether the checks of a read succeed, apart from those of its index and its bytes.
  bool is_ready_to_read() const { return is_ready(false); }
  // Returns whether all checks of a read of bytes [offset, offset + bytes) of a record succeed.
  bool is_ready_for(std::uint64_t index, std::uint32_t offset, std::size_t bytes) const {
    return is_ready(false) && is_within(index, offset, bytes);
  }
  // Returns whether all checks of a write of bytes [offset, offset + bytes) of a record succeed.
  bool is_ready_to_write(std::uint64_t index, std::uint32_t offset, std::size_t bytes) const {
    return is_ready(true) && is_within(index, offset, bytes);
  }
  // Checks that an array's payload has the bytes [offset, offset + bytes).
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
  // Returns the error of the first check that fails. If none does, the storage has waiting rows:
  // applies the row of the key (E38), and returns how that ended.
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
  // Adds the names of storage and key to an error of the storage; does nothing on ok.
  void explain(Status* status, std::string_view key) const {
    if (!status->is_ok()) [[unlikely]] explain_error(status, key);
  }

  EngineSession* session() const { return session_; }
  occ::TxnContext& context() const { return session_->context(); }
  occ::StorageControl* control() const { return control_; }
  bool is_of_snapshot() const { return context().read_mode() == occ::ReadMode::kSnapshot; }
  // Returns the storage's root page in the transaction's snapshot; null if it is empty there.
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
