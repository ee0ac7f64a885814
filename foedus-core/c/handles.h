#pragma once
// The objects that the handles of foedus_c.h point to.
//
//   U1  Each begins with the tag of its type, which its destructor clears. A call through a handle
//       that is null, or whose tag is another one, returns kInvalidArgument and does nothing.
//   U2  No handle keeps a database open. Sessions, scans and transactions find out by themselves
//       that it was closed (foedus/database.h, "Lifetime"). Tickets and autocommit handles refer to
//       the engine, so they share the ownership of the Database, closed or not.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "foedus/database.h"
#include "foedus/foedus_c.h"

namespace foedus::c {

enum class Tag : std::uint32_t {
  kNone = 0,
  kDb = 0x66644201,
  kError,
  kOptions,
  kTxnOptions,
  kStorage,
  kSession,
  kTxn,
  kScan,
  kTicket,
  kKey,
  kLoad,
};

// Tagged: the first member of a handle's object (U1).
template <Tag tag>
class Tagged {
 public:
  Tagged() = default;
  // A volatile write, which the compiler keeps though the object ends.
  ~Tagged() { *static_cast<volatile Tag*>(&tag_) = Tag::kNone; }
  Tagged(const Tagged&) = delete;
  Tagged& operator=(const Tagged&) = delete;
  bool is_set() const { return tag_ == tag; }

 private:
  Tag tag_ = tag;
};

template <typename Object>
bool is_valid(const Object* object) {
  return object != nullptr && object->tag.is_set();
}

// Fills `error` with a failure, if it is a handle. Returns the number of the code.
int report(const Status& status, foedus_error* error) noexcept;
// Reports that an argument is no handle of a type: "storage".
[[gnu::cold]] int report_no_handle(const char* type, foedus_error* error) noexcept;
// Reports an argument that a call does not take.
[[gnu::cold]] int report_invalid(const char* text, foedus_error* error) noexcept;

inline std::string_view view_of(const void* bytes, std::size_t count) {
  return {static_cast<const char*>(bytes), count};
}
inline std::span<std::byte> span_of(void* bytes, std::size_t count) {
  return {static_cast<std::byte*>(bytes), count};
}

// Stores a value where the caller wants it, if it does.
template <typename T>
void store(T value, T* to) {
  if (to != nullptr) *to = value;
}

// Runs `function`, which returns a Status; returns what report() does. Memory that the system
// refuses is reported, too.
template <typename Function>
int reporting(foedus_error* error, Function&& function) noexcept {
  try {
    const Status status = function();
    return status.is_ok() ? FOEDUS_OK : report(status, error);
  } catch (const std::bad_alloc&) {
    return report(ErrorCode::kOutOfMemory, error);
  }
}

}  // namespace foedus::c

struct foedus_error {
  foedus::c::Tagged<foedus::c::Tag::kError> tag;
  foedus::Status status;
  std::string message;  // made when it is first asked for
  bool has_message = false;
};

struct foedus_options {
  foedus::c::Tagged<foedus::c::Tag::kOptions> tag;
  foedus::Options options;
};

struct foedus_txn_options {
  foedus::c::Tagged<foedus::c::Tag::kTxnOptions> tag;
  foedus::TxnOptions options;
};

struct foedus_db {
  foedus::c::Tagged<foedus::c::Tag::kDb> tag;
  std::shared_ptr<foedus::Database> database;
};

struct foedus_storage {
  foedus::c::Tagged<foedus::c::Tag::kStorage> tag;
  std::variant<foedus::Masstree, foedus::Hash, foedus::Array, foedus::Sequential> handle;

  const foedus::Storage& base() const {
    return std::visit([](const auto& of) -> const foedus::Storage& { return of; }, handle);
  }
};

// A transaction of foedus_begin() or foedus_transact(), or the handle of foedus_autocommit().
struct foedus_txn {
  enum class Kind : std::uint8_t { kOfSession, kOfTransact, kAutocommit };

  foedus::c::Tagged<foedus::c::Tag::kTxn> tag;
  const Kind kind;
  foedus::Txn* txn = nullptr;                  // kAutocommit: null
  foedus_session* session = nullptr;           // kOfSession
  foedus::Status failure;                      // kOfTransact: of the last operation that failed
  std::shared_ptr<foedus::Database> database;  // kAutocommit
  foedus::TxnOptions options;                  // kAutocommit

  explicit foedus_txn(Kind of) : kind(of) {}
};

struct foedus_session {
  foedus::c::Tagged<foedus::c::Tag::kSession> tag;
  foedus::Session session;
  std::optional<foedus::Txn> open;  // the newest transaction; destroyed before its session
  foedus_txn txn{foedus_txn::Kind::kOfSession};
  std::weak_ptr<foedus::Database> database;  // for tickets of its commits (U2)

  explicit foedus_session(foedus::Session opened) : session(std::move(opened)) {}
};

struct foedus_scan {
  foedus::c::Tagged<foedus::c::Tag::kScan> tag;
  foedus::Scan scan;
  std::optional<foedus::Scan::iterator> at;  // empty before the first row
  bool is_pending = false;                   // the row at *at was not handed out

  explicit foedus_scan(foedus::Scan opened) : scan(std::move(opened)) {}
};

struct foedus_ticket {
  foedus::c::Tagged<foedus::c::Tag::kTicket> tag;
  std::shared_ptr<foedus::Database> database;  // empty: it is not filled
  foedus::Ticket ticket;
};

struct foedus_load {
  foedus::c::Tagged<foedus::c::Tag::kLoad> tag;
  foedus::BulkLoad load;

  explicit foedus_load(foedus::BulkLoad begun) : load(std::move(begun)) {}
};

struct foedus_key {
  foedus::c::Tagged<foedus::c::Tag::kKey> tag;
  foedus::Key key;
};
