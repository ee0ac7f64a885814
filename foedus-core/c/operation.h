#pragma once
// Runs operations of a transaction, whichever kind of handle it has, and finds the storage that a
// handle stands for.

#include <string>

#include "foedus-core/c/handles.h"

namespace foedus::c {

// Returns the storage if it is a Kind (Masstree, Array, ...); else null, and *status says what it
// is. KeyedStorage is a Masstree or a Hash.
template <typename Kind>
const Kind* storage_as(const foedus_storage* storage, Status* status) {
  if (!is_valid(storage)) {
    *status = Status::error(ErrorCode::kInvalidArgument, "the storage is no foedus_storage handle");
    return nullptr;
  }
  const Kind* found = std::visit(
      [](const auto& of) -> const Kind* {
        if constexpr (std::is_base_of_v<Kind, std::remove_cvref_t<decltype(of)>>) {
          return &of;
        } else {
          return nullptr;
        }
      },
      storage->handle);
  if (found == nullptr) {
    *status = Status::error(ErrorCode::kInvalidArgument,
                            "a storage of this kind does not have the operation");
    status->at_storage(storage->base().name());
  }
  return found;
}

// Runs `function`, a Status(Txn&), in the transaction; for autocommit, as one. Returns the code.
template <typename Function>
int operate(foedus_txn* txn, foedus_error* error, Function&& function) noexcept {
  if (!is_valid(txn)) return report_no_handle("txn", error);
  try {
    if (txn->kind == foedus_txn::Kind::kAutocommit) {
      const Status status = txn->database->transact(function, txn->options);
      return status.is_ok() ? FOEDUS_OK : report(status, error);
    }
    if (txn->txn == nullptr) return report(ErrorCode::kClosed, error);
    Status status = function(*txn->txn);
    if (status.is_ok()) return FOEDUS_OK;
    const int code = report(status, error);
    if (txn->kind == foedus_txn::Kind::kOfTransact) txn->failure = std::move(status);
    return code;
  } catch (const std::bad_alloc&) {
    return report(ErrorCode::kOutOfMemory, error);
  }
}

// Runs `function`, a Status(Txn&, const Kind&), on a storage.
template <typename Kind, typename Function>
int operate_on(foedus_txn* txn, const foedus_storage* storage, foedus_error* error,
               Function&& function) noexcept {
  Status refused;
  const Kind* const handle = storage_as<Kind>(storage, &refused);
  if (handle == nullptr) return report(refused, error);
  return operate(txn, error, [&](Txn& open) -> Status { return function(open, *handle); });
}

}  // namespace foedus::c
