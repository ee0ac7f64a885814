#pragma once
// What every operation of a Txn checks before it calls a storage, and what it adds to an error
// after.

#include <new>
#include <string>
#include <string_view>
#include <type_traits>

#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/engine/engine.h"
#include "foedus-core/engine/session.h"
#include "foedus-core/engine/storage_access.h"
#include "foedus/options.h"

namespace foedus::engine {

// An operation: what `function` returns. Where the heap is spent in it, kOutOfMemory, and the
// transaction can only end (T4).
template <typename Function>
auto operation(EngineSession* session, Function&& function) -> std::invoke_result_t<Function&> {
  try {
    return function();
  } catch (const std::bad_alloc& thrown) {
    if (session != nullptr) session->context().set_out_of_memory();
    return base::out_of_memory(thrown);
  }
}

[[gnu::cold]] inline Status no_storage() {
  return Status::error(ErrorCode::kInvalidArgument, "a handle of no storage");
}

// The checks of an operation. On success `context` and `control` are set.
class Call {
 public:
  Call(EngineSession* session, const Storage& storage)
      : session_(session), control_(internal::StorageAccess::control_of(storage)) {}

  Status check(bool is_write) const {
    if (is_ready(is_write)) [[likely]]
      return {};
    return refusal(is_write);
  }

 private:
  // All that refusal() asks, in one expression.
  bool is_ready(bool is_write) const {
    if (session_ == nullptr || control_ == nullptr) return false;
    const occ::TxnContext& txn = session_->context();
    return txn.is_open() && !txn.is_doomed() && !control_->is_dropped() &&
           !(is_write && txn.is_read_only()) && session_->engine().check_process().is_ok();
  }
  [[gnu::cold, gnu::noinline]] Status refusal(bool is_write) const {
    if (session_ == nullptr || !session_->context().is_open()) [[unlikely]] {
      return Status::error(ErrorCode::kClosed, "the transaction has ended");
    }
    FOEDUS_CHECK(session_->engine().check_process());
    if (control_ == nullptr) [[unlikely]]
      return no_storage();
    if (context().is_doomed()) [[unlikely]] {
      return context().conflict(ConflictReason::kNone, nullptr);
    }
    if (control_->is_dropped()) [[unlikely]] {
      return Status::error(ErrorCode::kNotFound, "the storage was dropped")
          .at_table(control_->meta.name);
    }
    if (is_write && context().is_read_only()) [[unlikely]] {
      return Status::error(ErrorCode::kInvalidArgument, "a write in a read-only transaction")
          .at_table(control_->meta.name);
    }
    return {};
  }

 public:
  // In line are only the tests: Status objects of what went well cost more than they.
  [[gnu::always_inline]] Status check_key(std::string_view key, bool is_write) const {
    if (is_ready(is_write) && key.size() <= kMaxKeyBytes) [[likely]]
      return {};
    return refusal_of_key(key, is_write);
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
  // [offset, offset + bytes) of an array's payload.
  [[gnu::always_inline]] Status check_part(std::uint32_t offset, std::size_t bytes) const {
    if (offset + bytes <= control_->meta.payload_bytes) [[likely]]
      return {};
    return refusal_of_part(offset, bytes);
  }

 private:
  [[gnu::cold, gnu::noinline]] Status refusal_of_key(std::string_view key, bool is_write) const {
    FOEDUS_CHECK(refusal(is_write));
    return Status::error(ErrorCode::kTooLarge, "a key of " + std::to_string(key.size()) +
                                                   " bytes; at most " +
                                                   std::to_string(kMaxKeyBytes))
        .at_table(control_->meta.name)
        .at_key(key.data(), key.size());
  }
  [[gnu::cold, gnu::noinline]] Status refusal_of_payload(std::string_view payload,
                                                         std::size_t bytes_max) const {
    return Status::error(ErrorCode::kTooLarge, "a payload of " + std::to_string(payload.size()) +
                                                   " bytes; at most " + std::to_string(bytes_max))
        .at_table(control_->meta.name);
  }
  [[gnu::cold, gnu::noinline]] Status refusal_of_index(std::uint64_t index, bool is_write) const {
    FOEDUS_CHECK(refusal(is_write));
    return Status::error(ErrorCode::kInvalidArgument,
                         "index " + std::to_string(index) + " of an array of " +
                             std::to_string(control_->meta.records) + " records")
        .at_table(control_->meta.name);
  }
  [[gnu::cold, gnu::noinline]] Status refusal_of_part(std::uint32_t offset,
                                                      std::size_t bytes) const {
    return Status::error(ErrorCode::kInvalidArgument,
                         "bytes " + std::to_string(offset) + " to " +
                             std::to_string(offset + bytes) + " of a payload of " +
                             std::to_string(control_->meta.payload_bytes))
        .at_table(control_->meta.name);
  }

 public:
  // Adds table and key to an error of the storage.
  Status explain(Status status, std::string_view key) const {
    if (status.is_ok()) [[likely]]
      return status;
    return std::move(status.at_table(control_->meta.name).at_key(key.data(), key.size()));
  }

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
    return std::move(status.at_table(control_->meta.name));
  }
  bool is_masstree() const { return control_->meta.kind == StorageKind::kMasstree; }

 private:
  EngineSession* const session_;
  occ::StorageControl* const control_;
};

}  // namespace foedus::engine
