#include "foedus-core/engine/txn_calls.h"

#include <optional>

#include "foedus-core/engine/sessions/open_databases.h"

namespace foedus::engine {

namespace {

// Returns the error of an operation whose handle is not of the transaction's database.
Status other_database(const Storage& storage, const std::string& own_path) {
  const std::uint64_t number = internal::StorageAccess::database_of(storage);
  if (number == 0) return no_storage();
  const std::optional<std::string> path = path_of_database(number);
  Status status =
      path.has_value()
          ? Status::error(ErrorCode::kInvalidArgument, "the handle is of the database in " + *path +
                                                           ", the transaction of the one in " +
                                                           own_path)
          : Status::error(ErrorCode::kClosed,
                          "the handle is of a database that was closed; get one of the database "
                          "that is open, by open_masstree() and its like");
  return std::move(status.at_storage(storage.name()));
}

}  // namespace

Status why_no_txn(const SessionSlot* slot, std::uint64_t turn) {
  if (slot->is_in(turn)) FOEDUS_CHECK(base::check_process(slot->generation.load_relaxed()));
  return slot->is_revoked(turn) ? revoked()
                                : Status::error(ErrorCode::kClosed, "the transaction has ended");
}

Status out_of_memory_in(SessionSlot* slot, std::uint64_t turn, const std::bad_alloc& thrown) {
  // order: relaxed, is_txn_open() has compared the turn (E30).
  if (is_txn_open(slot, turn)) slot->session.load_relaxed()->context().set_out_of_memory();
  return base::out_of_memory(thrown);
}

// Does nothing in a transaction of snapshot isolation: its snapshot either precedes the log's tail,
// or has the waiting rows in its pages.
Status Call::touch(std::string_view key) const {
  if (!control_->has_unapplied() || is_of_snapshot()) return {};
  Status status = session_->engine().unapplied().touch(control_, key);
  if (status.code() == ErrorCode::kConflict) return session_->touch_later(control_, key);
  explain(&status, key);
  return status;
}

Status Call::refusal(bool is_write) const {
  FOEDUS_CHECK(check_txn(slot_, turn_));
  // order: relaxed, as in is_ready().
  if (slot_->database.load_relaxed() != internal::StorageAccess::database_of(storage_)) {
    return other_database(storage_, session_->engine().options().dir);
  }
  if (context().is_doomed()) return context().conflict(ConflictReason::kNone, nullptr);
  if (control_->is_dropped()) {
    return Status::error(ErrorCode::kNotFound, "the storage was dropped")
        .at_storage(control_->meta.name);
  }
  if (is_write && context().is_read_only()) {
    return Status::error(ErrorCode::kInvalidArgument, "a write in a read-only transaction")
        .at_storage(control_->meta.name);
  }
  return {};
}

}  // namespace foedus::engine
