// Messages after a user's mistake: each error says what happened, to which object, with which
// values, and what to do about its cause. Goal: no hint is of the code of an error instead of its
// cause. Method: each mistake is made through the public interface, and its whole line is compared.
// Cases that need another user or tighter limits run in a child.
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "tests/hostile/isolated_run.h"
#include "tests/testing/test_database.h"

namespace foedus::messages_test {
namespace {

using testing::must;
using testing::small_options;
using testing::TestDatabase;
using testing::TestDirectory;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kHasShadowMemory = true;  // of many terabytes
#else
constexpr bool kHasShadowMemory = false;
#endif

template <typename Answer>
std::string line_of(const Answer& answer) {
  if constexpr (std::is_same_v<Answer, Status>) {
    return answer.message();
  } else {
    return answer.status().message();
  }
}

std::string line_of_open(const std::string& directory,
                         const std::function<void(Options*)>& change = {}) {
  Options options = small_options(directory);
  if (change) change(&options);
  return line_of(Database::open(options));
}

// Returns the line of open() in a child that has called `before`.
std::string line_in_child(const std::string& directory, const std::function<void()>& before,
                          const std::function<void(Options*)>& change = {}) {
  return hostile::run_isolated([&] {
    before();
    return line_of_open(directory, change);
  });
}

void limit(int resource, rlim_t value) {
  const rlimit both{value, value};
  ASSERT_EQ(setrlimit(static_cast<__rlimit_resource>(resource), &both), 0);
}

// ---- directories -----------------------------------------------------------------------------

TEST(MessagesTest, a_directory_without_a_parent_is_told_what_to_make) {
  const TestDirectory directory;
  const std::string wanted = directory.path() + "/such/db";
  const std::string line = "io_error: cannot make directory " + wanted +
                           ": No such file or directory (errno 2); make " + directory.path() +
                           "/such first";
  EXPECT_EQ(line_of_open(wanted), line);
  EXPECT_NE(line_of_open(wanted + "/").find("make " + directory.path() + "/such first"),
            std::string::npos);
}

TEST(MessagesTest, a_file_in_place_of_the_directory_or_its_parent_is_named) {
  const TestDirectory directory;
  const std::string file = directory.path() + "/file";
  std::ofstream(file) << "no database";
  const std::string cure =
      ": Not a directory (errno 20); choose another directory: a part of this path is a file";
  EXPECT_EQ(line_of_open(file), "io_error: cannot open directory " + file + cure);
  EXPECT_EQ(line_of_open(file + "/db"), "io_error: cannot make directory " + file + "/db" + cure);
}

// Another user opens a directory of root, and a database of root.
TEST(MessagesTest, a_user_without_permission_is_told_of_which_directory) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to become another user";
  const TestDirectory directory;
  const std::string inner = directory.path() + "/db";
  std::filesystem::create_directory(inner);
  std::filesystem::permissions(directory.path(), std::filesystem::perms(0755));
  must(Database::open(small_options(inner)));
  const auto as_other_user = [] { ASSERT_EQ(setresuid(65534, 65534, 65534), 0); };
  EXPECT_EQ(line_in_child(directory.path() + "/new", as_other_user),
            "io_error: cannot make directory " + directory.path() +
                "/new: Permission denied (errno 13); let the user of this process write to " +
                directory.path());
  EXPECT_EQ(line_in_child(inner, as_other_user),
            "io_error: cannot open lock file " + inner +
                "/foedus.lock: Permission denied (errno 13); let the user of this process read "
                "and write it");
}

TEST(MessagesTest, a_directory_in_use_says_by_which_process) {
  TestDatabase db;
  const std::string path = db.options().dir;
  EXPECT_EQ(line_of(Database::open(db.options())),
            "busy: directory " + path +
                " is in use by this process; use the Database that has it, or close that first");
  const std::string self = std::to_string(getpid());
  EXPECT_EQ(line_in_child(path, [] {}),
            "busy: directory " + path + " is in use by process " + self + "; close it there first");
}

TEST(MessagesTest, a_limit_of_open_files_is_named) {
  const TestDirectory directory;
  // The limits go from one that does not suffice for the directory to one that suffices for all but
  // a segment.
  std::size_t refused = 0;
  for (rlim_t files = 4; files <= 9; ++files) {
    const std::string line = line_in_child(directory.path() + "/db" + std::to_string(files), [&] {
      limit(RLIMIT_NOFILE, files + 1);  // including the pipe
    });
    if (line == "ok") continue;
    ++refused;
    EXPECT_NE(line.find("Too many open files (errno 24); raise the process's limit of open files "
                        "(ulimit -n, RLIMIT_NOFILE)"),
              std::string::npos)
        << files << ": " << line;
    EXPECT_EQ(line.find("memory_bytes"), std::string::npos) << line;
  }
  EXPECT_GT(refused, 1u);
}

// ---- options ---------------------------------------------------------------------------------

TEST(MessagesTest, options_out_of_their_range_say_which_bound_in_its_unit) {
  const TestDirectory directory;
  const auto line = [&](const std::function<void(Options*)>& change) {
    return line_of_open(directory.path(), change);
  };
  EXPECT_EQ(line_of_open(""), "invalid_argument: option dir is empty");
  EXPECT_EQ(line([](Options* o) { o->memory_bytes = 1000; }),
            "invalid_argument: option memory_bytes is 1000, must be at least 64 MiB");
  EXPECT_EQ(line([](Options* o) { o->memory_bytes = std::uint64_t{1} << 50; }),
            "invalid_argument: option memory_bytes is 1125899906842624, must be at most 4 TiB");
  EXPECT_EQ(line([](Options* o) { o->log.buffer_bytes = 1'000'000; }),
            "invalid_argument: option log.buffer_bytes is 1000000, must be a power of two; the "
            "next one is 1048576");
  EXPECT_EQ(line([](Options* o) { o->log.segment_bytes = std::uint64_t{5} << 30; }),
            "invalid_argument: option log.segment_bytes is 5368709120, must be at most 4 GiB");
  EXPECT_EQ(line([](Options* o) { o->glean.log_bytes_max = 10; }),
            "invalid_argument: option glean.log_bytes_max is 10, must be at least 128 MiB");
  EXPECT_EQ(line([](Options* o) { o->sessions_max = 5000; }),
            "invalid_argument: option sessions_max is 5000, must be 1 .. 1024");
}

TEST(MessagesTest, addresses_that_cannot_be_reserved_call_for_less_memory_bytes) {
  if (kHasShadowMemory) GTEST_SKIP() << "the sanitizer needs more addresses than the limit";
  const TestDirectory directory;
  const std::string line = line_in_child(
      directory.path(), [] { limit(RLIMIT_AS, rlim_t{1} << 30); },
      [](Options* options) { options->memory_bytes = std::uint64_t{8} << 30; });
  EXPECT_NE(line.find("out_of_memory: cannot reserve addresses for "), std::string::npos) << line;
  EXPECT_NE(line.find(" bytes of memory: Cannot allocate memory (errno 12); lower "
                      "Options::memory_bytes, or raise the process's limit of addresses"),
            std::string::npos)
      << line;
  EXPECT_EQ(line.find("raise Options::memory_bytes"), std::string::npos) << line;
}

// ---- storages --------------------------------------------------------------------------------

TEST(MessagesTest, a_storage_of_another_kind_or_shape_says_both) {
  TestDatabase db;
  must(db->open_masstree("x"));
  must(db->open_array("a", 10, 8));
  EXPECT_EQ(line_of(db->open_hash("x")),
            "invalid_argument in storage 'x': it is a masstree; a hash was asked for");
  EXPECT_EQ(line_of(db->open_sequential("a")),
            "invalid_argument in storage 'a': it is an array; a sequential storage was asked for");
  EXPECT_EQ(line_of(db->open_array("a", 20, 16)),
            "invalid_argument in storage 'a': it has 10 records of 8 bytes; 20 records of 16 bytes "
            "were asked for");
}

TEST(MessagesTest, a_drop_of_what_is_not_there_says_so) {
  TestDatabase db;
  EXPECT_EQ(line_of(db->drop_storage("nosuch")), "not_found: there is no storage 'nosuch'");
}

// ---- transactions ----------------------------------------------------------------------------

TEST(MessagesTest, a_transaction_within_another_one_is_told_to_pass_the_txn_down) {
  TestDatabase db;
  const auto nothing = [](Txn&) -> Status { return {}; };
  const std::string line =
      "invalid_argument: transact() within a transaction of the same thread; pass the Txn down to "
      "what runs within it";
  must(db->transact([&](Txn&) -> Status {
    EXPECT_EQ(line_of(db->transact(nothing)), line);
    EXPECT_EQ(line_of(db->snapshot(nothing)), line);
    return {};
  }));
}

TEST(MessagesTest, a_transaction_over_its_log_buffer_is_told_to_commit_in_batches) {
  Options options = small_options("");
  options.log.buffer_bytes = 64u << 10;
  TestDatabase db(options);
  const Masstree tree = must(db->open_masstree("tree"));
  const Status status = db->transact([&](Txn& txn) -> Status {
    for (std::uint32_t i = 0;; ++i) FOEDUS_CHECK(txn.put(tree, key(i), std::string(100, 'x')));
  });
  EXPECT_NE(line_of(status).find(
                "the transaction's log records are over half of log.buffer_bytes (65536); commit "
                "in batches, or raise LogOptions::buffer_bytes"),
            std::string::npos)
      << line_of(status);
}

TEST(MessagesTest, sizes_over_a_limit_say_which_and_where_it_stands) {
  TestDatabase db;
  const Masstree tree = must(db->open_masstree("tree"));
  const Sequential log = must(db->open_sequential("log"));
  const std::string where = "; see the limits in foedus/options.h";
  must(db->transact([&](Txn& txn) -> Status {
    EXPECT_EQ(line_of(txn.put(tree, std::string(2000, 'k'), "")),
              "too_large in storage 'tree' at key \"" + std::string(24, 'k') +
                  "\": a key of 2000 bytes; at most 1024" + where);
    EXPECT_EQ(line_of(txn.put(tree, "k", std::string(5'000'000, 'x'))),
              "too_large in storage 'tree': a payload of 5000000 bytes; at most 4194304" + where);
    EXPECT_EQ(line_of(txn.append(log, std::string(4000, 'x'))),
              "too_large in storage 'log': a payload of 4000 bytes; at most 3072" + where);
    return {};
  }));
}

TEST(MessagesTest, mistakes_with_rows_say_which_row_and_both_numbers) {
  TestDatabase db;
  const Masstree tree = must(db->open_masstree("tree"));
  const Array array = must(db->open_array("array", 10, 8));
  must(db->transact([&](Txn& txn) -> Status {
    FOEDUS_CHECK(txn.insert(tree, "there", std::string(56, 'x')));
    EXPECT_EQ(line_of(txn.get(tree, "absent")), "not_found in storage 'tree' at key \"absent\"");
    EXPECT_EQ(line_of(txn.insert(tree, "there", "")),
              "already_exists in storage 'tree' at key \"there\"");
    EXPECT_EQ(line_of(txn.get_as<std::uint32_t>(tree, "there")),
              "invalid_argument in storage 'tree' at key \"there\": the payload has 56 bytes, the "
              "type 4");
    EXPECT_EQ(line_of(txn.get_as<std::uint64_t>(array, 10)),
              "invalid_argument in storage 'array': index 10 of an array of 10 records");
    return {};
  }));
  const auto put = [&](Txn& txn) { return txn.put(tree, "k", "v"); };
  EXPECT_EQ(line_of(db->transact(put, {.read_only = true})),
            "invalid_argument in storage 'tree': a write in a read-only transaction");
}

TEST(MessagesTest, too_many_sessions_are_told_what_to_use_or_raise) {
  Options options = small_options("");
  options.sessions_max = 1;
  TestDatabase db(options);
  const Session one = must(db->new_session());
  EXPECT_EQ(line_of(db->new_session()),
            "too_large: all of sessions_max (1) sessions are in use; use fewer sessions, or raise "
            "sessions_max");
}

// The test writes until the memory for volatile pages is spent; without a log there is no glean.
TEST(MessagesTest, a_full_memory_names_its_option_once) {
  Options options = small_options("");
  options.memory_bytes = 64u << 20;
  options.log.kind = Logging::kNone;
  TestDatabase db(options);
  const Masstree tree = must(db->open_masstree("tree"));
  Status status;
  for (std::uint32_t i = 0; status.is_ok(); ++i) {
    status = db->transact(
        [&](Txn& txn) { return txn.put(tree, std::to_string(i), std::string(100'000, 'x')); });
  }
  EXPECT_EQ(line_of(status),
            "out_of_memory in storage 'tree' at key \"" + std::string(status.key_preview()) +
                "\": no free page within memory_bytes; raise Options::memory_bytes or erase data");
}

}  // namespace
}  // namespace foedus::messages_test
