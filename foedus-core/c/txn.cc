// Transactions of foedus_c.h.
#include <bit>
#include <type_traits>

#include "foedus-core/c/handles.h"
#include "foedus-core/c/operation.h"

namespace foedus::c {

namespace {

// Returns the status that stands for what a transaction's function returned. *application becomes
// the number, if it is one of the caller's.
Status status_of_code(int code, foedus_txn* txn, int* application) {
  *application = 0;
  if (code == FOEDUS_OK) return {};
  if (code >= FOEDUS_APPLICATION) {
    *application = code;
    return Status::rolled_back();
  }
  if (code < FOEDUS_OK || code > FOEDUS_FORKED) {
    return Status::error(
        ErrorCode::kInvalidArgument,
        "the transaction's function returned " + std::to_string(code) + ", which is no code");
  }
  const auto named = static_cast<ErrorCode>(code);
  return txn->failure.code() == named ? std::move(txn->failure) : Status(named);
}

// Returns FOEDUS_OK if the options are none, or a handle.
int check_options(const foedus_txn_options* options, foedus_error* error) noexcept {
  if (options == nullptr || is_valid(options)) return FOEDUS_OK;
  return report_no_handle("txn_options", error);
}

TxnOptions chosen(const foedus_txn_options* options) {
  return options == nullptr ? TxnOptions() : options->options;
}

template <typename Begin>
int begin_in(foedus_session* session, const foedus_txn_options* options, foedus_txn** txn,
             foedus_error* error, Begin&& begin) noexcept {
  if (txn == nullptr) return report_invalid("the place for the transaction is NULL", error);
  *txn = nullptr;
  if (!is_valid(session)) return report_no_handle("session", error);
  if (const int code = check_options(options, error); code != FOEDUS_OK) return code;
  return reporting(error, [&]() -> Status {
    FOEDUS_TRY(Txn begun, begin(&session->session, chosen(options)));
    session->open.reset();
    session->txn.txn = &session->open.emplace(std::move(begun));
    *txn = &session->txn;
    return {};
  });
}

}  // namespace

}  // namespace foedus::c

using namespace foedus;     // NOLINT: the functions below are in no namespace
using namespace foedus::c;  // NOLINT: as above

int foedus_transact(foedus_db* db, const foedus_txn_options* options, foedus_ticket* ticket,
                    foedus_txn_function function, void* argument, foedus_error* error) {
  if (!is_valid(db)) return report_no_handle("db", error);
  if (ticket != nullptr && !is_valid(ticket)) return report_no_handle("ticket", error);
  if (function == nullptr) return report_invalid("the function is NULL", error);
  if (const int code = check_options(options, error); code != FOEDUS_OK) return code;
  Ticket given;
  TxnOptions with_ticket = chosen(options);
  with_ticket.ticket = &given;
  int application = 0;
  const int code = reporting(error, [&]() -> Status {
    const Status status = db->database->transact(
        [&](Txn& txn) -> Status {
          foedus_txn handle(foedus_txn::Kind::kOfTransact);
          handle.txn = &txn;
          return status_of_code(function(&handle, argument, error), &handle, &application);
        },
        with_ticket);
    if (status.code() != ErrorCode::kRolledBack) application = 0;
    // With a number of the application, `error` keeps what the function has filled in.
    return application != 0 ? Status() : status;
  });
  if (application != 0) return application;
  if (code == FOEDUS_OK && ticket != nullptr) {
    ticket->ticket = given;
    ticket->database = db->database;
  }
  return code;
}

int foedus_autocommit(foedus_db* db, const foedus_txn_options* options, foedus_txn** txn,
                      foedus_error* error) {
  if (txn == nullptr) return report_invalid("the place for the handle is NULL", error);
  *txn = nullptr;
  if (!is_valid(db)) return report_no_handle("db", error);
  if (const int code = check_options(options, error); code != FOEDUS_OK) return code;
  return reporting(error, [&]() -> Status {
    auto made = std::make_unique<foedus_txn>(foedus_txn::Kind::kAutocommit);
    made->database = db->database;
    made->options = chosen(options);
    *txn = made.release();
    return {};
  });
}

void foedus_autocommit_free(foedus_txn* txn) {
  if (is_valid(txn) && txn->kind == foedus_txn::Kind::kAutocommit) delete txn;
}

int foedus_session_new(foedus_db* db, foedus_session** session, foedus_error* error) {
  if (session == nullptr) return report_invalid("the place for the session is NULL", error);
  *session = nullptr;
  if (!is_valid(db)) return report_no_handle("db", error);
  return reporting(error, [&]() -> Status {
    FOEDUS_TRY(Session opened, db->database->new_session());
    auto made = std::make_unique<foedus_session>(std::move(opened));
    made->database = db->database;
    made->txn.session = made.get();
    *session = made.release();
    return {};
  });
}

void foedus_session_free(foedus_session* session) {
  if (is_valid(session)) delete session;
}

int foedus_begin(foedus_session* session, const foedus_txn_options* options, foedus_txn** txn,
                 foedus_error* error) {
  return begin_in(session, options, txn, error,
                  [](Session* of, const TxnOptions& with) { return of->begin(with); });
}

int foedus_retry(foedus_session* session, const foedus_txn_options* options, foedus_txn** txn,
                 foedus_error* error) {
  return begin_in(session, options, txn, error,
                  [](Session* of, const TxnOptions& with) { return of->retry(with); });
}

int foedus_commit(foedus_txn* txn, foedus_ticket* ticket, foedus_error* error) {
  if (ticket != nullptr && !is_valid(ticket)) return report_no_handle("ticket", error);
  return operate(txn, error, [&](Txn& open) -> Status {
    if (txn->kind == foedus_txn::Kind::kAutocommit) {
      return Status::error(ErrorCode::kInvalidArgument,
                           "each operation of an autocommit handle commits by itself");
    }
    FOEDUS_TRY(const Ticket given, open.commit());
    if (ticket != nullptr) {
      ticket->ticket = given;
      ticket->database = txn->session->database.lock();
    }
    return {};
  });
}

int foedus_rollback(foedus_txn* txn, foedus_error* error) {
  return operate(txn, error, [&](Txn& open) -> Status {
    if (txn->kind == foedus_txn::Kind::kAutocommit) {
      return Status::error(ErrorCode::kInvalidArgument,
                           "each operation of an autocommit handle commits by itself");
    }
    open.rollback();
    return {};
  });
}

int foedus_verify(foedus_txn* txn, foedus_error* error) {
  return operate(txn, error, [](Txn& open) { return open.verify(); });
}

static_assert(std::is_trivially_copyable_v<Savepoint> &&
              sizeof(Savepoint) == sizeof(foedus_savepoint));

int foedus_set_savepoint(foedus_txn* txn, foedus_savepoint* savepoint, foedus_error* error) {
  if (savepoint == nullptr) return report_no_handle("savepoint", error);
  return operate(txn, error, [&](Txn& open) -> Status {
    FOEDUS_TRY(const Savepoint made, open.savepoint());
    *savepoint = std::bit_cast<foedus_savepoint>(made);
    return {};
  });
}

int foedus_rollback_to(foedus_txn* txn, const foedus_savepoint* savepoint, foedus_error* error) {
  if (savepoint == nullptr) return report_no_handle("savepoint", error);
  return operate(txn, error,
                 [&](Txn& open) { return open.rollback_to(std::bit_cast<Savepoint>(*savepoint)); });
}

int foedus_release_savepoint(foedus_txn* txn, const foedus_savepoint* savepoint,
                             foedus_error* error) {
  if (savepoint == nullptr) return report_no_handle("savepoint", error);
  return operate(txn, error,
                 [&](Txn& open) { return open.release(std::bit_cast<Savepoint>(*savepoint)); });
}

foedus_ticket* foedus_ticket_new() { return new (std::nothrow) foedus_ticket; }

void foedus_ticket_free(foedus_ticket* ticket) {
  if (is_valid(ticket)) delete ticket;
}

std::uint64_t foedus_ticket_epoch(const foedus_ticket* ticket) {
  return is_valid(ticket) ? ticket->ticket.epoch().number() : 0;
}

int foedus_ticket_is_durable(const foedus_ticket* ticket) {
  return is_valid(ticket) && ticket->ticket.is_durable() ? 1 : 0;
}

int foedus_ticket_wait(const foedus_ticket* ticket, std::uint64_t timeout_us, foedus_error* error) {
  if (!is_valid(ticket)) return report_no_handle("ticket", error);
  return reporting(error, [&] { return ticket->ticket.wait_durable(timeout_us); });
}

int foedus_ticket_on_durable(const foedus_ticket* ticket, foedus_durable callback, void* argument,
                             foedus_error* error) {
  if (!is_valid(ticket)) return report_no_handle("ticket", error);
  if (callback == nullptr) return report_invalid("the callback is NULL", error);
  return reporting(error, [&]() -> Status {
    ticket->ticket.on_durable([callback, argument](const Status& status) {
      callback(argument, static_cast<int>(status.code()));
    });
    return {};
  });
}
