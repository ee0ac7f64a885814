// Versions, allocations and errors of foedus_c.h.
#include <cstdlib>
#include <cstring>

#include "foedus-core/c/handles.h"

namespace foedus::c {

// The numbers are promised by both headers.
static_assert(FOEDUS_CONFLICT == static_cast<int>(ErrorCode::kConflict));
static_assert(FOEDUS_NOT_FOUND == static_cast<int>(ErrorCode::kNotFound));
static_assert(FOEDUS_ALREADY_EXISTS == static_cast<int>(ErrorCode::kAlreadyExists));
static_assert(FOEDUS_INVALID_ARGUMENT == static_cast<int>(ErrorCode::kInvalidArgument));
static_assert(FOEDUS_TOO_LARGE == static_cast<int>(ErrorCode::kTooLarge));
static_assert(FOEDUS_OUT_OF_MEMORY == static_cast<int>(ErrorCode::kOutOfMemory));
static_assert(FOEDUS_OUT_OF_SPACE == static_cast<int>(ErrorCode::kOutOfSpace));
static_assert(FOEDUS_IO_ERROR == static_cast<int>(ErrorCode::kIoError));
static_assert(FOEDUS_CORRUPTION == static_cast<int>(ErrorCode::kCorruption));
static_assert(FOEDUS_WRONG_VERSION == static_cast<int>(ErrorCode::kWrongVersion));
static_assert(FOEDUS_BUSY == static_cast<int>(ErrorCode::kBusy));
static_assert(FOEDUS_NOT_SUPPORTED == static_cast<int>(ErrorCode::kNotSupported));
static_assert(FOEDUS_CLOSED == static_cast<int>(ErrorCode::kClosed));
static_assert(FOEDUS_TIMEOUT == static_cast<int>(ErrorCode::kTimeout));
static_assert(FOEDUS_ROLLED_BACK == static_cast<int>(ErrorCode::kRolledBack));
static_assert(FOEDUS_FORKED == static_cast<int>(ErrorCode::kForked));

int report(const Status& status, foedus_error* error) noexcept {
  if (is_valid(error)) {
    error->status = status;
    error->has_message = false;
  }
  return static_cast<int>(status.code());
}

int report_no_handle(const char* type, foedus_error* error) noexcept {
  return reporting(error, [&] {
    return Status::error(ErrorCode::kInvalidArgument,
                         "the argument is no foedus_" + std::string(type) + " handle");
  });
}

int report_invalid(const char* text, foedus_error* error) noexcept {
  return report(Status::error(ErrorCode::kInvalidArgument, text), error);
}

namespace {

const Status& status_of(const foedus_error* error) {
  static const Status none;
  return is_valid(error) ? error->status : none;
}

const char* bytes_of(std::string_view view, std::size_t* bytes) {
  store(view.size(), bytes);
  return view.empty() ? "" : view.data();
}

}  // namespace

}  // namespace foedus::c

using namespace foedus;     // NOLINT: the functions below are in no namespace
using namespace foedus::c;  // NOLINT: as above

const char* foedus_version() { return FOEDUS_VERSION; }

void foedus_free(void* allocated) { std::free(allocated); }

foedus_error* foedus_error_new() { return new (std::nothrow) foedus_error; }

void foedus_error_free(foedus_error* error) {
  if (is_valid(error)) delete error;
}

int foedus_error_code(const foedus_error* error) {
  return static_cast<int>(status_of(error).code());
}

const char* foedus_error_reason(const foedus_error* error) {
  const ConflictReason reason = status_of(error).conflict_reason();
  return reason == ConflictReason::kNone ? "" : to_string(reason).data();
}

int foedus_error_errno(const foedus_error* error) { return status_of(error).error_number(); }

const char* foedus_error_storage(const foedus_error* error, std::size_t* bytes) {
  return bytes_of(status_of(error).storage(), bytes);
}

const char* foedus_error_key(const foedus_error* error, std::size_t* bytes) {
  return bytes_of(status_of(error).key_preview(), bytes);
}

const char* foedus_error_message(const foedus_error* error) {
  if (!is_valid(error) || error->status.is_ok()) return "";
  if (!error->has_message) {
    // The text is a cache: no other thread uses the handle at the same time.
    auto* const changed = const_cast<foedus_error*>(error);
    try {
      changed->message = error->status.message();
      changed->has_message = true;
    } catch (const std::bad_alloc&) {
      return to_string(error->status.code()).data();
    }
  }
  return error->message.c_str();
}

const char* foedus_error_hint(const foedus_error* error) {
  // Status::error() puts it behind a semicolon.
  const std::string_view message = foedus_error_message(error);
  const std::size_t at = message.rfind("; ");
  return at == std::string_view::npos ? "" : message.data() + at + 2;
}

const char* foedus_code_name(int code) {
  if (code == FOEDUS_END) return "end";
  if (code >= FOEDUS_APPLICATION) return "application";
  if (code < 0) return "unknown_error";
  return to_string(static_cast<ErrorCode>(code)).data();
}
