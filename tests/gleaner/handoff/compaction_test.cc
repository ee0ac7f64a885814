// Tests of the table of compaction.h, one for each of its cells, and random histories.
#include "gleaner/handoff/compaction.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>

#include "tests/gleaner/reduce/random_log.h"

namespace foedus::gleaner::testing::compaction_test {
namespace {

constexpr std::uint32_t kId = kHashId;

std::string number(std::uint64_t value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
}

// A history of writes, whose TIDs count from 1.
class History {
 public:
  History& put(std::string_view payload) { return add(log::LogRecordType::kPut, 0, payload); }
  History& erase() { return add(log::LogRecordType::kErase, 0, ""); }
  History& write(std::uint32_t offset, std::string_view part) {
    return add(log::LogRecordType::kWriteAt, offset, part);
  }
  History& increment(std::uint32_t offset, std::uint64_t by) {
    return add(log::LogRecordType::kIncrement, offset, number(by));
  }
  History& add(log::LogRecordType type, std::uint32_t offset, std::string_view payload) {
    records_.push_back(make_record(type, kId, records_.size() + 1, "key", offset, payload));
    return *this;
  }

  // Returns one word for each remaining record: type, TID, offset, and bytes.
  std::string folded(KeyHistory history = KeyHistory()) {
    for (std::size_t i = 0; i < records_.size(); ++i) {
      const auto* const log = reinterpret_cast<const log::LogRecord*>(records_[i].data());
      history.add({5, log, static_cast<std::uint32_t>(log->tid), log->tid});
    }
    history.finish();
    std::string text;
    for (std::size_t i = 0; i < history.record_count(); ++i) {
      const StreamRecord& record = history.record(i);
      EXPECT_EQ(record.position, 5u);
      EXPECT_EQ(record.log->key(), "key");
      EXPECT_EQ(record.log->storage_id, page::StorageId{kId});
      EXPECT_EQ(record.session, record.log->tid);
      EXPECT_EQ(record.sequence, record.log->tid);
      if (i != 0) text += " ";
      text += "?PEWIA"[static_cast<int>(record.log->type)];
      text += std::to_string(record.log->tid) + "@" +
              std::to_string(record.log->payload_offset) + ":";
      if (record.log->type == log::LogRecordType::kIncrement) {
        std::uint64_t value;
        std::memcpy(&value, record.log->payload_data(), 8);
        text += std::to_string(value);
      } else {
        text += record.log->payload();
      }
    }
    return text;
  }

 private:
  std::vector<std::string> records_;
};

TEST(CompactionTest, a_put_supersedes_all_before_it) {
  EXPECT_EQ(History().put("a").erase().write(9, "x").increment(3, 1).put("b").folded(), "P5@0:b");
}

TEST(CompactionTest, an_erasure_supersedes_all_before_it_and_stays) {
  EXPECT_EQ(History().put("a").write(0, "b").erase().folded(), "E3@0:");
  EXPECT_EQ(History().erase().erase().folded(), "E2@0:");
  EXPECT_EQ(History().write(0, "b").increment(8, 1).erase().folded(), "E3@0:");
}

TEST(CompactionTest, a_write_folds_into_the_put_it_lies_in) {
  EXPECT_EQ(History().put("abcdef").write(2, "XY").write(5, "Z").folded(), "P3@0:abXYeZ");
  EXPECT_EQ(History().put("abc").write(3, "").folded(), "P2@0:abc");
}

TEST(CompactionTest, an_increment_folds_into_the_put_it_lies_in) {
  EXPECT_EQ(History().put("A" + number(0x4041)).increment(1, 0x0101).folded(),
            "P2@0:A" + number(0x4142));
}

TEST(CompactionTest, what_lies_outside_of_a_put_is_kept_and_all_after_it_too) {
  EXPECT_EQ(History().put("abc").write(1, "X").write(2, "YZ").write(0, "W").folded(),
            "P2@0:aXc W3@2:YZ W4@0:W");
  EXPECT_EQ(History().put("abc").increment(0, 1).folded(), "P1@0:abc I2@0:1");
}

TEST(CompactionTest, what_follows_an_erasure_is_kept) {
  EXPECT_EQ(History().erase().write(0, "a").folded(), "E1@0: W2@0:a");
  EXPECT_EQ(History().erase().increment(0, 1).increment(0, 1).folded(), "E1@0: I3@0:2");
}

TEST(CompactionTest, writes_that_touch_are_joined_with_the_newer_on_top) {
  EXPECT_EQ(History().write(4, "abcd").write(4, "ABCD").folded(), "W2@4:ABCD");
  EXPECT_EQ(History().write(4, "abcd").write(6, "XYZ").folded(), "W2@4:abXYZ");
  EXPECT_EQ(History().write(4, "abcd").write(2, "XYZ").folded(), "W2@2:XYZbcd");
  EXPECT_EQ(History().write(4, "ab").write(8, "cd").write(6, "--").folded(), "W3@4:ab--cd");
  EXPECT_EQ(History().write(0, "a").write(2, "b").folded(), "W1@0:a W2@2:b");
}

TEST(CompactionTest, a_write_drops_the_increments_inside_of_it) {
  EXPECT_EQ(History().increment(2, 7).write(0, "0123456789").folded(), "W2@0:0123456789");
}

// The increment carries from bytes of the older write into bytes that the newer one leaves.
TEST(CompactionTest, an_increment_across_the_end_of_a_write_keeps_both_sides_apart) {
  EXPECT_EQ(History().write(0, "abcd").increment(2, 7).write(0, "ABCD").folded(),
            "W1@0:abcd I2@2:7 W3@0:ABCD");
}

TEST(CompactionTest, a_write_does_not_move_past_an_increment_that_reads_it) {
  EXPECT_EQ(History().write(8, "abcdefgh").increment(12, 7).write(0, "ABCDEFGH").folded(),
            "W1@8:abcdefgh I2@12:7 W3@0:ABCDEFGH");
}

TEST(CompactionTest, increments_of_one_offset_add_up) {
  EXPECT_EQ(History().increment(8, 5).increment(8, 6).increment(8, ~0ull).folded(), "I3@8:10");
  EXPECT_EQ(History().increment(8, 5).increment(0, 1).increment(8, 6).folded(),
            "I2@0:1 I3@8:11");
}

TEST(CompactionTest, increments_that_overlap_otherwise_keep_their_order) {
  EXPECT_EQ(History().increment(8, 5).increment(4, 1).increment(8, 6).folded(),
            "I1@8:5 I2@4:1 I3@8:6");
}

TEST(CompactionTest, an_increment_folds_into_the_write_around_it) {
  EXPECT_EQ(History().write(0, "A" + number(0x4041) + "B").increment(1, 0x0101).folded(),
            "W2@0:A" + number(0x4142) + "B");
}

// An empty write would have the place of the increment in an index of the changes.
TEST(CompactionTest, an_empty_write_where_an_increment_begins_goes_with_the_write_over_both) {
  for (const std::size_t indexed_from : {std::size_t{1}, ~std::size_t{0}}) {
    EXPECT_EQ(History()
                  .increment(0, 1)
                  .increment(8, 2)
                  .write(8, "")
                  .increment(16, 3)
                  .write(8, "01234567")
                  .folded(KeyHistory(indexed_from)),
              "I1@0:1 I4@16:3 W5@8:01234567");
  }
}

TEST(CompactionTest, appends_are_never_about_the_same_key) {
  const std::string a = make_record(log::LogRecordType::kAppend, 1, 1, "", 0, "a");
  const auto* const log = reinterpret_cast<const log::LogRecord*>(a.data());
  EXPECT_FALSE(have_same_key({0, log, 0, 0}, {0, log, 0, 1}));
}

// Random histories of one record of 24 bytes: the remaining records have the same effect as all of
// them.
TEST(CompactionTest, a_folded_history_does_what_the_history_did) {
  base::Random random(7);
  for (unsigned round = 0; round < 20'000; ++round) {
    const std::string before = "abcdefghijklmnopqrstuvwx";
    Contents expected = {{{kId, "key"}, before}};
    Contents folded = expected;
    KeyHistory history;
    const std::uint64_t count = 1 + random.below(12);
    std::vector<std::string> records;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t what = random.below(9);
      const auto offset = static_cast<std::uint32_t>(random.below(17));
      std::string part = number(random.next());
      auto type = log::LogRecordType::kIncrement;
      if (what == 0) {
        type = log::LogRecordType::kPut;
        part += number(random.next()) + number(random.next());
      } else if (what < 5) {
        type = log::LogRecordType::kWriteAt;
        part.resize(random.below(9));
      }
      records.push_back(make_record(type, kId, i + 1, "key", what == 0 ? 0 : offset, part));
      const auto* const log = reinterpret_cast<const log::LogRecord*>(records.back().data());
      apply(*log, &expected);
      history.add({5, log, 1, i});
    }
    history.finish();
    for (std::size_t i = 0; i < history.record_count(); ++i) {
      ASSERT_TRUE(i == 0 || is_before(history.record(i - 1), history.record(i)));
      apply(*history.record(i).log, &folded);
    }
    ASSERT_EQ(history.record(history.record_count() - 1).log->tid, count);
    ASSERT_TRUE(folded == expected) << round;
  }
}

// A row of many parts and its records: most add to a counter, some write one or two of them, and a
// few overlap a part of a counter, or are puts, or empty.
struct RowOptions {
  std::uint32_t counters = 40;
  std::uint64_t odd_one_in = 0;  // 0: no partial overlap
  std::uint64_t put_one_in = 0;
};

class RandomRow {
 public:
  RandomRow(std::uint64_t seed, const RowOptions& options) : options_(options), random_(seed) {}

  StreamRecord next() {
    ++count_;
    auto offset = static_cast<std::uint32_t>(random_.below(options_.counters) * 8);
    auto type = log::LogRecordType::kIncrement;
    std::string bytes = number(random_.next());
    const auto one_in = [this](std::uint64_t n) { return n != 0 && random_.below(n) == 0; };
    if (one_in(options_.put_one_in)) {
      type = random_.below(2) == 0 ? log::LogRecordType::kPut : log::LogRecordType::kErase;
      bytes = type == log::LogRecordType::kPut ? std::string(random_.below(100), 'p') : "";
      offset = 0;
    } else if (one_in(options_.odd_one_in)) {
      offset += static_cast<std::uint32_t>(random_.below(8));
      if (random_.below(2) == 0) {
        type = log::LogRecordType::kWriteAt;
        bytes.resize(random_.below(9));
      }
    } else if (random_.below(3) == 0) {
      type = log::LogRecordType::kWriteAt;
      bytes += std::string(random_.below(3) * 8, static_cast<char>('a' + count_ % 26));
    }
    records_.push_back(make_record(type, kId, count_, "key", offset, bytes));
    return {5, reinterpret_cast<const log::LogRecord*>(records_.back().data()), 1, count_};
  }

 private:
  const RowOptions options_;
  base::Random random_;
  std::uint64_t count_ = 0;
  std::deque<std::string> records_;
};

std::vector<std::string> made_by(const KeyHistory& history) {
  std::vector<std::string> made;
  for (std::size_t i = 0; i < history.record_count(); ++i) {
    const log::LogRecord& log = *history.record(i).log;
    made.emplace_back(reinterpret_cast<const char*>(&log), log.record_bytes);
    made.back() += std::to_string(history.record(i).sequence);
  }
  return made;
}

// Goal: an index over the parts of a row does not change the result. Method: the same records with
// an index from the first part on, from the usual one, and with none, for several keys one after
// another.
TEST(CompactionTest, what_is_made_of_a_row_is_the_same_with_an_index_and_without) {
  KeyHistory early(1);
  KeyHistory usual;
  KeyHistory never(~std::size_t{0});
  std::size_t made = 0;
  for (std::uint64_t seed = 1; seed <= 3'000; ++seed) {
    RowOptions options;
    options.counters = 1 + static_cast<std::uint32_t>(seed % 60);
    options.odd_one_in = seed % 4 == 0 ? 0 : 1 + seed * seed % 200;
    options.put_one_in = seed % 3 == 0 ? 60 : 0;
    RandomRow row(seed, options);
    for (KeyHistory* const history : {&early, &usual, &never}) history->clear();
    for (std::uint64_t i = 0; i < 1 + seed % 150; ++i) {
      const StreamRecord record = row.next();
      for (KeyHistory* const history : {&early, &usual, &never}) history->add(record);
    }
    for (KeyHistory* const history : {&early, &usual, &never}) history->finish();
    ASSERT_EQ(made_by(usual), made_by(never)) << seed;
    ASSERT_EQ(made_by(early), made_by(never)) << seed;
    made += never.record_count();
  }
  EXPECT_GT(made, 20'000u);
}

// Goal: a record costs the same however many parts its row has. Method: the test counts the visited
// parts for each record; without an index they are half of the row's.
TEST(CompactionTest, a_record_of_a_row_with_many_parts_meets_few_of_them) {
  for (const std::uint32_t counters : {250u, 2'000u}) {
    KeyHistory history;
    KeyHistory writes;
    base::Random random(counters);
    const std::uint64_t count = 10 * counters;
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto offset = static_cast<std::uint32_t>(random.below(counters) * 16);
      const std::string add =
          make_record(log::LogRecordType::kIncrement, kId, i + 1, "key", offset, number(1));
      const std::string write =
          make_record(log::LogRecordType::kWriteAt, kId, i + 1, "key", offset, number(i));
      history.add({5, reinterpret_cast<const log::LogRecord*>(add.data()), 1, i});
      writes.add({5, reinterpret_cast<const log::LogRecord*>(write.data()), 1, i});
    }
    EXPECT_LT(history.looks(), 4 * count);
    EXPECT_LT(writes.looks(), 4 * count);
  }
}

}  // namespace
}  // namespace foedus::gleaner::testing::compaction_test
