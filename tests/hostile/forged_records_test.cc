// Log records with forged checksums. Goal: whatever value one byte of a segment gets, its recovery
// ends, with kCorruption or with all rows except those that the byte concerns. Method: a byte of
// the frames of a log is changed and all checksums are recomputed; then the log is recovered, read,
// written to, gleaned and closed. A byte of a record concerns one row, or two if it is part of a
// key. A byte of a length concerns the records that it includes, one of a creation or a drop a
// storage, one of a frame the frames from there on.
// ctest-labels: crash
// ctest-timeout: 300
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <sstream>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/log/ring/record.h"
#include "foedus-core/log/segments/format.h"
#include "tests/hostile/isolated_run.h"
#include "tests/hostile/small_database.h"
#include "tests/testing/mend_segment.h"

namespace foedus::hostile::forged_records_test {
namespace {

using log::FrameHeader;
using log::FramePiece;
using log::LogRecord;
using testing::FailingDevice;
using testing::must;

#if defined(__SANITIZE_ADDRESS__)
constexpr long kMemoryMaxKib = 4'000'000;
#else
constexpr long kMemoryMaxKib = 500'000;
#endif

// The rows that a byte may cost.
enum class About : std::uint8_t { kFrame, kLength, kStorage, kRow };

struct Damage {
  std::size_t log;  // of logs_
  std::uint64_t offset;
  char value;
  About about;

  std::string in_words() const {
    return "\"" + std::to_string(log) + " " + std::to_string(offset) + " " +
           std::to_string(static_cast<unsigned char>(value)) + "\", about " +
           std::to_string(static_cast<unsigned>(about));
  }
};

// A directory with one segment, and its commits.
struct MadeLog {
  const char* name;
  std::unique_ptr<FailingDevice> device = std::make_unique<FailingDevice>();
  std::string file = {};
  std::string bytes = {};
  Contents contents = {};
  std::map<std::uint64_t, About> places = {};  // bytes of slots, frames and records
};

// Finds for each byte of pieces what it concerns. There is one session, so one stream of records.
class RecordWalk {
 public:
  void word(const std::string& bytes, std::uint64_t at, MadeLog* made) {
    if (at_ == end_) {
      at_ = 0;
      end_ = testing::load_at<std::uint32_t>(bytes, at);
      const auto storage = testing::load_at<std::uint32_t>(bytes, at + 4);
      const auto type = testing::load_at<log::LogRecordType>(bytes, at + offsetof(LogRecord, type));
      const bool is_ddl = storage != 0 && (type == log::LogRecordType::kCreateStorage ||
                                           type == log::LogRecordType::kDropStorage);
      about_ = is_ddl ? About::kStorage : About::kRow;
      is_filler_ = storage == 0;
    }
    // Some bytes of a long payload, and of a filler, suffice.
    if (at_ < 160 && (!is_filler_ || at_ < 24)) {
      for (std::uint64_t i = 0; i < 8; ++i) {
        const bool is_length = at_ == offsetof(LogRecord, record_bytes) && i < 4;
        made->places.emplace(at + i, is_length ? About::kLength : about_);
      }
    }
    at_ += 8;
  }

 private:
  std::uint64_t at_ = 0;
  std::uint64_t end_ = 0;
  About about_ = About::kRow;
  bool is_filler_ = false;
};

void find_places(MadeLog* made) {
  for (std::uint64_t slot : {std::uint64_t{0}, std::uint64_t{log::kSlotBytes}}) {
    for (std::uint64_t i = 0; i < 64; ++i) made->places.emplace(slot + i, About::kFrame);
  }
  RecordWalk walk;
  testing::mend_segment(&made->bytes, [&](std::size_t frame, std::size_t) {
    const auto header = testing::load_at<FrameHeader>(made->bytes, frame);
    if (header.magic != log::kFrameMagic) return;
    std::uint64_t at = frame + sizeof(FrameHeader) + header.piece_count * sizeof(FramePiece);
    for (std::uint64_t i = frame; i < at; ++i) made->places.emplace(i, About::kFrame);
    for (std::size_t i = 0; i < header.piece_count; ++i) {
      const auto piece = testing::load_at<FramePiece>(
          made->bytes, frame + sizeof(FrameHeader) + i * sizeof(FramePiece));
      if (header.layout == log::FrameLayout::kDirect) {
        at = frame + log::direct_data_offset(piece.ring_offset);
      }
      for (std::uint32_t word = 0; word < piece.bytes; word += 8, at += 8) {
        walk.word(made->bytes, at, made);
      }
    }
  });
}

// Counts the entries of either that the other lacks, or has with another value.
template <typename Map>
std::size_t differing(const Map& a, const Map& b) {
  std::size_t rows = 0;
  for (const auto& [key, payload] : a) {
    const auto at = b.find(key);
    rows += at == b.end() || at->second != payload ? 1 : 0;
  }
  for (const auto& [key, payload] : b) rows += a.contains(key) ? 0 : 1;
  return rows;
}

std::size_t differing_rows(const Contents& a, const Contents& b) {
  std::map<std::string, std::size_t> in_a;
  for (const std::string& row : a.list) ++in_a[row];
  std::size_t more = a.list.size();  // beyond those of b
  for (const std::string& row : b.list) more -= in_a[row] != 0 && in_a[row]-- != 0 ? 1 : 0;
  const std::size_t less = b.list.size() + more - a.list.size();
  return differing(a.tree, b.tree) + differing(a.hash, b.hash) + differing(a.array, b.array) +
         std::max(more, less);
}

// Makes writes of all kinds, those of the catalog, too.
Status write_all(SmallDatabase* database, std::uint32_t first, std::uint32_t count,
                 Contents* contents) {
  FOEDUS_CHECK(database->write(first, count, contents));
  FOEDUS_CHECK(database->change(contents));
  storage_meta::StorageMeta meta;
  meta.name = "gone" + std::to_string(first);
  FOEDUS_CHECK(database->engine().catalog().open(meta).status());
  return database->engine().catalog().drop(meta.name);
}

class ForgedRecordsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    for (const char* const name : {"closed", "closed, on a snapshot", "crashed, on a snapshot"}) {
      logs_.push_back({.name = name});
      make(&logs_.back(), logs_.size() > 1, logs_.size() < 3);
    }
  }
  static void TearDownTestSuite() { logs_.clear(); }

  static void make(MadeLog* made, bool is_gleaned, bool is_closed) {
    {
      SmallDatabase database(made->device.get());
      must(database.open());
      must(write_all(&database, 0, 30, &made->contents));
      if (is_gleaned) {
        must(database.glean());
        must(write_all(&database, 25, 20, &made->contents));
      }
      if (is_closed) must(database.close());
      if (!is_closed) made->device->crash_power(FailingDevice::kDropAll);
    }
    for (const std::string& name : made->device->names()) {
      if (log::parse_segment_name(name).has_value()) made->file = name;
    }
    const std::vector<char> bytes = made->device->bytes_of(made->file);
    made->bytes.assign(bytes.data(), bytes.size());
    const std::string before = made->bytes;
    find_places(made);
    ASSERT_EQ(made->bytes, before) << "nothing was there to be mended";
  }

  // Uses the damaged database and returns a complaint, or an empty string.
  static std::string use(const Damage& damage) {
    const MadeLog& made = logs_[damage.log];
    const auto device = made.device->copy();
    std::string bytes = made.bytes;
    bytes[damage.offset] = damage.value;
    testing::mend_segment(&bytes, [](std::size_t, std::size_t) {});
    device->overwrite(made.file, 0, bytes);
    std::string wrong = use(device.get(), made.contents, damage.about);
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    if (used.ru_maxrss > kMemoryMaxKib) {
      wrong += "it took " + std::to_string(used.ru_maxrss) + " KiB of memory\n";
    }
    return wrong;
  }

  static std::string use(FailingDevice* device, const Contents& expected, About about) {
    std::string wrong;
    const auto look = [&](const char* what, const Status& status) {
      // The storage, or its name, may have become another one.
      const bool is_named =
          status.is_ok() || status.code() == ErrorCode::kCorruption ||
          (about != About::kRow && (status.code() == ErrorCode::kInvalidArgument ||
                                    status.code() == ErrorCode::kWrongVersion));
      if (!is_named || (!status.is_ok() && status.message().empty())) {
        wrong += std::string(what) + ": " + status.message() + "\n";
      }
      if (!status.is_ok() && std::getenv("FOEDUS_CASE") != nullptr) {
        std::printf("%s: %s\n", what, status.message().c_str());
      }
      return status.is_ok();
    };
    SmallDatabase database(device);
    if (!look("open", database.open())) return wrong;
    const auto read = [&](const char* what, Isolation isolation, bool reverse) {
      Contents found;
      const bool is_read = look(what, database.read(isolation, reverse, expected, &found));
      if (!is_read) wrong += std::string(what) + ": it was gleaned and cannot be read\n";
      if (is_read && about == About::kRow && differing_rows(found, expected) > 2) {
        wrong += std::string(what) + ": " + std::to_string(differing_rows(found, expected)) +
                 " rows are others\n";
      }
    };
    read("snapshot", Isolation::kSnapshot, false);
    read("serializable", Isolation::kSerializable, false);
    read("serializable in reverse", Isolation::kSerializable, true);
    look("touch", database.touch(expected));
    look("glean", database.glean());
    Contents found;
    look("read again", database.read(Isolation::kSerializable, false, expected, &found));
    look("close", database.close());
    return wrong;
  }

  inline static std::vector<MadeLog> logs_;
};

TEST_F(ForgedRecordsTest, the_logs_as_they_were_written_are_recovered) {
  for (std::size_t i = 0; i < logs_.size(); ++i) {
    EXPECT_EQ(use({i, 0, logs_[i].bytes[0], About::kRow}), "");
    std::printf("%s: %s, %zu places\n", logs_[i].name, logs_[i].file.c_str(),
                logs_[i].places.size());
  }
}

// FOEDUS_CASE="0 4200 58" runs one case of the next test, in this process.
TEST_F(ForgedRecordsTest, a_case_that_is_asked_for_ends) {
  const char* const text = std::getenv("FOEDUS_CASE");
  if (text == nullptr) GTEST_SKIP() << "none is asked for";
  std::istringstream words(text);
  Damage damage{};
  unsigned value = 0;
  words >> damage.log >> damage.offset >> value;
  damage.value = static_cast<char>(value);
  damage.about = logs_[damage.log].places.at(damage.offset);
  EXPECT_EQ(use(damage), "");
}

TEST_F(ForgedRecordsTest, one_byte_that_was_changed_is_refused_by_name_or_costs_what_it_is_about) {
  const std::uint64_t stride = stride_or(199);
  std::uint64_t cases = 0;
  std::uint64_t turn = 0;
  int failures = 0;
  base::Random random(7);
  for (std::size_t i = 0; i < logs_.size(); ++i) {
    for (const auto& [offset, about] : logs_[i].places) {
      const char before = logs_[i].bytes[offset];
      for (const char value :
           {static_cast<char>(before + 1), static_cast<char>(before ^ (1 << random.below(8))),
            '\xff', static_cast<char>(random.below(256))}) {
        const std::uint64_t every = about == About::kStorage ? stride / 16 + 1 : stride;
        if (value == before || ++turn % every != 0) continue;
        ++cases;
        const Damage damage{i, offset, value, about};
        const std::string wrong = run_isolated([&] { return use(damage); });
        if (wrong.empty()) continue;
        ADD_FAILURE() << logs_[i].name << ", " << damage.in_words() << ": " << wrong;
        if (++failures == 40) return;
      }
    }
  }
  std::printf("%lu of %lu cases\n", cases, turn);
}

}  // namespace
}  // namespace foedus::hostile::forged_records_test
