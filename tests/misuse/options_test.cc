// Senseless options: enumerators that a cast made of a number, and paths with a zero byte, which
// the system would cut. Each is refused by name and number, and no file is made.
#include <filesystem>
#include <functional>

#include "tests/testing/test_database.h"

namespace foedus::options_test {
namespace {

using testing::must;
using testing::small_options;
using testing::TestDatabase;
using testing::TestDirectory;

TEST(MisuseOptionsTest, an_enumerator_out_of_its_range_is_refused_at_open) {
  const TestDirectory directory;
  const std::string path = directory.path() + "/db";
  const auto refusal = [&](const std::function<void(Options*)>& change) {
    Options options = small_options(path);
    change(&options);
    const Status status = Database::open(options).status();
    EXPECT_EQ(status.code(), ErrorCode::kInvalidArgument);
    return status.message();
  };
  EXPECT_EQ(refusal([](Options* o) { o->pages.huge_pages = static_cast<Facility>(3); }),
            "invalid_argument: option pages.huge_pages is 3, must be 0 .. 2");
  EXPECT_EQ(refusal([](Options* o) { o->pages.numa_binding = static_cast<Facility>(200); }),
            "invalid_argument: option pages.numa_binding is 200, must be 0 .. 2");
  EXPECT_EQ(refusal([](Options* o) { o->files.direct_io = static_cast<Facility>(4); }),
            "invalid_argument: option files.direct_io is 4, must be 0 .. 2");
  EXPECT_EQ(refusal([](Options* o) { o->log.kind = static_cast<Logging>(2); }),
            "invalid_argument: option log.kind is 2, must be 0 .. 1");
  EXPECT_EQ(refusal([](Options* o) { o->durability = static_cast<Durability>(3); }),
            "invalid_argument: option durability is 3, must be 0 .. 1");
  EXPECT_EQ(refusal([](Options* o) { o->open_until = static_cast<OpenUntil>(7); }),
            "invalid_argument: option open_until is 7, must be 0 .. 1");
  EXPECT_FALSE(std::filesystem::exists(path));
}

// transact() and an explicit session refuse it, whatever the other options are.
TEST(MisuseOptionsTest, an_enumerator_out_of_its_range_is_refused_by_begin) {
  TestDatabase db;
  Session session = must(db->new_session());
  const auto refusal = [&](const TxnOptions& options) {
    bool called = false;
    const Status status = db->transact(
        [&](Txn&) -> Status {
          called = true;
          return {};
        },
        options);
    EXPECT_FALSE(called);
    EXPECT_EQ(status.code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(session.begin(options).status().message(), status.message());
    return status.message();
  };
  EXPECT_EQ(refusal({.isolation = static_cast<Isolation>(3)}),
            "invalid_argument: option isolation is 3, must be 0 .. 2");
  EXPECT_EQ(refusal({.isolation = static_cast<Isolation>(255), .read_only = true}),
            "invalid_argument: option isolation is 255, must be 0 .. 2");
  EXPECT_EQ(refusal({.durability = static_cast<Durability>(2)}),
            "invalid_argument: option durability is 2, must be 0 .. 1");
  EXPECT_EQ(refusal({.isolation = Isolation::kSnapshot, .durability = static_cast<Durability>(9)}),
            "invalid_argument: option durability is 9, must be 0 .. 1");
  const auto nothing = [](Txn&) -> Status { return {}; };
  for (const std::uint32_t tries : {0u, 1'000'001u}) {
    EXPECT_EQ(db->transact(nothing, {.tries_max = tries}).message(),
              "invalid_argument: option tries_max is " + std::to_string(tries) +
                  ", must be 1 .. 1000000");
  }
  // The session can go on.
  Txn txn = must(session.begin());
  must(txn.commit());
}

TEST(MisuseOptionsTest, a_zero_byte_in_the_path_is_refused) {
  const TestDirectory directory;
  Options options = small_options(directory.path() + "/data");
  options.dir += std::string("\0base", 5);
  EXPECT_EQ(Database::open(options).status().message(),
            "invalid_argument: option dir has a zero byte at " +
                std::to_string(directory.path().size() + 5) +
                ", where the system would end the path");
  EXPECT_FALSE(std::filesystem::exists(directory.path() + "/data"));
}

}  // namespace
}  // namespace foedus::options_test
