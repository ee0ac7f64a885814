// ctest-labels: memory concurrency
// foedus_c.h refuses what is wrong by number and text, retries what it promises to retry, and never
// touches what has ended. interface_program.c shows what each call does with right arguments.
#include "foedus/foedus_c.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "foedus/limits.h"
#include "tests/testing/test_database.h"

namespace foedus::c_interface_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class CInterfaceTest : public ::testing::Test {
 protected:
  CInterfaceTest() {
    foedus_options* const options = foedus_options_new();
    EXPECT_EQ(foedus_options_set(options, "memory_bytes", "128MiB", error_), FOEDUS_OK);
    EXPECT_EQ(foedus_open(folder_.path().c_str(), options, &db_, error_), FOEDUS_OK) << message();
    foedus_options_free(options);
    EXPECT_EQ(foedus_open_masstree(db_, "tree", 4, &tree_, error_), FOEDUS_OK) << message();
    EXPECT_EQ(foedus_open_array(db_, "array", 5, 4, 8, &array_, error_), FOEDUS_OK) << message();
    EXPECT_EQ(foedus_autocommit(db_, nullptr, &each_, error_), FOEDUS_OK) << message();
  }
  ~CInterfaceTest() override {
    foedus_autocommit_free(each_);
    foedus_storage_free(tree_);
    foedus_storage_free(array_);
    EXPECT_EQ(foedus_db_free(db_, error_), FOEDUS_OK) << message();
    foedus_error_free(error_);
  }

  std::string message() const { return foedus_error_message(error_); }
  int put(foedus_txn* txn, const std::string& key, const std::string& payload) {
    return foedus_put(txn, tree_, key.data(), key.size(), payload.data(), payload.size(), error_);
  }
  std::string get(foedus_txn* txn, const std::string& key) {
    char payload[64];
    std::size_t bytes = 0;
    const int code =
        foedus_get(txn, tree_, key.data(), key.size(), payload, sizeof(payload), &bytes, error_);
    return code == FOEDUS_OK ? std::string(payload, bytes) : foedus_code_name(code);
  }

  testing::TestDirectory folder_, other_folder_;
  foedus_error* error_ = foedus_error_new();
  foedus_db* db_ = nullptr;
  foedus_storage* tree_ = nullptr;
  foedus_storage* array_ = nullptr;
  foedus_txn* each_ = nullptr;
};

TEST_F(CInterfaceTest, a_handle_that_is_null_or_of_another_type_is_refused_by_name) {
  EXPECT_EQ(put(nullptr, "k", "v"), FOEDUS_INVALID_ARGUMENT);
  EXPECT_THAT(message(), HasSubstr("no foedus_txn handle"));
  EXPECT_EQ(foedus_put(each_, nullptr, "k", 1, "v", 1, error_), FOEDUS_INVALID_ARGUMENT);
  EXPECT_THAT(message(), HasSubstr("no foedus_storage handle"));
  auto* const other = reinterpret_cast<foedus_db*>(tree_);
  EXPECT_EQ(foedus_close(other, error_), FOEDUS_INVALID_ARGUMENT);
  EXPECT_EQ(foedus_db_free(other, error_), FOEDUS_INVALID_ARGUMENT);
  EXPECT_THAT(message(), HasSubstr("no foedus_db handle"));
  foedus_session_free(reinterpret_cast<foedus_session*>(tree_));  // does nothing
  EXPECT_EQ(foedus_scan_next(nullptr, nullptr, nullptr, nullptr, nullptr, error_),
            FOEDUS_INVALID_ARGUMENT);
  foedus_storage* storage = tree_;
  EXPECT_EQ(foedus_open_hash(nullptr, "h", 1, 0, &storage, error_), FOEDUS_INVALID_ARGUMENT);
  EXPECT_EQ(storage, nullptr);
  EXPECT_EQ(foedus_durable_epoch(nullptr), 0u);
  EXPECT_EQ(put(each_, "k", "v"), FOEDUS_OK);  // with a handle that is valid
}

TEST_F(CInterfaceTest, an_error_may_be_null_and_describes_only_failures) {
  EXPECT_EQ(foedus_put(each_, array_, "k", 1, "v", 1, nullptr), FOEDUS_INVALID_ARGUMENT);
  EXPECT_EQ(foedus_error_code(error_), FOEDUS_OK);
  EXPECT_EQ(message(), "");
  EXPECT_EQ(foedus_put(each_, array_, "k", 1, "v", 1, error_), FOEDUS_INVALID_ARGUMENT);
  EXPECT_THAT(message(), HasSubstr("'array'"));
  EXPECT_EQ(put(each_, "k", "v"), FOEDUS_OK);
  EXPECT_EQ(foedus_error_code(error_), FOEDUS_INVALID_ARGUMENT);  // a success leaves it
  EXPECT_EQ(put(each_, std::string(kMaxKeyBytes + 1, 'k'), "v"), FOEDUS_TOO_LARGE);
  EXPECT_THAT(message(), StartsWith("too_large"));
  foedus_error_free(nullptr);
}

TEST_F(CInterfaceTest, each_option_is_set_by_its_name_and_a_bad_value_says_what_is_good) {
  foedus_options* const options = foedus_options_new();
  const auto set = [&](const char* name, const char* value) {
    return foedus_options_set(options, name, value, error_);
  };
  EXPECT_EQ(set("glean.log_bytes_max", "2GiB"), FOEDUS_OK);
  EXPECT_EQ(set("pages.nvm_cache", "mini_pages"), FOEDUS_OK);
  EXPECT_EQ(set("files.dirs", "/a,/b"), FOEDUS_OK);
  EXPECT_EQ(set("pages.snapshot_cache", "false"), FOEDUS_OK);
  for (const char* const value : {"", "x", "-1", "1MB", "17179869184GiB", "1 KiB"}) {
    EXPECT_EQ(set("memory_bytes", value), FOEDUS_INVALID_ARGUMENT) << value;
  }
  EXPECT_EQ(set("sessions_max", "4294967296"), FOEDUS_INVALID_ARGUMENT);
  EXPECT_THAT(message(), HasSubstr("below 2^32"));
  EXPECT_EQ(set("durability", "always"), FOEDUS_INVALID_ARGUMENT);
  EXPECT_THAT(message(), HasSubstr("one of async sync, not \"always\""));
  EXPECT_EQ(set("pages.snapshot_cache", "1"), FOEDUS_INVALID_ARGUMENT);
  EXPECT_EQ(set("nothing", "1"), FOEDUS_INVALID_ARGUMENT);
  EXPECT_THAT(message(), HasSubstr("emulation.ssd_bandwidth_mb"));
  EXPECT_EQ(set(nullptr, "1"), FOEDUS_INVALID_ARGUMENT);
  EXPECT_EQ(set("memory_bytes", "1KiB"), FOEDUS_OK);
  foedus_db* none = db_;
  EXPECT_EQ(foedus_open(other_folder_.path().c_str(), options, &none, error_),
            FOEDUS_INVALID_ARGUMENT);
  EXPECT_EQ(none, nullptr);
  foedus_options_free(options);
}

TEST_F(CInterfaceTest, a_directory_in_use_is_busy) {
  foedus_db* second = nullptr;
  EXPECT_EQ(foedus_open(folder_.path().c_str(), nullptr, &second, error_), FOEDUS_BUSY);
}

TEST_F(CInterfaceTest, a_database_with_an_open_transaction_is_neither_closed_nor_freed) {
  foedus_session* session = nullptr;
  foedus_txn* txn = nullptr;
  ASSERT_EQ(foedus_session_new(db_, &session, error_), FOEDUS_OK);
  ASSERT_EQ(foedus_begin(session, nullptr, &txn, error_), FOEDUS_OK);
  foedus_txn* second = nullptr;
  EXPECT_EQ(foedus_begin(session, nullptr, &second, error_), FOEDUS_INVALID_ARGUMENT);
  EXPECT_EQ(second, nullptr);
  EXPECT_EQ(foedus_close(db_, error_), FOEDUS_BUSY);
  EXPECT_EQ(foedus_db_free(db_, error_), FOEDUS_BUSY);
  EXPECT_EQ(put(txn, "k", "v"), FOEDUS_OK);  // it goes on
  EXPECT_EQ(foedus_commit(txn, nullptr, error_), FOEDUS_OK);
  EXPECT_EQ(foedus_commit(txn, nullptr, error_), FOEDUS_CLOSED);
  foedus_session_free(session);
}

TEST_F(CInterfaceTest, handles_that_outlive_their_database_are_closed) {
  foedus_db* other = nullptr;
  ASSERT_EQ(foedus_open(other_folder_.path().c_str(), nullptr, &other, error_), FOEDUS_OK)
      << message();
  foedus_storage* storage = nullptr;
  foedus_session* session = nullptr;
  foedus_txn* txn = nullptr;
  foedus_txn* each = nullptr;
  foedus_scan* scan = nullptr;
  foedus_ticket* const ticket = foedus_ticket_new();
  ASSERT_EQ(foedus_open_masstree(other, "tree", 4, &storage, error_), FOEDUS_OK);
  ASSERT_EQ(foedus_autocommit(other, nullptr, &each, error_), FOEDUS_OK);
  ASSERT_EQ(foedus_session_new(other, &session, error_), FOEDUS_OK);
  ASSERT_EQ(foedus_begin(session, nullptr, &txn, error_), FOEDUS_OK);
  EXPECT_EQ(foedus_put(each_, storage, "k", 1, "v", 1, error_), FOEDUS_INVALID_ARGUMENT);
  EXPECT_EQ(foedus_put(txn, storage, "k", 1, "v", 1, error_), FOEDUS_OK);
  ASSERT_EQ(foedus_commit(txn, ticket, error_), FOEDUS_OK);
  ASSERT_EQ(foedus_begin(session, nullptr, &txn, error_), FOEDUS_OK);
  ASSERT_EQ(foedus_scan_prefix(txn, storage, "", 0, FOEDUS_FORWARD, 9, &scan, error_), FOEDUS_OK);
  ASSERT_EQ(foedus_rollback(txn, error_), FOEDUS_OK);
  ASSERT_EQ(foedus_db_free(other, error_), FOEDUS_OK) << message();

  EXPECT_EQ(foedus_put(each, storage, "k", 1, "v", 1, error_), FOEDUS_CLOSED);
  EXPECT_EQ(foedus_put(txn, storage, "k", 1, "v", 1, error_), FOEDUS_CLOSED);
  EXPECT_EQ(foedus_begin(session, nullptr, &txn, error_), FOEDUS_CLOSED);
  EXPECT_EQ(foedus_scan_next(scan, nullptr, nullptr, nullptr, nullptr, error_), FOEDUS_CLOSED);
  EXPECT_EQ(foedus_put(each_, storage, "k", 1, "v", 1, error_), FOEDUS_CLOSED);
  EXPECT_EQ(foedus_ticket_is_durable(ticket), 1);  // close() made it durable
  EXPECT_EQ(foedus_ticket_wait(ticket, FOEDUS_FOREVER, error_), FOEDUS_OK);
  foedus_ticket_free(ticket);
  foedus_scan_free(scan);
  foedus_session_free(session);
  foedus_autocommit_free(each);
  foedus_storage_free(storage);
}

TEST_F(CInterfaceTest, an_autocommit_handle_has_nothing_that_lasts_longer_than_a_call) {
  foedus_scan* scan = nullptr;
  EXPECT_EQ(foedus_scan_range(each_, tree_, "", 0, "", 0, FOEDUS_FORWARD, 1, &scan, error_),
            FOEDUS_INVALID_ARGUMENT);
  EXPECT_EQ(scan, nullptr);
  EXPECT_EQ(foedus_get_for_update(each_, tree_, "k", 1, nullptr, 0, nullptr, error_),
            FOEDUS_INVALID_ARGUMENT);
  EXPECT_EQ(foedus_array_get_for_update(each_, array_, 0, nullptr, 0, error_),
            FOEDUS_INVALID_ARGUMENT);
  EXPECT_EQ(foedus_commit(each_, nullptr, error_), FOEDUS_INVALID_ARGUMENT);
  EXPECT_EQ(foedus_rollback(each_, error_), FOEDUS_INVALID_ARGUMENT);
}

// Four threads add to one counter, by transactions that read it: all conflicts were retried if
// nothing is lost.
TEST_F(CInterfaceTest, transactions_that_conflict_run_again) {
  struct Call {
    foedus_storage* array;
    static int add_one(foedus_txn* txn, void* argument, foedus_error* error) {
      const Call* const call = static_cast<Call*>(argument);
      std::int64_t sum = 0;
      if (const int code = foedus_array_get(txn, call->array, 2, &sum, sizeof(sum), error)) {
        return code;
      }
      ++sum;
      return foedus_array_put(txn, call->array, 2, &sum, sizeof(sum), error);
    }
  } call{array_};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 500; ++j) {
        EXPECT_EQ(foedus_transact(db_, nullptr, nullptr, Call::add_one, &call, nullptr), FOEDUS_OK);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::int64_t sum = 0;
  EXPECT_EQ(foedus_array_get(each_, array_, 2, &sum, sizeof(sum), error_), FOEDUS_OK);
  EXPECT_EQ(sum, 2000);
}

// Runs a function that puts a row, and then returns `code` after an erase that fails.
struct Ends {
  foedus_storage* tree;
  int code;
  static int run(foedus_txn* txn, void* argument, foedus_error* error) {
    const Ends* const ends = static_cast<Ends*>(argument);
    if (const int code = foedus_put(txn, ends->tree, "k", 1, "v", 1, error)) return code;
    (void)foedus_erase(txn, ends->tree, "absent", 6, nullptr);
    return ends->code;
  }
};

TEST_F(CInterfaceTest, a_function_that_fails_undoes_its_writes_and_its_code_is_returned) {
  const auto end_with = [&](int code) {
    Ends ends{tree_, code};
    return foedus_transact(db_, nullptr, nullptr, Ends::run, &ends, error_);
  };
  EXPECT_EQ(end_with(FOEDUS_NOT_FOUND), FOEDUS_NOT_FOUND);
  EXPECT_THAT(message(), HasSubstr("\"absent\""));  // of the erase, though it got no error
  EXPECT_EQ(end_with(FOEDUS_APPLICATION), FOEDUS_APPLICATION);
  EXPECT_EQ(end_with(FOEDUS_ROLLED_BACK), FOEDUS_ROLLED_BACK);
  EXPECT_EQ(end_with(FOEDUS_TIMEOUT), FOEDUS_TIMEOUT);
  for (const int code : {int{FOEDUS_END}, 17, 999}) {
    EXPECT_EQ(end_with(code), FOEDUS_INVALID_ARGUMENT) << code;
    EXPECT_THAT(message(), HasSubstr("returned " + std::to_string(code)));
  }
  EXPECT_EQ(get(each_, "k"), "not_found");
  EXPECT_EQ(end_with(FOEDUS_OK), FOEDUS_OK);
  EXPECT_EQ(get(each_, "k"), "v");
  EXPECT_EQ(foedus_transact(db_, nullptr, nullptr, nullptr, nullptr, error_),
            FOEDUS_INVALID_ARGUMENT);
}

TEST_F(CInterfaceTest, a_backup_is_refused_where_it_cannot_be) {
  EXPECT_EQ(foedus_backup(db_, nullptr, 0, 0, nullptr, error_), FOEDUS_INVALID_ARGUMENT);
  for (const unsigned flags : {3u, 16u}) {
    EXPECT_EQ(foedus_backup(db_, "/nowhere", flags, 0, nullptr, error_), FOEDUS_INVALID_ARGUMENT);
  }
  char* report = nullptr;
  EXPECT_EQ(foedus_backup(db_, folder_.path().c_str(), 0, FOEDUS_FOREVER, &report, error_),
            FOEDUS_INVALID_ARGUMENT);
  EXPECT_EQ(report, nullptr);
  EXPECT_EQ(
      foedus_backup(db_, other_folder_.path().c_str(), FOEDUS_BACKUP_NEWEST, 0, &report, error_),
      FOEDUS_NOT_FOUND);
  for (const unsigned compare : {0u, unsigned{FOEDUS_BACKUP_COMPARE_ALL}}) {
    ASSERT_EQ(put(each_, "k", "v"), FOEDUS_OK);
    ASSERT_EQ(foedus_backup(db_, other_folder_.path().c_str(), compare | FOEDUS_BACKUP_COPY,
                            FOEDUS_FOREVER, &report, error_),
              FOEDUS_OK)
        << message();
    EXPECT_THAT(report, HasSubstr("\"files_linked\":0"));
    foedus_free(report);
  }
}

TEST_F(CInterfaceTest, options_of_a_transaction_are_those_of_the_engine) {
  foedus_txn_options* const options = foedus_txn_options_new();
  EXPECT_EQ(foedus_txn_options_set(options, "isolation", "chaos", error_), FOEDUS_INVALID_ARGUMENT);
  EXPECT_THAT(message(), HasSubstr("serializable snapshot dirty_read"));
  EXPECT_EQ(foedus_txn_options_set(options, "read_only", "true", error_), FOEDUS_OK);
  foedus_txn* reader = nullptr;
  ASSERT_EQ(foedus_autocommit(db_, options, &reader, error_), FOEDUS_OK);
  EXPECT_EQ(put(reader, "k", "v"), FOEDUS_INVALID_ARGUMENT);
  EXPECT_EQ(get(reader, "k"), "not_found");
  foedus_autocommit_free(reader);

  EXPECT_EQ(put(each_, "k", "old"), FOEDUS_OK);
  EXPECT_EQ(foedus_txn_options_set(options, "isolation", "snapshot", error_), FOEDUS_OK);
  foedus_session* session = nullptr;
  foedus_txn* txn = nullptr;
  ASSERT_EQ(foedus_session_new(db_, &session, error_), FOEDUS_OK);
  ASSERT_EQ(foedus_begin(session, options, &txn, error_), FOEDUS_OK) << message();
  EXPECT_EQ(put(each_, "k", "new"), FOEDUS_OK);
  EXPECT_EQ(get(txn, "k"), "old");
  foedus_session_free(session);  // rolls back
  foedus_txn_options_free(options);
}

TEST_F(CInterfaceTest, rows_that_do_not_end_with_a_row_write_nothing) {
  const std::uint32_t sizes[2] = {1, 2};
  std::string rows(reinterpret_cast<const char*>(sizes), sizeof(sizes));
  rows += "kvv";
  const auto write = [&](const std::string& bytes, int how) {
    std::size_t done = 77;
    const int code =
        foedus_write_rows(each_, tree_, how, bytes.data(), bytes.size(), &done, error_);
    EXPECT_EQ(done, code == FOEDUS_OK ? bytes.size() / rows.size() : 0u);
    return code;
  };
  EXPECT_EQ(write(rows + rows.substr(0, 10), FOEDUS_PUT), FOEDUS_INVALID_ARGUMENT);
  EXPECT_EQ(write(rows + "1234567", FOEDUS_PUT), FOEDUS_INVALID_ARGUMENT);
  std::string huge = rows;
  std::memset(huge.data(), 0xff, sizeof(sizes));
  EXPECT_EQ(write(huge, FOEDUS_PUT), FOEDUS_INVALID_ARGUMENT);
  EXPECT_EQ(get(each_, "k"), "not_found");
  EXPECT_EQ(write(rows, FOEDUS_PUT), FOEDUS_OK);
  EXPECT_EQ(get(each_, "k"), "vv");
  EXPECT_EQ(write(rows, FOEDUS_INSERT), FOEDUS_ALREADY_EXISTS);
  EXPECT_EQ(write(rows, 9), FOEDUS_INVALID_ARGUMENT);
  EXPECT_EQ(write("", FOEDUS_PUT), FOEDUS_OK);
  EXPECT_EQ(write(rows, FOEDUS_ERASE), FOEDUS_OK);
}

TEST_F(CInterfaceTest, rows_that_fail_in_their_midst_are_not_there) {
  ASSERT_EQ(put(each_, "b", "there"), FOEDUS_OK);
  const std::uint32_t sizes[2] = {1, 0};
  const std::string head(reinterpret_cast<const char*>(sizes), sizeof(sizes));
  const std::string rows = head + "a" + head + "b" + head + "c";
  std::size_t done = 0;
  EXPECT_EQ(foedus_write_rows(each_, tree_, FOEDUS_INSERT, rows.data(), rows.size(), &done, error_),
            FOEDUS_ALREADY_EXISTS);
  EXPECT_EQ(done, 1u);
  EXPECT_EQ(get(each_, "a"), "not_found");
}

TEST_F(CInterfaceTest, many_reads_are_as_many_as_wanted) {
  constexpr std::size_t kRows = 700;
  std::vector<std::string> keys(kRows);
  std::vector<foedus_read> reads(kRows);
  std::vector<std::string> payloads(kRows, "....");
  for (std::size_t i = 0; i < kRows; ++i) {
    keys[i] = "key" + std::to_string(i);
    if (i % 3 != 0) {
      ASSERT_EQ(put(each_, keys[i], std::to_string(i) + "/long"), FOEDUS_OK);
    }
    reads[i] = {keys[i].data(), keys[i].size(), payloads[i].data(), 3, 0, 0};
  }
  ASSERT_EQ(foedus_get_many(each_, tree_, reads.data(), kRows, error_), FOEDUS_OK);
  for (std::size_t i = 0; i < kRows; ++i) {
    EXPECT_EQ(reads[i].found, i % 3 != 0 ? 1 : 0);
    if (i % 3 == 0) continue;
    EXPECT_EQ(reads[i].payload_bytes, std::to_string(i).size() + 5);
    EXPECT_EQ(payloads[i], (std::to_string(i) + "/long").substr(0, 3) + ".");
  }
  EXPECT_EQ(foedus_get_many(each_, tree_, nullptr, 1, error_), FOEDUS_INVALID_ARGUMENT);
}

TEST_F(CInterfaceTest, a_key_that_is_not_of_the_asked_parts_is_refused) {
  std::size_t at = 0;
  double number = 0;
  EXPECT_EQ(foedus_key_read_double("abc", 3, &at, &number, error_), FOEDUS_INVALID_ARGUMENT);
  at = 4;
  EXPECT_EQ(foedus_key_read_double("abc", 3, &at, &number, error_), FOEDUS_INVALID_ARGUMENT);
  char* text = nullptr;
  EXPECT_EQ(foedus_key_read_string("abc", 3, nullptr, &text, nullptr, error_),
            FOEDUS_INVALID_ARGUMENT);
  at = 0;
  EXPECT_EQ(foedus_key_read_string("abc", 3, &at, &text, nullptr, error_), FOEDUS_INVALID_ARGUMENT);
  EXPECT_EQ(at, 0u);
  foedus_key* const key = foedus_key_new();
  foedus_key_add_string(key, std::string(2000, 'x').data(), 2000);
  std::size_t bytes = 0;
  const void* const made = foedus_key_bytes(key, &bytes);
  EXPECT_EQ(foedus_put(each_, tree_, made, bytes, "", 0, error_), FOEDUS_TOO_LARGE);
  foedus_key_free(key);
}

TEST_F(CInterfaceTest, a_wait_for_a_ticket_ends_in_time) {
  foedus_ticket* const ticket = foedus_ticket_new();
  EXPECT_EQ(foedus_ticket_is_durable(ticket), 1);  // unfilled
  Ends ends{tree_, FOEDUS_OK};
  ASSERT_EQ(foedus_transact(db_, nullptr, ticket, Ends::run, &ends, error_), FOEDUS_OK);
  const int code = foedus_ticket_wait(ticket, 0, error_);
  EXPECT_TRUE(code == FOEDUS_OK || code == FOEDUS_TIMEOUT) << message();
  EXPECT_EQ(foedus_ticket_wait(ticket, FOEDUS_FOREVER, error_), FOEDUS_OK);
  EXPECT_EQ(foedus_ticket_on_durable(ticket, nullptr, nullptr, error_), FOEDUS_INVALID_ARGUMENT);
  foedus_ticket_free(ticket);
}

}  // namespace
}  // namespace foedus::c_interface_test
