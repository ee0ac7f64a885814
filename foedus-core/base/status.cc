// The cold half of foedus/status.h.
#include "foedus/status.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "foedus-core/base/out_of_memory.h"

namespace foedus {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::kOk: return "ok";
    case ErrorCode::kConflict: return "conflict";
    case ErrorCode::kNotFound: return "not_found";
    case ErrorCode::kAlreadyExists: return "already_exists";
    case ErrorCode::kInvalidArgument: return "invalid_argument";
    case ErrorCode::kTooLarge: return "too_large";
    case ErrorCode::kOutOfMemory: return "out_of_memory";
    case ErrorCode::kOutOfSpace: return "out_of_space";
    case ErrorCode::kIoError: return "io_error";
    case ErrorCode::kCorruption: return "corruption";
    case ErrorCode::kWrongVersion: return "wrong_version";
    case ErrorCode::kBusy: return "busy";
    case ErrorCode::kNotSupported: return "not_supported";
    case ErrorCode::kClosed: return "closed";
    case ErrorCode::kTimeout: return "timeout";
    case ErrorCode::kRolledBack: return "rolled_back";
    case ErrorCode::kForked: return "forked";
  }
  return "unknown_error";
}

std::string_view to_string(ConflictReason reason) {
  switch (reason) {
    case ConflictReason::kNone: return "none";
    case ConflictReason::kRecordChanged: return "record_changed";
    case ConflictReason::kRecordLocked: return "record_locked";
    case ConflictReason::kPageGained: return "page_gained";
    case ConflictReason::kPageInstalled: return "page_installed";
    case ConflictReason::kPageDropped: return "page_dropped";
    case ConflictReason::kRetryBound: return "retry_bound";
  }
  return "unknown_reason";
}

namespace {

// Returns the cure, in half a sentence, of a code that has one cure wherever it comes from. Errors
// of all other codes bring theirs along.
std::string_view hint_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kConflict: return "run the transaction again";
    case ErrorCode::kCorruption: return "restore the directory from a copy";
    case ErrorCode::kWrongVersion: return "open it with the version that wrote it";
    default: return {};
  }
}

// Returns the cure of a failed system call that is the same for every call and file.
std::string_view hint_of_errno(int error_number) {
  switch (error_number) {
    case ENOSPC: return "free space on the file system; commits then go on";
    case EDQUOT: return "free space or raise the quota; commits then go on";
    case EFBIG: return "raise the limit of file sizes (ulimit -f); commits then go on";
    case EMFILE: return "raise the process's limit of open files (ulimit -n, RLIMIT_NOFILE)";
    case ENFILE: return "raise the system's limit of open files (sysctl fs.file-max)";
    case EROFS: return "mount the file system for writing";
    case EIO: return "check the device";
    default: return {};
  }
}

void append_preview(std::string_view key, std::string* out) {
  const bool printable =
      std::all_of(key.begin(), key.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
  if (printable) {
    out->append("\"").append(key).append("\"");
    return;
  }
  out->append("0x");
  for (const char c : key) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", static_cast<unsigned char>(c));
    out->append(digits);
  }
}

}  // namespace

// Where there is no memory for its text, an error is one without.
Status Status::error(ErrorCode code, std::string detail) noexcept {
  Status status(code);
  status.detail_ = new (std::nothrow) std::string(std::move(detail));
  return status;
}

Status Status::error(ErrorCode code, const char* detail) noexcept {
  Status status(code);
  base::trying([&] { status.detail_ = new std::string(detail); });
  return status;
}

Status Status::system_error(ErrorCode code, std::string detail, int error_number,
                            std::string_view hint) noexcept {
  const bool full = error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG;
  if (hint.empty()) hint = hint_of_errno(error_number);
  char text[128] = "";
  base::trying([&] {
    detail.append(": ").append(strerror_r(error_number, text, sizeof(text)));
    detail.append(" (errno ").append(std::to_string(error_number)).append(")");
    if (!hint.empty()) detail.append("; ").append(hint);
  });
  Status status = error(full ? ErrorCode::kOutOfSpace : code, std::move(detail));
  status.error_number_ = error_number;
  return status;
}

Status& Status::with_detail(std::string detail) noexcept {
  if (is_ok() || detail_ != nullptr) return *this;
  detail_ = new (std::nothrow) std::string(std::move(detail));
  return *this;
}

std::string Status::message() const {
  std::string out(to_string(code_));
  if (is_ok()) return out;
  if (reason_ != ConflictReason::kNone) out.append(" (").append(to_string(reason_)).append(")");
  if (storage_bytes_ != 0) out.append(" in storage '").append(storage()).append("'");
  if (preview_bytes_ != 0) {
    out.append(" at key ");
    append_preview(key_preview(), &out);
  }
  if (detail_ != nullptr) out.append(": ").append(*detail_);
  const std::string_view hint = hint_of(code_);
  if (!hint.empty()) out.append("; ").append(hint);
  return out;
}

void Status::delete_detail() noexcept { delete detail_; }

Status& Status::with_hint(std::string_view what_to_do) noexcept {
  if (is_ok()) return *this;
  base::trying([&] {
    std::string text = detail_ == nullptr ? std::string() : *detail_ + "; ";
    text.append(what_to_do);
    const std::string* const hinted = new std::string(std::move(text));
    delete std::exchange(detail_, hinted);
  });
  return *this;
}

Status& Status::at_storage(std::string_view name) {
  if (is_ok() || storage_bytes_ != 0) return *this;
  storage_bytes_ = static_cast<std::uint8_t>(std::min(name.size(), kStorageBytes));
  if (storage_bytes_ != 0) std::memcpy(storage_, name.data(), storage_bytes_);
  return *this;
}

Status& Status::at_key(const void* key, std::size_t key_bytes) {
  if (is_ok() || preview_bytes_ != 0 || key_bytes == 0) return *this;
  preview_bytes_ = static_cast<std::uint8_t>(std::min(key_bytes, kPreviewBytes));
  std::memcpy(preview_, key, preview_bytes_);
  return *this;
}

void Status::copy_from(const Status& other) noexcept {
  code_ = other.code_;
  detail_ = nullptr;
  if (other.detail_ != nullptr) {
    base::trying([&] { detail_ = new std::string(*other.detail_); });
  }
  if (other.is_ok()) return;
  reason_ = other.reason_;
  error_number_ = other.error_number_;
  storage_bytes_ = other.storage_bytes_;
  preview_bytes_ = other.preview_bytes_;
  std::memcpy(storage_, other.storage_, storage_bytes_);
  std::memcpy(preview_, other.preview_, preview_bytes_);
}

void Status::move_from(Status& other) noexcept {
  code_ = other.code_;
  detail_ = std::exchange(other.detail_, nullptr);
  if (other.is_ok()) return;
  reason_ = other.reason_;
  error_number_ = other.error_number_;
  storage_bytes_ = other.storage_bytes_;
  preview_bytes_ = other.preview_bytes_;
  std::memcpy(storage_, other.storage_, storage_bytes_);
  std::memcpy(preview_, other.preview_, preview_bytes_);
}

Status base::out_of_memory(const std::bad_alloc& thrown) noexcept {
  const bool is_thread = dynamic_cast<const NoThread*>(&thrown) != nullptr;
  return Status::error(ErrorCode::kOutOfMemory,
                       is_thread ? thrown.what()
                                 : "the system gave the process no memory; give it more, or lower "
                                   "Options::memory_bytes");
}

}  // namespace foedus
