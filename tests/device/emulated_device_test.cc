// Emulated non-volatile memory: the least time of an access, its counters, and bytes and errors,
// which are those of the underlying device.
#include "foedus-core/device/emulated_device.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "tests/testing/failing_device.h"
#include "tests/testing/test_database.h"

namespace foedus::device::emulated_device_test {
namespace {

using testing::FailingDevice;
using testing::must;

// A device that forwards to the simulated one, which the test keeps for checks.
class Behind final : public Device {
 public:
  explicit Behind(Device* device) : device_(device) {}
  const std::string& path() const override { return device_->path(); }
  Result<std::unique_ptr<File>> open(std::string_view name, Access access) override {
    return device_->open(name, access);
  }
  Result<std::vector<std::string>> list() const override { return device_->list(); }
  Status remove(std::string_view name) override { return device_->remove(name); }
  Status rename(std::string_view from, std::string_view to) override {
    return device_->rename(from, to);
  }
  Status sync_directory() override { return device_->sync_directory(); }
  std::unique_ptr<IoQueue> make_io_queue() override {
    if (refuses) return std::make_unique<RefusingQueue>();
    return device_->make_io_queue();
  }

  bool refuses = false;  // whether queues made from now on take nothing

 private:
  class RefusingQueue final : public IoQueue {
   public:
    bool add_read(const std::shared_ptr<const File>&, std::uint64_t, const Bytes*, std::size_t,
                  std::uint32_t) override {
      return false;
    }
    bool add_write(const std::shared_ptr<File>&, std::uint64_t, const void*, std::size_t,
                   std::uint32_t) override {
      return false;
    }
    void send() override {}
    bool next(bool, Done*) override { return false; }
  };
  Device* const device_;
};

class EmulatedDeviceTest : public ::testing::Test {
 protected:
  void make(const NvmSpeed& speed, bool by_stores = false) {
    auto behind = std::make_unique<Behind>(&behind_);
    forwarding_ = behind.get();
    device_ = std::make_unique<EmulatedDevice>(std::move(behind), by_stores, speed, counters_);
  }
  std::shared_ptr<File> file(const std::string& name, Access access = Access::kCreate) {
    return must(device_->open(name, access));
  }
  static std::uint64_t us_of(const std::function<void()>& act) {
    const std::uint64_t begin = base::system_now_us();
    act();
    return base::system_now_us() - begin;
  }
  // Returns the number of lines that were written this many times.
  std::uint64_t lines(std::size_t writes) const {
    return counters_->stats().lines_by_writes.at(writes);
  }

  FailingDevice behind_;
  const std::shared_ptr<NvmCounters> counters_ = std::make_shared<NvmCounters>();
  std::unique_ptr<EmulatedDevice> device_;
  Behind* forwarding_ = nullptr;  // the device of device_
  const std::string block_ = std::string(kBlockBytes, 'x');
};

TEST_F(EmulatedDeviceTest, an_access_takes_its_latency_at_least) {
  make({.read_latency_ns = 3'000'000, .write_latency_ns = 5'000'000});
  const auto file = this->file("a");
  EXPECT_GE(us_of([&] { must(file->write_at(0, block_.data(), block_.size())); }), 4'900u);
  EXPECT_GE(us_of([&] { must(file->sync()); }), 4'900u);
  EXPECT_GE(us_of([&] { must(device_->sync_directory()); }), 4'900u);
  std::string read(kBlockBytes, ' ');
  EXPECT_GE(us_of([&] { must(file->read_at(0, read.data(), read.size())); }), 2'900u);
  EXPECT_EQ(read, block_);
}

TEST_F(EmulatedDeviceTest, bytes_are_transferred_one_after_the_other) {
  make({.bytes_per_s = 1'000'000});  // 4 KiB in 4 ms
  const auto file = this->file("a");
  must(file->write_at(0, block_.data(), block_.size()));
  std::string read(3 * kBlockBytes, ' ');
  std::vector<Bytes> parts;
  for (int i = 0; i < 3; ++i) parts.push_back({read.data(), kBlockBytes});
  EXPECT_GE(us_of([&] { must(file->read_parts_at(0, parts.data(), parts.size())); }), 12'000u);
}

TEST_F(EmulatedDeviceTest, a_read_in_flight_does_not_come_before_its_time) {
  make({.read_latency_ns = 50'000'000});
  const auto file = this->file("a");
  for (std::uint64_t i = 0; i < 10; ++i) {
    must(file->write_at(i * kBlockBytes, block_.data(), block_.size()));
  }
  const auto queue = device_->make_io_queue();
  std::string read(10 * kBlockBytes, ' ');
  const std::uint64_t begin = base::system_ticks();
  IoQueue::Done done;
  for (std::uint32_t i = 0; i < 10; ++i) {
    const Bytes part{read.data() + i * kBlockBytes, kBlockBytes};
    ASSERT_TRUE(queue->add_read(file, i * kBlockBytes, &part, 1, i));
  }
  queue->send();
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(queue->next(true, &done));
    EXPECT_EQ(done.bytes, kBlockBytes);
    const double ns = static_cast<double>(base::system_ticks() - begin);
    EXPECT_GE(ns / base::system_ticks_per_ns(), 49e6);
  }
  EXPECT_FALSE(queue->next(true, &done));
}

TEST_F(EmulatedDeviceTest, a_write_in_flight_is_counted_and_does_not_end_before_its_time) {
  make({.write_latency_ns = 50'000'000});
  const std::shared_ptr<File> file = this->file("a");
  const auto queue = device_->make_io_queue();
  const std::uint64_t before = counters_->stats().bytes_written;
  const std::uint64_t begin = base::system_ticks();
  for (std::uint32_t i = 0; i < 10; ++i) {
    ASSERT_TRUE(queue->add_write(file, i * kBlockBytes, block_.data(), kBlockBytes, i));
  }
  queue->send();
  IoQueue::Done done;
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(queue->next(true, &done));
    EXPECT_EQ(done.bytes, kBlockBytes);
    const double ns = static_cast<double>(base::system_ticks() - begin);
    EXPECT_GE(ns / base::system_ticks_per_ns(), 49e6);
  }
  EXPECT_EQ(counters_->stats().bytes_written - before, 10 * kBlockBytes);
  std::string read(kBlockBytes, ' ');
  must(file->read_at(9 * kBlockBytes, read.data(), read.size()));
  EXPECT_EQ(read, block_);
}

TEST_F(EmulatedDeviceTest, a_queue_refuses_what_the_queue_behind_it_refuses) {
  make({});
  const std::shared_ptr<File> file = this->file("a");
  forwarding_->refuses = true;
  const auto queue = device_->make_io_queue();
  std::string read(kBlockBytes, ' ');
  const Bytes part{read.data(), kBlockBytes};
  EXPECT_FALSE(queue->add_read(file, 0, &part, 1, 1));
  EXPECT_FALSE(queue->add_write(file, 0, block_.data(), kBlockBytes, 2));
  IoQueue::Done done;
  EXPECT_FALSE(queue->next(true, &done));
}

// Goal: an announced read ends a latency after the announcement. Method: a try in which the machine
// was busy meanwhile tells nothing, and is repeated.
TEST_F(EmulatedDeviceTest, the_latency_of_an_announced_read_has_passed_when_it_is_made) {
  constexpr std::uint64_t kLatencyUs = 60'000;
  make({.read_latency_ns = kLatencyUs * 1'000});
  const auto file = this->file("a");
  must(file->write_at(0, block_.data(), block_.size()));
  std::string read(kBlockBytes, ' ');
  const auto read_it = [&] { must(file->read_at(0, read.data(), read.size())); };
  std::uint64_t fastest = kLatencyUs;
  for (int i = 0; i < 100 && fastest >= kLatencyUs; ++i) {
    const std::uint64_t whole_us = us_of([&] {
      file->will_read(0, kBlockBytes);
      base::system_sleep_us(kLatencyUs * 9 / 10);
      fastest = us_of(read_it);
    });
    EXPECT_GE(whole_us, kLatencyUs - 100);
  }
  EXPECT_LT(fastest, kLatencyUs);
  EXPECT_GE(us_of(read_it), kLatencyUs - 100) << "an announcement is for one read";
}

TEST_F(EmulatedDeviceTest, latencies_of_the_pieces_of_a_read_overlap) {
  make({.read_latency_ns = 20'000'000});
  const auto file = this->file("a");
  must(file->write_at(0, block_.data(), block_.size()));
  std::string read(128, ' ');
  const File::Piece pieces[] = {{0, read.data(), 64}, {1'024, read.data() + 64, 64}};
  const std::uint64_t us = us_of([&] { EXPECT_TRUE(must(file->read_pieces(pieces, 2))); });
  EXPECT_GE(us, 19'900u);
  EXPECT_LT(us, 39'000u);
  EXPECT_EQ(read, std::string(128, 'x'));
  EXPECT_EQ(counters_->stats().lines_read, 2u);
  const File::Piece beyond[] = {{0, read.data(), 64}, {kBlockBytes - 1, read.data() + 64, 64}};
  EXPECT_FALSE(must(file->read_pieces(beyond, 2)));
}

TEST_F(EmulatedDeviceTest, bytes_lines_and_pages_are_counted_where_they_are_touched) {
  make({});
  const auto file = this->file("a");
  must(file->write_at(0, block_.data(), block_.size()));
  must(file->write_at(4'000, block_.data(), 200));  // lines 62 to 65, pages 0 and 1
  char read[8];
  must(file->read_at(60, read, sizeof(read)));  // lines 0 and 1
  const NvmStats stats = counters_->stats();
  EXPECT_EQ(stats.writes, 2u);
  EXPECT_EQ(stats.bytes_written, kBlockBytes + 200);
  EXPECT_EQ(stats.lines_written, 64u + 4);
  EXPECT_EQ(stats.pages_written, 3u);
  EXPECT_EQ(stats.reads, 1u);
  EXPECT_EQ(stats.bytes_read, 8u);
  EXPECT_EQ(stats.lines_read, 2u);
  EXPECT_EQ(stats.pages_read, 1u);
  EXPECT_EQ(lines(1), 62u + 2);
  EXPECT_EQ(lines(2), 2u);
}

TEST_F(EmulatedDeviceTest, wear_belongs_to_the_file_whatever_its_name_is) {
  make({});
  must(file("a")->write_at(0, block_.data(), 64));
  must(device_->rename("a", "b"));
  must(file("b", Access::kReadWrite)->write_at(0, block_.data(), 64));
  EXPECT_EQ(lines(2), 1u);
  must(file("a")->write_at(0, block_.data(), 64));
  EXPECT_EQ(lines(1), 1u) << "a new file";
  must(device_->remove("b"));
  EXPECT_EQ(lines(2), 1u) << "what was worn stays so";
  must(file("b")->write_at(0, block_.data(), 64));
  EXPECT_EQ(lines(1), 2u);
}

TEST_F(EmulatedDeviceTest, stores_write_lines_with_first_words_once_more) {
  make({}, true);
  must(file("a")->write_at(0, block_.data(), block_.size()));
  EXPECT_EQ(lines(2), kBlockBytes / kSectorBytes);
  EXPECT_EQ(lines(1), (kBlockBytes - kBlockBytes / kSectorBytes * 64) / 64);
}

TEST_F(EmulatedDeviceTest, errors_are_those_of_the_device_behind) {
  make({.read_latency_ns = 1'000});
  EXPECT_EQ(device_->open("a", Access::kRead).code(), ErrorCode::kNotFound);
  EXPECT_EQ(device_->remove("a").code(), ErrorCode::kNotFound);
  const auto file = this->file("a");
  behind_.fail(testing::Call::kWrite, 0, EIO);
  EXPECT_EQ(file->write_at(0, block_.data(), block_.size()).code(), ErrorCode::kIoError);
}

}  // namespace
}  // namespace foedus::device::emulated_device_test
