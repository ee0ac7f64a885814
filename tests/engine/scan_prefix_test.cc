// Txn::scan_prefix returns the rows whose keys begin with some bytes, and no others.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "tests/base/test_seed.h"
#include "tests/testing/test_database.h"

namespace foedus::scan_prefix_test {
namespace {

using testing::must;
using testing::TestDatabase;
using namespace std::string_literals;

using Model = std::map<std::string, std::string>;
using ModelRows = std::vector<std::pair<std::string, std::string>>;

// Returns random bytes out of 0x00, 0xff and their neighbours, so that many keys share slices and
// whole layers.
std::string random_bytes(base::Random* random, std::size_t bytes_max) {
  std::string bytes(random->below(bytes_max + 1), '\0');
  for (char& c : bytes) c = "\0\x01\xfe\xff\xff"[random->below(5)];
  return bytes;
}

std::string random_key(base::Random* random) {
  switch (random->below(8)) {
    case 0:
      return "8 bytes " + random_bytes(random, 3);
    case 1:
      return std::string(kMaxKeyBytes - 3, '\xff') + random_bytes(random, 3);
    case 2:
      return std::string(kMaxKeyBytes, static_cast<char>(random->below(256)));
    default:
      return random_bytes(random, random->below(20));
  }
}

ModelRows rows_of(const Model& model, std::string_view prefix, const ScanOptions& options) {
  ModelRows rows;
  for (const auto& row : model) {
    if (row.first.starts_with(prefix)) rows.push_back(row);
  }
  if (options.reverse) std::reverse(rows.begin(), rows.end());
  if (rows.size() > options.limit) rows.resize(options.limit);
  return rows;
}

Result<ModelRows> scanned(Txn& txn, const Masstree& tree, std::string_view prefix,
                          ScanOptions options) {
  ModelRows rows;
  Scan scan = txn.scan_prefix(tree, prefix, options);
  for (const Row& row : scan) rows.emplace_back(row.key, row.payload);
  if (auto failure = scan.failure()) return *failure;
  return rows;
}

class ScanPrefixTest : public ::testing::Test {
 protected:
  // Checks prefixes of present keys, of random ones, and the empty one.
  void expect_prefixes(Txn& txn, const Model& model, std::uint64_t count) {
    std::uint64_t rows_seen = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      std::string prefix = random_bytes(&random_, 3);
      if (random_.below(2) == 0) {
        const std::string& key = std::next(model.begin(), random_.below(model.size()))->first;
        prefix = key.substr(0, random_.below(key.size() + 1));
      }
      ScanOptions options{.reverse = random_.below(2) == 0};
      if (random_.below(2) == 0) options.limit = random_.below(20);
      const Result<ModelRows> rows = scanned(txn, tree_, prefix, options);
      ASSERT_TRUE(rows.is_ok()) << rows.status().message();
      ASSERT_EQ(*rows, rows_of(model, prefix, options))
          << "prefix of " << prefix.size() << " bytes, limit " << options.limit;
      rows_seen += rows->size();
    }
    EXPECT_GT(rows_seen, count) << "too few to say anything";
  }
  void put(const std::string& key, const std::string& payload) {
    must(db_->transact([&](Txn& txn) { return txn.put(tree_, key, payload); }));
  }

  TestDatabase db_;
  Masstree tree_ = must(db_->open_masstree("tree"));
  base::Random random_{testing::test_seed(11)};
};

// Property: the rows are those of a std::map whose keys have the prefix: in a serializable
// transaction with its own writes, in one that reads the newest versions, and in a snapshot of an
// earlier state.
TEST_F(ScanPrefixTest, returns_the_rows_of_a_model) {
  constexpr std::uint64_t kScans = 400;
  for (int round = 0; round < 3; ++round) {
    Model model;
    must(db_->drop_storage("tree"));
    tree_ = must(db_->open_masstree("tree"));
    for (int i = 0; i < 600; ++i) model[random_key(&random_)] = std::to_string(i);
    for (const auto& [key, payload] : model) put(key, payload);
    must(db_->glean());
    Session session = must(db_->new_session());
    Txn snapshot = must(session.begin({.isolation = Isolation::kSnapshot}));

    Model changed = model;
    must(db_->transact([&](Txn& txn) -> Status {
      for (int i = 0; i < 200; ++i) {
        const std::string key = random_key(&random_);
        changed[key] = "changed";
        FOEDUS_CHECK(txn.put(tree_, key, "changed"));
        const std::string erased = std::next(changed.begin(), random_.below(changed.size()))->first;
        changed.erase(erased);
        FOEDUS_CHECK(txn.erase(tree_, erased));
      }
      expect_prefixes(txn, changed, kScans);
      return {};
    }));
    must(db_->transact([&](Txn& txn) {
      expect_prefixes(txn, changed, kScans);
      return Status();
    }));
    must(db_->transact(
        [&](Txn& txn) {
          expect_prefixes(txn, changed, kScans);
          return Status();
        },
        {.isolation = Isolation::kDirtyRead}));
    expect_prefixes(snapshot, model, kScans);
    must(snapshot.commit());
    ASSERT_FALSE(HasFailure());
  }
}

// Property: key_prefix() finds the rows that have the given first columns and whose next column
// begins with a string.
TEST_F(ScanPrefixTest, of_key_prefix_returns_the_rows_whose_columns_match) {
  using Columns = std::tuple<std::uint32_t, std::string, std::int64_t>;
  std::vector<Columns> model;
  for (std::uint32_t country = 254; country < 258; ++country) {
    for (const std::string& name :
         {""s, "P"s, "Par"s, "Par\0"s, "Par\0is"s, "Paris"s, "Pas"s, "Par\xff"s}) {
      for (const std::int64_t number : {-1'000, -1, 0, 1, 1'000}) {
        model.emplace_back(country, name, number);
        put(std::string(key(model.back()).view()), "row");
      }
    }
  }
  const auto expect = [&](const Key& prefix, const auto& matches) {
    std::vector<Columns> expected;
    std::copy_if(model.begin(), model.end(), std::back_inserter(expected), matches);
    std::sort(expected.begin(), expected.end());
    std::vector<Columns> found;
    must(db_->transact([&](Txn& txn) -> Status {
      Scan rows = txn.scan_prefix(tree_, prefix);
      for (const Row& row : rows) {
        FOEDUS_TRY(const auto columns, (decode<std::uint32_t, std::string, std::int64_t>(row.key)));
        found.push_back(columns);
      }
      return rows.failure().value_or(Status());
    }));
    EXPECT_EQ(found, expected);
    EXPECT_FALSE(found.empty());
  };
  const auto country = [](const Columns& row) { return std::get<0>(row); };
  const auto name = [](const Columns& row) { return std::get<1>(row); };
  expect(key_prefix(), [&](const Columns&) { return true; });
  expect(key_prefix(255), [&](const Columns& row) { return country(row) == 255; });
  for (const std::string& text : {""s, "Par"s, "Par\0"s, "Par\xff"s, "P"s}) {
    expect(key_prefix(256, text),
           [&](const Columns& row) { return country(row) == 256 && name(row).starts_with(text); });
    expect(key(256, text),
           [&](const Columns& row) { return country(row) == 256 && name(row) == text; });
  }
}

TEST_F(ScanPrefixTest, an_empty_prefix_is_all_rows) {
  put("", "no bytes");
  put("\xff\xff", "the last");
  must(db_->transact([&](Txn& txn) -> Status {
    EXPECT_EQ(must(scanned(txn, tree_, "", {})),
              (ModelRows{{"", "no bytes"}, {"\xff\xff", "the last"}}));
    EXPECT_EQ(must(scanned(txn, tree_, "\xff", {.limit = 5, .reverse = true})),
              (ModelRows{{"\xff\xff", "the last"}}));
    return {};
  }));
}

// A prefix may be as long as a key, and is refused beyond that, whatever its bytes.
TEST_F(ScanPrefixTest, a_prefix_that_no_key_can_have_is_refused) {
  const std::string longest(kMaxKeyBytes, '\xff');
  put(longest, "row");
  Session session = must(db_->new_session());
  Txn txn = must(session.begin());
  EXPECT_EQ(must(scanned(txn, tree_, longest, {})), (ModelRows{{longest, "row"}}));
  for (const std::string& prefix : {longest + "\xff", std::string(5'000, 'x')}) {
    const Status refused = scanned(txn, tree_, prefix, {}).status();
    EXPECT_EQ(refused.code(), ErrorCode::kTooLarge) << refused.message();
    EXPECT_NE(refused.message().find(std::to_string(prefix.size()) + " bytes"), std::string::npos)
        << refused.message();
  }
  EXPECT_EQ(scanned(txn, Masstree(), "a", {}).code(), ErrorCode::kInvalidArgument);
  must(txn.commit());
  EXPECT_EQ(scanned(txn, tree_, "a", {}).code(), ErrorCode::kClosed);
}

// A row that another transaction inserts is a phantom within the prefix, and none next to it.
TEST_F(ScanPrefixTest, a_new_row_within_the_prefix_is_a_conflict) {
  const auto commit_beside = [&](const Key& added) {
    for (int i = 0; i < 200; ++i) put(std::string(key("Pas", i).view()), "next to it");
    Session session = must(db_->new_session());
    Txn one = must(session.begin());
    EXPECT_TRUE(must(scanned(one, tree_, key_prefix("Par"), {})).empty());
    must(one.put(tree_, "result", "0"));
    put(std::string(added.view()), "new");
    return one.commit().code();
  };
  EXPECT_EQ(commit_beside(key("Pas", 1'000)), ErrorCode::kOk);
  EXPECT_EQ(commit_beside(key("Paris", 7)), ErrorCode::kConflict);
}

}  // namespace
}  // namespace foedus::scan_prefix_test
