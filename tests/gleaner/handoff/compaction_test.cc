// The table of compaction.h, one test for each of its cells, and all of them at random.
#include "gleaner/handoff/compaction.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/gleaner/reduce/random_log.h"

namespace foedus::gleaner::testing {
namespace {

constexpr std::uint32_t kId = kHashId;

std::string number(std::uint64_t value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
}

// A history, written as it happened; the TIDs count from 1.
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

  // One word for each record that is left: what it is, TID, offset, and its bytes.
  std::string folded() {
    KeyHistory history;
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

TEST(Compaction, a_put_supersedes_all_before_it) {
  EXPECT_EQ(History().put("a").erase().write(9, "x").increment(3, 1).put("b").folded(), "P5@0:b");
}

TEST(Compaction, an_erasure_supersedes_all_before_it_and_stays) {
  EXPECT_EQ(History().put("a").write(0, "b").erase().folded(), "E3@0:");
  EXPECT_EQ(History().erase().erase().folded(), "E2@0:");
  EXPECT_EQ(History().write(0, "b").increment(8, 1).erase().folded(), "E3@0:");
}

TEST(Compaction, a_write_folds_into_the_put_it_lies_in) {
  EXPECT_EQ(History().put("abcdef").write(2, "XY").write(5, "Z").folded(), "P3@0:abXYeZ");
  EXPECT_EQ(History().put("abc").write(3, "").folded(), "P2@0:abc");
}

TEST(Compaction, an_increment_folds_into_the_put_it_lies_in) {
  EXPECT_EQ(History().put("A" + number(0x4041)).increment(1, 0x0101).folded(),
            "P2@0:A" + number(0x4142));
}

TEST(Compaction, what_lies_outside_of_a_put_is_kept_and_all_after_it_too) {
  EXPECT_EQ(History().put("abc").write(1, "X").write(2, "YZ").write(0, "W").folded(),
            "P2@0:aXc W3@2:YZ W4@0:W");
  EXPECT_EQ(History().put("abc").increment(0, 1).folded(), "P1@0:abc I2@0:1");
}

TEST(Compaction, what_follows_an_erasure_is_kept) {
  EXPECT_EQ(History().erase().write(0, "a").folded(), "E1@0: W2@0:a");
  EXPECT_EQ(History().erase().increment(0, 1).increment(0, 1).folded(), "E1@0: I3@0:2");
}

TEST(Compaction, writes_that_touch_are_joined_with_the_newer_on_top) {
  EXPECT_EQ(History().write(4, "abcd").write(4, "ABCD").folded(), "W2@4:ABCD");
  EXPECT_EQ(History().write(4, "abcd").write(6, "XYZ").folded(), "W2@4:abXYZ");
  EXPECT_EQ(History().write(4, "abcd").write(2, "XYZ").folded(), "W2@2:XYZbcd");
  EXPECT_EQ(History().write(4, "ab").write(8, "cd").write(6, "--").folded(), "W3@4:ab--cd");
  EXPECT_EQ(History().write(0, "a").write(2, "b").folded(), "W1@0:a W2@2:b");
}

TEST(Compaction, a_write_drops_the_increments_inside_of_it) {
  EXPECT_EQ(History().increment(2, 7).write(0, "0123456789").folded(), "W2@0:0123456789");
}

// The increment carries from bytes that the older write made into bytes that the newer one leaves.
TEST(Compaction, an_increment_across_the_end_of_a_write_keeps_both_sides_apart) {
  EXPECT_EQ(History().write(0, "abcd").increment(2, 7).write(0, "ABCD").folded(),
            "W1@0:abcd I2@2:7 W3@0:ABCD");
}

TEST(Compaction, a_write_does_not_move_past_an_increment_that_reads_it) {
  EXPECT_EQ(History().write(8, "abcdefgh").increment(12, 7).write(0, "ABCDEFGH").folded(),
            "W1@8:abcdefgh I2@12:7 W3@0:ABCDEFGH");
}

TEST(Compaction, increments_of_one_offset_add_up) {
  EXPECT_EQ(History().increment(8, 5).increment(8, 6).increment(8, ~0ull).folded(), "I3@8:10");
  EXPECT_EQ(History().increment(8, 5).increment(0, 1).increment(8, 6).folded(),
            "I2@0:1 I3@8:11");
}

TEST(Compaction, increments_that_overlap_otherwise_keep_their_order) {
  EXPECT_EQ(History().increment(8, 5).increment(4, 1).increment(8, 6).folded(),
            "I1@8:5 I2@4:1 I3@8:6");
}

TEST(Compaction, an_increment_folds_into_the_write_around_it) {
  EXPECT_EQ(History().write(0, "A" + number(0x4041) + "B").increment(1, 0x0101).folded(),
            "W2@0:A" + number(0x4142) + "B");
}

TEST(Compaction, appends_are_never_about_the_same_key) {
  const std::string a = make_record(log::LogRecordType::kAppend, 1, 1, "", 0, "a");
  const auto* const log = reinterpret_cast<const log::LogRecord*>(a.data());
  EXPECT_FALSE(have_same_key({0, log, 0, 0}, {0, log, 0, 1}));
}

// Random histories of one record of 24 bytes: what is left does to the payload what all of it did.
TEST(Compaction, a_folded_history_does_what_the_history_did) {
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

}  // namespace
}  // namespace foedus::gleaner::testing
