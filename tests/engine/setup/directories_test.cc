// FileOptions::dirs: the directories of files, the directories with which a database opens again,
// and those that are refused.
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "foedus-core/engine/setup/directories.h"
#include "gleaner/directory_glean.h"
#include "tests/testing/test_database.h"

namespace foedus::directories_test {
namespace {

using testing::must;
using testing::small_options;
using testing::TestDirectory;

class DirectoriesTest : public ::testing::Test {
 protected:
  std::string at(const std::string& name) const { return root_.path() + "/" + name; }
  Options options(const std::vector<std::string>& dirs = {}, std::uint32_t socs = 2) const {
    Options options = small_options(at("main"));
    for (const std::string& name : dirs) options.files.dirs.push_back(at(name));
    options.socs = socs;
    options.glean.interval_us = 0;
    options.glean.log_bytes = 0;
    options.glean.log_bytes_max = 1u << 30;
    return options;
  }

  static Options with_loggers(Options options, std::uint32_t loggers_per_soc) {
    options.log.loggers_per_soc = loggers_per_soc;
    return options;
  }

  // Opens the database, checks that the rows of earlier lives are there, and writes `rows` more.
  void live(Options options, int rows, bool gleans = false) {
    Result<Database> opened = Database::open(std::move(options));
    ASSERT_TRUE(opened.is_ok()) << opened.status().message();
    Database& db = *opened;
    const Masstree table = must(db.open_masstree("t"));
    expect_rows(db, table);
    std::vector<Session> sessions;
    for (int i = 0; i < 4; ++i) sessions.push_back(must(db.new_session()));
    for (int i = 0; i < rows; ++i) {
      Session& session = sessions[static_cast<std::size_t>(i) % sessions.size()];
      Txn txn = must(session.begin({.durability = Durability::kSync}));
      must(txn.put(table, key(static_cast<std::uint64_t>(rows_ + i)), "row"));
      must(txn.commit());
    }
    rows_ += rows;
    sessions.clear();
    if (gleans) must(db.glean());
    expect_rows(db, table);
    must(db.close());
  }
  void expect_rows(Database& db, const Masstree& table) const {
    must(db.transact([&](Txn& txn) -> Status {
      int found = 0;
      auto rows = txn.scan(table, key(std::uint64_t{0}), key(std::uint64_t{1} << 60));
      for ([[maybe_unused]] auto row : rows) ++found;
      if (auto failure = rows.failure()) return *failure;
      EXPECT_EQ(found, rows_);
      return {};
    }));
  }

  std::set<std::string> files(const std::string& name, const std::string& prefix) const {
    std::set<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(at(name))) {
      std::string file = entry.path().filename();
      if (file.starts_with(prefix)) found.insert(std::move(file));
    }
    return found;
  }
  // Returns every file of every directory with its bytes, lock files aside.
  std::map<std::string, std::string> everything() const {
    std::map<std::string, std::string> all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root_.path())) {
      if (!entry.is_regular_file() || entry.path().filename() == "foedus.lock") continue;
      std::ifstream file(entry.path(), std::ios::binary);
      all[entry.path()] = {std::istreambuf_iterator<char>(file), {}};
    }
    return all;
  }
  Status refusal(const Options& options) const {
    const auto before = everything();
    const Result<Database> opened = Database::open(options);
    EXPECT_FALSE(opened.is_ok());
    EXPECT_TRUE(everything() == before) << "the refusal has changed something";
    return opened.status();
  }
  void expect_refused(const Options& options, const std::string& text) const {
    const Status refused = refusal(options);
    EXPECT_EQ(refused.code(), ErrorCode::kInvalidArgument) << refused.message();
    EXPECT_NE(refused.message().find(text), std::string::npos) << refused.message();
  }

  TestDirectory root_;
  int rows_ = 0;
};

TEST_F(DirectoriesTest, each_soc_has_its_directory) {
  live(options({"a", "b"}), 40, true);
  EXPECT_TRUE(files("main", "log-").empty());
  EXPECT_TRUE(files("main", "snapshot-").empty());
  EXPECT_EQ(files("main", "savepoint").size(), 1u);
  EXPECT_EQ(files("main", "manifest-").size(), 1u);
  EXPECT_FALSE(files("a", "log-0-").empty() && files("b", "log-1-").empty());
  for (const auto& [name, soc] : {std::pair("a", "0"), std::pair("b", "1")}) {
    EXPECT_TRUE(files(name, "savepoint").empty() && files(name, "manifest").empty());
    EXPECT_EQ(files(name, "log-"), files(name, std::string("log-") + soc));
    EXPECT_EQ(files(name, "foedus.directory"), std::set<std::string>{"foedus.directory"});
    for (const std::string& file : files(name, "snapshot-")) EXPECT_TRUE(file.ends_with(soc));
  }
  EXPECT_EQ(files("a", "snapshot-").size() + files("b", "snapshot-").size(), 2u);
}

TEST_F(DirectoriesTest, opens_with_others_in_any_order_and_number) {
  live(options(), 20, true);  // without any
  live(options({"a", "b"}), 20);
  live(options({"b", "a"}), 20, true);
  live(options({"b", "c", "a"}, 3), 20, true);
  live(options({"a", "b", "c"}, 1), 20, true);
  // The rows of all lives are found, also by a reader of the closed database.
  gleaner::DirectoryGleanOptions glean;
  for (const char* const name : {"c", "a", "b"}) glean.dirs.push_back(at(name));
  glean.socs = 2;
  must(gleaner::glean_directory(at("main"), glean));
  live(options({"a", "b", "c"}), 0);
}

// With one logger and one reducer the second directory gets no file; a recovery would take more.
TEST_F(DirectoriesTest, a_directory_without_needed_files_may_be_left_out_and_is_then_out_of_date) {
  const auto of_one = [&](const std::vector<std::string>& dirs) {
    Options one = options(dirs, 1);
    one.glean.reducers = 1;
    return one;
  };
  live(of_one({"a", "b"}), 20, true);
  ASSERT_TRUE(files("b", "log-").empty() && files("b", "snapshot-").empty());
  live(of_one({"a"}), 10, true);
  live(of_one({"a", "b"}), 10, true);
  std::ofstream(at("b") + "/log-7-00000001") << "stale";
  live(of_one({"a", "b"}), 10, true);  // leaves an orphaned file
  EXPECT_TRUE(files("b", "log-7").empty());
  live(of_one({"a"}), 10, true);
  std::ofstream(at("b") + "/log-7-00000001") << "stale";
  expect_refused(of_one({"a", "b"}), "b holds log-7-00000001, which is out of date");
  std::filesystem::remove(at("b") + "/log-7-00000001");
  live(of_one({"a", "b"}), 10, true);
}

TEST_F(DirectoriesTest, a_directory_with_needed_files_cannot_be_left_out) {
  live(options({"a", "b"}), 20);
  expect_refused(options({"a"}), "log-1-0000000");
  expect_refused(options({"a"}), "option files.dirs leaves out " + at("b") + ", which may have it");
  expect_refused(options(),
                 "leaves out " + at("a") + ", " + at("b") + ", one of which may have it");
  std::filesystem::create_directory(at("empty"));
  expect_refused(options({"a", "empty"}), "leaves out " + at("b"));
  EXPECT_TRUE(files("empty", "foedus.directory").empty());
  live(options({"b", "a"}), 10, true);
  expect_refused(options({"b"}), "is missing, and option files.dirs leaves out " + at("a"));
  live(options({"a", "b"}), 10);
}

TEST_F(DirectoriesTest, directories_of_others_and_twice_the_same_are_refused) {
  Options other = options({"a"});
  other.dir = at("other");
  {
    Database db = must(Database::open(other));
    must(db.close());
  }
  live(options({"b"}), 10);
  expect_refused(options({"b", "a"}), at("a") + " belongs to another database");
  expect_refused(options({"b", "other"}), at("other") + " belongs to another database");
  expect_refused(options({"b", "b"}), "option files.dirs names " + at("b"));
  expect_refused(options({"b", "main"}), "option files.dirs names " + at("main"));
  std::filesystem::create_directory_symlink(at("b"), at("link"));
  expect_refused(options({"b", "link"}), "option files.dirs names " + at("link"));
  Options of_others = options();
  of_others.dir = at("a");
  expect_refused(of_others, "holds files of a database of another directory");
  Options empty = options({"b"});
  empty.files.dirs.push_back("");
  expect_refused(empty, "option files.dirs[1] is empty");
  empty.files.dirs.back() = std::string("x\0y", 3);
  expect_refused(empty, "option files.dirs[1] has a zero byte at 1");
  Options many = options();
  many.files.dirs.assign(kMaxSocs + 1, at("b"));
  expect_refused(many, "option files.dirs has 65 directories");
  live(options({"b"}), 10);
}

TEST_F(DirectoriesTest, every_directory_is_locked) {
  Database db = must(Database::open(options({"a", "b"})));
  for (const char* const name : {"a", "b"}) {
    Options second = options({name});
    second.dir = at("second");
    const Result<Database> opened = Database::open(second);
    EXPECT_EQ(opened.code(), ErrorCode::kBusy) << opened.status().message();
  }
  EXPECT_EQ(engine::open_directories_to_read({at("a")}).code(), ErrorCode::kBusy);
  must(db.close());
}

TEST_F(DirectoriesTest, each_soc_has_its_loggers_and_their_files_in_its_directory) {
  live(with_loggers(options({"a", "b"}), 2), 40);
  for (const auto& [name, loggers] :
       {std::pair("a", std::pair("log-0-", "log-2-")), {"b", std::pair("log-1-", "log-3-")}}) {
    EXPECT_FALSE(files(name, loggers.first).empty());
    EXPECT_FALSE(files(name, loggers.second).empty());
    EXPECT_EQ(files(name, "log-").size(),
              files(name, loggers.first).size() + files(name, loggers.second).size());
  }
  // Lives in other directories, with fewer and with more of them, after closes that leave the log.
  live(with_loggers(options({"b", "a"}), 1), 20);
  live(with_loggers(options({"b", "a"}, 3), 3), 20, true);
  live(with_loggers(options({"a", "b"}, 1), 5), 20);
  live(with_loggers(options({"a", "b"}, 1), 0), 20, true);
}

TEST_F(DirectoriesTest, the_number_of_loggers_is_checked_and_told) {
  live(options(), 10);
  Options many = with_loggers(options({}, 2), 33);
  expect_refused(many, "option log.loggers_per_soc is 33, must be at most 32 with 2 SOCs");
  expect_refused(with_loggers(options({}, 2), 65),
                 "option log.loggers_per_soc is 65, must be 0 .. 64");
  const auto loggers_of = [](const Options& options) {
    Database db = must(Database::open(options));
    const EffectiveOptions effective = db.effective_options();
    must(db.close());
    return std::pair(effective.options.log.loggers_per_soc, effective.loggers);
  };
  EXPECT_EQ(loggers_of(options({}, 2)), std::pair(1u, 2u));
  EXPECT_EQ(loggers_of(with_loggers(options({}, 3), 2)), std::pair(2u, 6u));
  Options none = with_loggers(options({}, 2), 40);
  none.dir = at("none");
  none.log.kind = Logging::kNone;
  EXPECT_EQ(loggers_of(none), std::pair(40u, 0u));
}

TEST_F(DirectoriesTest, effective_options_name_the_directories) {
  Database db = must(Database::open(options({"a", "b"})));
  EXPECT_EQ(db.effective_options().options.files.dirs,
            (std::vector<std::string>{at("a"), at("b")}));
  must(db.close());
}

}  // namespace
}  // namespace foedus::directories_test
