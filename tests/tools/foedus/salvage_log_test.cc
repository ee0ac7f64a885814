// Salvage of a damaged log: the rows are those of the end of one epoch, whatever is damaged.
// ctest-labels: memory

#include <gtest/gtest.h>

#include <cerrno>
#include <fstream>
#include <random>

#include "foedus-core/log/savepoint.h"
#include "foedus-core/log/segments/format.h"
#include "tests/base/test_seed.h"
#include "tests/testing/failing_device.h"
#include "tests/tools/foedus/salvage_rig.h"

namespace foedus::cli::salvage_log_test {
namespace {

using testing::FailingDevice;

// A database with a snapshot and segments after it, in memory. `is_closed`: it was closed cleanly.
class SalvageLogTest : public ::testing::Test {
 protected:
  struct Base {
    std::unique_ptr<testing::TestDirectory> directory;
    std::unique_ptr<SalvageRig> rig;
    std::unique_ptr<FailingDevice> closed;   // after a clean close
    std::unique_ptr<FailingDevice> crashed;  // as the process ended
    std::vector<std::string> list;           // appended rows in their order
  };
  static void SetUpTestSuite() {
    base_ = std::make_unique<Base>();
    base_->directory = std::make_unique<testing::TestDirectory>();
    base_->rig = std::make_unique<SalvageRig>(base_->directory->path());
    SalvageRig& rig = *base_->rig;
    rig.open();
    rig.write(60);
    rig.glean();
    rig.write(100);
    rig.close();
    rig.open();
    rig.add_storage("late");
    rig.write(100);
    base_->crashed = image();
    rig.close();
    base_->closed = image();
    base_->list = salvage(base_->closed->copy()).list;
  }
  static void TearDownTestSuite() { base_.reset(); }

  static std::unique_ptr<FailingDevice> image() {
    auto device = std::make_unique<FailingDevice>();
    for (const auto& entry : std::filesystem::directory_iterator(base_->directory->path())) {
      const std::string name = entry.path().filename();
      if (name == "foedus.lock") continue;
      std::ifstream file(entry.path(), std::ios::binary);
      std::ostringstream bytes;
      bytes << file.rdbuf();
      testing::must(device->open(name, device::Access::kCreate));
      device->set_size(name, bytes.str().size());
      device->overwrite(name, 0, bytes.str());
    }
    return device;
  }
  static Rows expected(Epoch epoch) { return base_->rig->rows_at(epoch); }
  static std::vector<std::string> segments(const FailingDevice& device) {
    std::vector<std::string> names = device.names();
    std::erase_if(names, [](const auto& name) { return !log::parse_segment_name(name); });
    return names;
  }
  // Checks a salvage of damaged log files: with all pages there, no row of the epoch is missing.
  static Salvaged expect_cut(const FailingDevice& device, const std::string& what) {
    const Salvaged salvaged = salvage(device.copy());
    EXPECT_TRUE(salvaged.status.is_ok()) << what << salvaged.status.message();
    EXPECT_TRUE(are_same(salvaged.rows, expected(salvaged.whole))) << what << '\n'
                                                                   << salvaged.lines();
    EXPECT_TRUE(is_in_order(salvaged.list, base_->list)) << what;
    expect_newest_was_there(device, what);
    return salvaged;
  }
  static void expect_newest_was_there(const FailingDevice& device, const std::string& what) {
    EXPECT_TRUE(base_->rig->were_there(salvage(device.copy(), true).rows)) << what;
  }

  inline static std::unique_ptr<Base> base_;
};

TEST_F(SalvageLogTest, without_damage_all_commits_are_there) {
  for (const FailingDevice* const device : {base_->closed.get(), base_->crashed.get()}) {
    const Salvaged salvaged = expect_cut(*device, "");
    EXPECT_TRUE(are_same(salvaged.rows, base_->rig->rows()));
    EXPECT_EQ(salvaged.lines(), "");
    EXPECT_EQ(salvaged.later_records, 0u);
  }
}

TEST_F(SalvageLogTest, any_damaged_block_of_a_segment_leaves_the_end_of_an_epoch) {
  std::size_t lossy = 0;
  std::size_t later = 0;
  for (const FailingDevice* const device : {base_->closed.get(), base_->crashed.get()}) {
    for (const std::string& name : segments(*device)) {
      const std::uint64_t blocks = device->size_of(name) / log::kBlockBytes;
      for (std::uint64_t block = 0; block < blocks; block += 1 + 2 * block) {
        const auto copy = device->copy();
        copy->flip_bit(name, block * log::kBlockBytes + 40, 1);
        const Salvaged salvaged = expect_cut(*copy, name + " " + std::to_string(block));
        lossy += salvaged.rows == base_->rig->rows() ? 0 : 1;
        later += salvaged.later_records == 0 ? 0 : 1;
      }
    }
  }
  EXPECT_GT(lossy, 5u);
  EXPECT_GT(later, 0u);
}

TEST_F(SalvageLogTest, a_segment_that_is_cut_or_missing_leaves_the_end_of_an_epoch) {
  for (const FailingDevice* const device : {base_->closed.get(), base_->crashed.get()}) {
    for (const std::string& name : segments(*device)) {
      for (const std::uint64_t bytes : {0u, 3'000u, 4'096u, 9'000u}) {
        const auto copy = device->copy();
        copy->set_size(name, bytes);
        expect_cut(*copy, name + " cut");
      }
      const auto copy = device->copy();
      copy->drop_file(name);
      const Salvaged salvaged = expect_cut(*copy, name + " missing");
      EXPECT_FALSE(salvaged.lost.empty()) << name;
    }
  }
}

// Each seal and header is damaged, and each pair of segments loses a block.
TEST_F(SalvageLogTest, seals_and_several_damages_leave_the_end_of_an_epoch) {
  for (const FailingDevice* const device : {base_->closed.get(), base_->crashed.get()}) {
    const std::vector<std::string> names = segments(*device);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto copy = device->copy();
      copy->flip_bit(names[i], log::kSlotBytes + 24, 3);
      expect_cut(*copy, names[i] + " seal");
      copy->flip_bit(names[(i + 1) % names.size()], 2 * log::kBlockBytes + 9, 3);
      expect_cut(*copy, names[i] + " seal and block");
    }
  }
}

// Goal: without a savepoint the log is not trusted to be all there, and each slot of it alone may
// be lost.
TEST_F(SalvageLogTest, a_damaged_savepoint_leaves_the_end_of_an_epoch) {
  for (const FailingDevice* const device : {base_->closed.get(), base_->crashed.get()}) {
    const std::string name(log::kSavepointName);
    for (std::size_t slot = 0; slot < 12; ++slot) {
      const auto copy = device->copy();
      copy->flip_bit(name, slot * 4096 + 30, 2);
      expect_cut(*copy, "slot " + std::to_string(slot));
    }
    const auto copy = device->copy();
    copy->drop_file(name);
    const Salvaged salvaged = expect_cut(*copy, "no savepoint");
    EXPECT_TRUE(salvaged.says("savepoint")) << salvaged.lines();
    EXPECT_GT(salvaged.later_records, 0u);
  }
}

// Goal: a segment that no savepoint counts is noticed, though its first frame does not check out.
TEST_F(SalvageLogTest, a_lost_savepoint_hides_no_segment_whose_first_frame_is_damaged) {
  for (const FailingDevice* const device : {base_->closed.get(), base_->crashed.get()}) {
    const auto copy = device->copy();
    const std::uint64_t newest = testing::must(log::read_savepoint(copy.get())).sequence;
    for (const std::string& name : segments(*device)) {
      const auto damaged = device->copy();
      for (const std::uint64_t sequence : {newest, newest - 1}) {
        damaged->flip_bit(std::string(log::kSavepointName),
                          sequence % log::kSavepointSlots * 4096 + 30, 2);
        damaged->flip_bit(name, log::kBlockBytes + 100, 1);
        const Salvaged salvaged = salvage(damaged->copy());
        EXPECT_TRUE(are_same(salvaged.rows, expected(salvaged.whole))) << salvaged.lines();
        EXPECT_TRUE(!salvaged.lost.empty() || salvaged.rows == base_->rig->rows()) << name;
        damaged->flip_bit(name, log::kBlockBytes + 100, 1);
      }
      damaged->flip_bit(std::string(log::kSavepointName),
                        (newest - 1) % log::kSavepointSlots * 4096 + 30, 2);
      damaged->drop_file(name);
      const Salvaged without = salvage(damaged->copy());
      EXPECT_TRUE(are_same(without.rows, expected(without.whole))) << without.lines();
      EXPECT_FALSE(without.lost.empty()) << name;
    }
  }
}

TEST_F(SalvageLogTest, without_any_segment_the_snapshot_is_left) {
  const auto copy = base_->closed->copy();
  for (const std::string& name : segments(*copy)) copy->drop_file(name);
  EXPECT_FALSE(expect_cut(*copy, "no segment").lost.empty());
  copy->drop_file(std::string(log::kSavepointName));
  EXPECT_TRUE(expect_cut(*copy, "no log").says("the log is missing"));
}

// Each n-th read fails, once and for all.
TEST_F(SalvageLogTest, reads_that_fail_cost_only_what_they_read) {
  for (const bool is_sticky : {false, true}) {
    for (std::uint64_t skip = 0; skip < 160; skip += is_sticky ? 40 : 9) {
      auto copy = base_->crashed->copy();
      copy->fail(testing::Call::kRead, skip, EIO, is_sticky);
      const Salvaged salvaged = salvage(std::move(copy));
      if (!salvaged.status.is_ok()) continue;
      EXPECT_TRUE(is_part_of(salvaged.rows, expected(salvaged.whole))) << "read " << skip << '\n'
                                                                       << salvaged.lines();
    }
  }
}

// Goal: whatever is damaged, no row is wrong. Method: random bits, zeroed sectors, cuts and missing
// files, up to three at a time. FOEDUS_ROUNDS sets how many.
TEST_F(SalvageLogTest, no_random_damage_makes_a_wrong_row) {
  const std::uint64_t seed = testing::test_seed(7);
  const char* const text = std::getenv("FOEDUS_ROUNDS");
  const int rounds = text == nullptr ? 40 : std::atoi(text);
  for (int round = 0; round < rounds; ++round) {
    std::mt19937_64 random(seed + static_cast<std::uint64_t>(round));
    auto copy = (random() % 2 == 0 ? base_->closed : base_->crashed)->copy();
    std::string what = "round " + std::to_string(round);
    bool is_like_torn = false;
    for (std::uint64_t left = 1 + random() % 3; left != 0; --left) {
      const std::vector<std::string> names = copy->names();
      const std::string& name = names[random() % names.size()];
      const std::uint64_t bytes = copy->size_of(name);
      if (bytes == 0) continue;
      const std::uint64_t at =
          random() % 4 == 0 ? random() % bytes : random() % std::min<std::uint64_t>(bytes, 90'000);
      const std::uint64_t kind = random() % 16;
      what += "; " + name + " " + std::to_string(kind) + " at " + std::to_string(at);
      if (kind == 0) {
        copy->drop_file(name);
      } else if (kind == 1) {
        copy->set_size(name, at);
      } else if (kind == 2 && at + 512 <= bytes) {
        copy->overwrite(name, at / 512 * 512, std::string(512, '\0'));
        is_like_torn = true;
      } else {
        copy->flip_bit(name, at, static_cast<unsigned>(random() % 8));
      }
    }
    const auto newest = copy->copy();
    const Salvaged salvaged = salvage(std::move(copy));
    if (salvaged.status.is_ok()) {
      EXPECT_TRUE(is_part_of(salvaged.rows, expected(salvaged.whole))) << what << '\n'
                                                                       << salvaged.lines();
      EXPECT_TRUE(is_in_order(salvaged.list, base_->list)) << what;
      // A frame that lacks a sector is one that a crash has torn (log L17).
      if (salvaged.lost.empty() && !is_like_torn) {
        EXPECT_TRUE(are_same(salvaged.rows, base_->rig->rows())) << what;
      }
    }
    expect_newest_was_there(*newest, what);
  }
}

}  // namespace
}  // namespace foedus::cli::salvage_log_test
