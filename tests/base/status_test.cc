#include "foedus/status.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <utility>

namespace foedus::status_test {
namespace {

bool contains(const Status& status, std::string_view text) {
  return status.message().find(text) != std::string::npos;
}

// A Status is returned by every operation: it must stay within a few words.
TEST(StatusTest, is_small) {
  EXPECT_LE(sizeof(Status), 72u);
  EXPECT_LE(sizeof(Result<void>), sizeof(Status));
}

TEST(StatusTest, the_default_is_a_success_with_nothing_to_say) {
  const Status status{};
  EXPECT_TRUE(status.is_ok());
  EXPECT_TRUE(static_cast<bool>(status));
  EXPECT_EQ(status.message(), "ok");
  EXPECT_EQ(status.conflict_reason(), ConflictReason::kNone);
  EXPECT_EQ(status.error_number(), 0);
  EXPECT_TRUE(status.storage().empty());
  EXPECT_TRUE(status.key_preview().empty());
}

TEST(StatusTest, every_code_and_reason_has_its_own_name) {
  for (std::uint16_t a = 0; a <= 15; ++a) {
    EXPECT_NE(to_string(static_cast<ErrorCode>(a)), "unknown_error") << a;
    for (std::uint16_t b = 0; b < a; ++b) {
      EXPECT_NE(to_string(static_cast<ErrorCode>(a)), to_string(static_cast<ErrorCode>(b)));
    }
  }
  for (std::uint8_t a = 0; a < kConflictReasonCount; ++a) {
    if (a == 6 || a == 7) {  // reserved
      EXPECT_EQ(to_string(static_cast<ConflictReason>(a)), "unknown_reason") << a;
      continue;
    }
    EXPECT_NE(to_string(static_cast<ConflictReason>(a)), "unknown_reason") << a;
    for (std::uint8_t b = 0; b < a; ++b) {
      EXPECT_NE(to_string(static_cast<ConflictReason>(a)),
                to_string(static_cast<ConflictReason>(b)));
    }
  }
  EXPECT_EQ(to_string(static_cast<ErrorCode>(999)), "unknown_error");
}

// Programs may keep the numbers: they never change.
TEST(StatusTest, codes_keep_their_numbers) {
  EXPECT_EQ(static_cast<int>(ErrorCode::kConflict), 1);
  EXPECT_EQ(static_cast<int>(ErrorCode::kOutOfMemory), 6);
  EXPECT_EQ(static_cast<int>(ErrorCode::kOutOfSpace), 7);
  EXPECT_EQ(static_cast<int>(ErrorCode::kRolledBack), 15);
  EXPECT_EQ(static_cast<int>(ErrorCode::kForked), 16);
}

TEST(StatusTest, a_conflict_says_reason_storage_and_key) {
  Status status = Status::conflict(ConflictReason::kRecordChanged);
  status.at_storage("account").at_key("alice", 5);
  EXPECT_EQ(status.code(), ErrorCode::kConflict);
  EXPECT_EQ(status.conflict_reason(), ConflictReason::kRecordChanged);
  EXPECT_EQ(status.storage(), "account");
  EXPECT_EQ(status.key_preview(), "alice");
  EXPECT_EQ(status.message(),
            "conflict (record_changed) in storage 'account' at key \"alice\"; "
            "run the transaction again");
}

TEST(StatusTest, what_an_inner_call_said_stays) {
  Status status = ErrorCode::kNotFound;
  status.at_storage("inner").at_key("a", 1);
  status.at_storage("outer").at_key("b", 1);
  EXPECT_EQ(status.storage(), "inner");
  EXPECT_EQ(status.key_preview(), "a");
  Status success;
  success.at_storage("outer").at_key("b", 1);
  EXPECT_EQ(success.message(), "ok");
}

TEST(StatusTest, long_names_and_keys_are_cut_and_binary_keys_shown_as_digits) {
  Status status = ErrorCode::kAlreadyExists;
  status.at_storage(std::string(100, 't')).at_key(std::string(100, 'k').data(), 100);
  EXPECT_EQ(status.storage(), std::string(Status::kStorageBytes, 't'));
  EXPECT_EQ(status.key_preview(), std::string(Status::kPreviewBytes, 'k'));
  Status binary = ErrorCode::kNotFound;
  binary.at_key("\x00\xff\x41", 3);
  EXPECT_TRUE(contains(binary, "0x00ff41")) << binary.message();
}

TEST(StatusTest, a_system_error_adds_errno) {
  const Status status = Status::system_error(ErrorCode::kIoError, "cannot sync /d/log.3", EIO);
  EXPECT_EQ(status.code(), ErrorCode::kIoError);
  EXPECT_EQ(status.error_number(), EIO);
  EXPECT_TRUE(contains(status, "cannot sync /d/log.3: Input/output error (errno 5)"))
      << status.message();
}

// The hint depends on the cause: the place of the error gives it, and a system error of a limit
// names the limit. A code alone has a hint only if it has a single remedy.
TEST(StatusTest, a_hint_is_of_the_cause_and_not_of_the_code) {
  EXPECT_EQ(Status::error(ErrorCode::kIoError, "text").message(), "io_error: text");
  EXPECT_EQ(Status::error(ErrorCode::kOutOfMemory, "text").message(), "out_of_memory: text");
  EXPECT_EQ(Status::error(ErrorCode::kTooLarge, "text").message(), "too_large: text");
  EXPECT_EQ(Status::error(ErrorCode::kBusy, "text").message(), "busy: text");
  EXPECT_EQ(Status::error(ErrorCode::kCorruption, "text").message(),
            "corruption: text; restore the directory from a copy");
  EXPECT_EQ(Status::system_error(ErrorCode::kIoError, "cannot open x", ENOENT, "make y").message(),
            "io_error: cannot open x: No such file or directory (errno 2); make y");
  for (const int error_number : {EMFILE, ENFILE}) {
    const Status status = Status::system_error(ErrorCode::kOutOfMemory, "cannot", error_number);
    EXPECT_TRUE(contains(status, "limit of open files")) << status.message();
  }
  EXPECT_TRUE(contains(Status::system_error(ErrorCode::kIoError, "cannot", EFBIG), "ulimit -f"));
  EXPECT_TRUE(contains(Status::system_error(ErrorCode::kIoError, "cannot", EDQUOT), "quota"));
}

TEST(StatusTest, a_hint_is_added_behind_the_text_and_kept_by_copies) {
  Status status = Status::error(ErrorCode::kIoError, "text");
  status.with_hint("do this").with_hint("and that");
  const Status copy = status;
  EXPECT_EQ(copy.message(), "io_error: text; do this; and that");
  Status bare = ErrorCode::kClosed;
  EXPECT_EQ(bare.with_hint("open it again").message(), "closed: open it again");
  Status success;
  EXPECT_EQ(success.with_hint("nothing").message(), "ok");
}

TEST(StatusTest, a_full_disk_is_out_of_space_whatever_the_caller_said) {
  for (const int error_number : {ENOSPC, EDQUOT}) {
    const Status status = Status::system_error(ErrorCode::kIoError, "cannot append", error_number);
    EXPECT_EQ(status.code(), ErrorCode::kOutOfSpace);
    EXPECT_EQ(status.error_number(), error_number);
    EXPECT_TRUE(contains(status, "free space")) << status.message();
  }
}

void expect_equal(const Status& a, const Status& b) {
  EXPECT_EQ(a.code(), b.code());
  EXPECT_EQ(a.message(), b.message());
  EXPECT_EQ(a.error_number(), b.error_number());
  EXPECT_EQ(a.conflict_reason(), b.conflict_reason());
}

TEST(StatusTest, copies_are_equal_and_independent) {
  Status original = Status::system_error(ErrorCode::kIoError, "detail", EIO);
  original.at_storage("t").at_key("k", 1);
  auto source = std::make_unique<Status>(original);
  const Status copy(*source);
  Status assigned = Status::error(ErrorCode::kCorruption, "something else");
  assigned = *source;
  source.reset();
  expect_equal(copy, original);
  expect_equal(assigned, original);
  Status& same = assigned;
  assigned = same;
  expect_equal(assigned, original);
  assigned = Status();
  EXPECT_EQ(assigned.message(), "ok");
}

TEST(StatusTest, moves_take_the_detail_along) {
  Status original = Status::error(ErrorCode::kInvalidArgument, "Options::dir is empty");
  const Status wanted = original;
  Status moved(std::move(original));
  expect_equal(moved, wanted);
  Status assigned = Status::error(ErrorCode::kBusy, "x");
  assigned = std::move(moved);
  expect_equal(assigned, wanted);
}

Result<int> half_of(int number) {
  if (number % 2 != 0) return Status::error(ErrorCode::kInvalidArgument, "odd");
  return number / 2;
}
Result<int> quarter_of(int number) {
  FOEDUS_TRY(const int half, half_of(number));
  FOEDUS_TRY(const int quarter, half_of(half));
  return quarter;
}
Status check_quarter(int number) {
  FOEDUS_CHECK(quarter_of(number));
  FOEDUS_CHECK(Status());
  return {};
}

TEST(ResultTest, holds_a_value_or_the_reason_why_not) {
  EXPECT_EQ(*half_of(8), 4);
  EXPECT_FALSE(half_of(7).is_ok());
  EXPECT_EQ(half_of(7).code(), ErrorCode::kInvalidArgument);
}

TEST(ResultTest, try_and_check_pass_errors_on) {
  EXPECT_EQ(*quarter_of(8), 2);
  EXPECT_EQ(quarter_of(6).code(), ErrorCode::kInvalidArgument);
  EXPECT_TRUE(check_quarter(8).is_ok());
  EXPECT_TRUE(contains(check_quarter(6), "odd"));
}

TEST(ResultTest, carries_what_can_only_be_moved) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(5));
  const std::unique_ptr<int> value = *std::move(result);
  EXPECT_EQ(*value, 5);
}

}  // namespace
}  // namespace foedus::status_test
