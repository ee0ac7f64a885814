#pragma once
// Status and Result<T>: the only way in which the engine reports that a call failed. No exception
// crosses the interface. Both are [[nodiscard]]. A success costs two stores and no allocation. The
// errors that a transaction meets (conflict, not_found, ...) allocate nothing either. An error
// keeps its explanation: storage name, key preview, errno, and for errors of files a text, unless
// there is no memory for it. Both can be copied and moved, and may outlive the database.

#include "foedus/cxx20.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace foedus {

// The numbers are stable: a program may store them. Never reuse one.
enum class ErrorCode : std::uint16_t {
  kOk = 0,
  // The transaction conflicted with another one. Nothing was changed; run it again, as
  // Database::transact() does.
  kConflict = 1,
  // The key does not exist. Not an error for many callers.
  kNotFound = 2,
  // insert() of a key that exists.
  kAlreadyExists = 3,
  // An argument or option is outside its documented range. Nothing was changed.
  kInvalidArgument = 4,
  // A key or value is above its limit, or the log records of a transaction are above half of
  // LogOptions::buffer_bytes.
  kTooLarge = 5,
  // Options::memory_bytes is used up, or the system gave the process no memory, mapping, thread or
  // descriptor. Reads that need no more of these go on; writers may try again once there is memory.
  kOutOfMemory = 6,
  // The file system is full, or a file would exceed the process's file size limit (RLIMIT_FSIZE).
  // Reads go on; commits work again once there is space.
  kOutOfSpace = 7,
  // A file could not be read, written or synced. message() names the file and errno.
  kIoError = 8,
  // Bytes in a file are not as they were written. message() names the file and the offset.
  kCorruption = 9,
  // The directory was written by another format version. It was not touched.
  kWrongVersion = 10,
  // The directory is in use by another process, or by another Database of this process. Or
  // Database::close() was called while transactions were open, or from a callback of the database.
  kBusy = 11,
  // This build does not support the request, or the engine does not in its current state.
  kNotSupported = 12,
  // The database was closed, or the transaction has ended.
  kClosed = 13,
  // The time limit of wait_durable() or a similar call has passed, or the transaction was open for
  // longer than Options::transaction_timeout_us and was rolled back.
  kTimeout = 14,
  // The function of transact() returned Status::rolled_back(), or called Txn::rollback().
  kRolledBack = 15,
  // A child of fork() used an object that its parent has opened. Nothing was done.
  kForked = 16,
};

// Why a transaction conflicted. Each reason has its own counter per storage.
enum class ConflictReason : std::uint8_t {
  kNone = 0,
  kRecordChanged = 1,  // a record that was read has another TID now; or a write is impossible now,
                       // because its record was inserted, erased or resized since the call
  kRecordLocked = 2,   // another transaction is writing a record that was read; or the transaction
                       // waited over 10 s for a record's lock; or a wait could be a deadlock
  kPageGained = 3,     // keys were added to a page that a scan or a miss has searched
  kPageInstalled = 4,  // a snapshot page that was read has a volatile page now
  kPageDropped = 5,    // a volatile page that was read or searched was dropped, or the storage was
                       // dropped
  // 6 and 7 are reserved. They meant a full log and a full pool, for which the engine now waits or
  // returns kOutOfSpace or kOutOfMemory.
  kRetryBound = 8,  // an optimistic read or a search did not succeed within its number of tries,
                    // or the commit found no free TID in its epoch
};
inline constexpr std::size_t kConflictReasonCount = 9;

// Returns true if transactions conflict for this reason: false for kNone and for reserved numbers.
constexpr bool is_used(ConflictReason reason) {
  return (reason >= ConflictReason::kRecordChanged && reason <= ConflictReason::kPageDropped) ||
         reason == ConflictReason::kRetryBound;
}

// Returns the name of a code or reason in words, e.g. "not_found", "record_changed". The text stays
// valid.
std::string_view to_string(ErrorCode code);
std::string_view to_string(ConflictReason reason);

class [[nodiscard]] Status {
 public:
  static constexpr std::size_t kStorageBytes = 24;
  static constexpr std::size_t kPreviewBytes = 24;

  Status() noexcept {}  // NOLINT: `= default` would clear all bytes at each `return {}`
  Status(ErrorCode code) : code_(code) {}  // NOLINT: `return ErrorCode::kNotFound;` reads well
  // Only the check is inline: a transaction destroys about forty statuses, and most have no text.
  [[gnu::always_inline]] ~Status() {
    if (detail_ != nullptr) [[unlikely]] delete_detail();
  }
  Status(const Status& other) noexcept { copy_from(other); }
  Status(Status&& other) noexcept {
    if (!other.is_ok()) move_from(other);
  }
  Status& operator=(const Status& other) noexcept {
    if (this != &other) {
      delete std::exchange(detail_, nullptr);
      copy_from(other);
    }
    return *this;
  }
  [[gnu::always_inline]] Status& operator=(Status&& other) noexcept {
    if (this != &other) {
      delete std::exchange(detail_, nullptr);
      code_ = ErrorCode::kOk;
      if (!other.is_ok()) move_from(other);
    }
    return *this;
  }

  // Returns an error with a text. The text says what happened, to which file or option, and after a
  // semicolon what to do.
  static Status error(ErrorCode code, std::string detail) noexcept;
  static Status error(ErrorCode code, const char* detail) noexcept;
  // Returns the error of a failed system call. Its text gets errno's number and text, then `hint`,
  // which says what to do. Without `hint` it gets the usual remedy for that error number, if there
  // is one. ENOSPC, EDQUOT and EFBIG become kOutOfSpace, whatever `code` says.
  static Status system_error(ErrorCode code, std::string detail, int error_number,
                             std::string_view hint = {}) noexcept;
  static Status conflict(ConflictReason reason) {
    Status status(ErrorCode::kConflict);
    status.reason_ = reason;
    return status;
  }
  // Adds a text, like that of error(), to an error that has none.
  Status& with_detail(std::string detail) noexcept;
  // Returns kRolledBack. A function of transact() returns it to undo its changes without a retry.
  static Status rolled_back() { return Status(ErrorCode::kRolledBack); }

  bool is_ok() const { return code_ == ErrorCode::kOk; }
  explicit operator bool() const { return is_ok(); }
  ErrorCode code() const { return code_; }
  ConflictReason conflict_reason() const { return is_ok() ? ConflictReason::kNone : reason_; }
  // Returns errno of the system call that failed; 0 if there is none.
  int error_number() const { return is_ok() ? 0 : error_number_; }
  // Returns the name of the storage that the error is about, cut to kStorageBytes; empty if there
  // is none.
  std::string_view storage() const {
    return is_ok() ? std::string_view() : std::string_view(storage_, storage_bytes_);
  }
  // Returns the first kPreviewBytes bytes of the key that the error is about; empty if there is
  // none.
  std::string_view key_preview() const {
    return is_ok() ? std::string_view() : std::string_view(preview_, preview_bytes_);
  }
  // Returns one line for a log or a person: code, reason, storage, key, text, hint.
  std::string message() const;

  // Add where the error happened. Keep what an inner call has already added. Do nothing on success.
  Status& at_storage(std::string_view name);
  Status& at_key(const void* key, std::size_t key_bytes);
  // Adds what to do, as half a sentence that begins with a verb, after the text. Does nothing on
  // success.
  Status& with_hint(std::string_view what_to_do) noexcept;

 private:
  void copy_from(const Status& other) noexcept;
  void move_from(Status& other) noexcept;
  [[gnu::cold]] void delete_detail() noexcept;

  ErrorCode code_ = ErrorCode::kOk;
  // All members below have a meaning only if code_ is not kOk, except detail_.
  ConflictReason reason_ = ConflictReason::kNone;
  std::uint8_t storage_bytes_ = 0;
  std::uint8_t preview_bytes_ = 0;
  std::int32_t error_number_ = 0;
  const std::string* detail_ = nullptr;  // owned; null: there is no text
  char storage_[kStorageBytes];          // uninitialized beyond storage_bytes_, on purpose
  char preview_[kPreviewBytes];
};

// A T, or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
  static_assert(!std::is_reference_v<T> && !std::is_same_v<std::remove_cv_t<T>, Status>);

 public:
  using value_type = T;

  Result(T value) : value_(std::move(value)) {}          // NOLINT: implicit on purpose
  Result(Status status) : status_(std::move(status)) {}  // NOLINT: implicit on purpose
  Result(ErrorCode code) : status_(code) {}              // NOLINT: implicit on purpose

  bool is_ok() const { return value_.has_value(); }
  // Returns is_ok(). Does not compile for a Result<bool>, where it could be mistaken for the value.
  explicit operator bool() const {
    static_assert(
        !std::is_same_v<T, bool>,
        "foedus: a Result<bool> is asked for success by is_ok(), for its bool by value(); "
        "or use FOEDUS_TRY(const bool found, ...)");
    return is_ok();
  }
  const Status& status() const& { return status_; }
  Status status() && { return std::move(status_); }
  ErrorCode code() const { return status_.code(); }

  // REQUIRES: is_ok().
  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return std::move(*value_); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return std::move(*value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  Status status_;
  std::optional<T> value_;
};

// Success, or the Status that says why the call failed. `return {};` is success.
template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;

  Result() = default;
  Result(Status status) : status_(std::move(status)) {}  // NOLINT: implicit on purpose
  Result(ErrorCode code) : status_(code) {}              // NOLINT: implicit on purpose

  bool is_ok() const { return status_.is_ok(); }
  explicit operator bool() const { return is_ok(); }
  const Status& status() const& { return status_; }
  Status status() && { return std::move(status_); }
  ErrorCode code() const { return status_.code(); }

 private:
  Status status_;
};

namespace internal {
template <typename T>
inline constexpr bool kIsResult = false;
template <typename T>
inline constexpr bool kIsResult<Result<T>> = true;

inline Status&& take_status(Status& status) { return std::move(status); }
inline const Status& take_status(const Status& status) { return status; }
template <typename T>
const Status& take_status(const Result<T>& result) {
  return result.status();
}
}  // namespace internal

}  // namespace foedus

#define FOEDUS_CONCAT_INNER(a, b) a##b
#define FOEDUS_CONCAT(a, b) FOEDUS_CONCAT_INNER(a, b)
// Makes a name that is unique to each use, even of several uses in one line.
#define FOEDUS_UNIQUE(name) FOEDUS_CONCAT(name, __COUNTER__)

// FOEDUS_TRY(auto x, expression): x becomes the value of a Result, or the enclosing function
// returns its Status.
#define FOEDUS_TRY(declaration, ...) \
  FOEDUS_TRY_INNER(FOEDUS_UNIQUE(foedus_result_), declaration, __VA_ARGS__)
#define FOEDUS_TRY_INNER(result, declaration, ...)                                           \
  auto result = (__VA_ARGS__);                                                               \
  static_assert(::foedus::internal::kIsResult<decltype(result)>,                             \
                "foedus: FOEDUS_TRY takes a Result<T>; for a Status there is FOEDUS_CHECK"); \
  if (!result.is_ok()) [[unlikely]]                                                          \
    return ::foedus::Status(result.status());                                                \
  declaration = *std::move(result)

// FOEDUS_CHECK(expression): if the expression, a Status or a Result, is a failure, the enclosing
// function returns its Status. Otherwise execution goes on.
#define FOEDUS_CHECK(...) FOEDUS_CHECK_INNER(FOEDUS_UNIQUE(foedus_checked_), __VA_ARGS__)
#define FOEDUS_CHECK_INNER(checked, ...)                                 \
  do {                                                                   \
    auto checked = (__VA_ARGS__);                                        \
    if (!checked.is_ok()) [[unlikely]]                                   \
      return ::foedus::Status(::foedus::internal::take_status(checked)); \
  } while (false)
