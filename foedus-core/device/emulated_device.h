#pragma once
// EmulatedDevice: non-volatile memory of a chosen speed, in front of another device (the emulator
// of the FOEDUS paper, §9.3.1). The device behind it does the work. Then the calling thread spins
// on the time-stamp counter until memory of that speed would have done it, too.
//
//   V20 A read, a write or a sync takes one latency plus the transfer time of its bytes. If the
//       device behind takes longer, it takes that time. Latencies of different threads overlap. So
//       do those of the reads and writes of a queue, each of which begins with its add(). If the
//       reading thread has announced a read, its latency begins with File::will_read(). Transfers
//       do not overlap.
//   V21 Bytes, errors and promises are those of the device behind it (V1-V19).
//   V22 A write wears each line of 64 bytes that it touches. A new file begins with unworn lines,
//       and lines of a removed file stay in the counts, because it is not known where the file
//       system puts the next file. If the device behind writes by stores, a line that begins a
//       sector is worn once more (V17).

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/device/device.h"
#include "foedus-core/device/io_queue.h"
#include "foedus/nvm_stats.h"
#include "foedus/status.h"

namespace foedus::device {

struct NvmSpeed {
  std::uint64_t read_latency_ns = 0;
  std::uint64_t write_latency_ns = 0;
  std::uint64_t bytes_per_s = 0;  // 0: a transfer takes no time
};

// The clock of the emulated memory: tells when accesses end. Any thread.
class NvmClock {
 public:
  explicit NvmClock(const NvmSpeed& speed);

  // Returns when an access that begins now ends, in ticks.
  std::uint64_t end_of_read(std::size_t bytes) { return end_of(read_latency_, bytes); }
  std::uint64_t end_of_write(std::size_t bytes) { return end_of(write_latency_, bytes); }
  // Spins until `end`; sleeps through most of a wait of more than 200 us.
  void wait_until(std::uint64_t end) const;

 private:
  std::uint64_t end_of(std::uint64_t latency, std::size_t bytes);

  const double ticks_per_ns_;
  const std::uint64_t read_latency_;   // ticks
  const std::uint64_t write_latency_;  // ticks
  const double ticks_per_byte_;        // 0: transfers are not waited for

  std::mutex mutex_;
  std::uint64_t transferred_ = 0;  // when the last transfer so far ends; guarded by mutex_
};

// Counters of the reads and writes of all directories of a database. Any thread.
class NvmCounters {
 public:
  void count_read(std::uint64_t offset, std::size_t bytes);
  NvmStats stats() const;

 private:
  friend class LineWear;
  // One lock is enough for writes: they are rare beside reads of lines, and come in large pieces.
  mutable std::mutex mutex_;
  NvmStats written_;  // guarded by mutex_; only its counts of writes are used
  alignas(64) base::AtomicWord<std::uint64_t> reads_;
  base::AtomicWord<std::uint64_t> bytes_read_;
  base::AtomicWord<std::uint64_t> lines_read_;
  base::AtomicWord<std::uint64_t> pages_read_;
};

// Counts the writes of each line of one file. Any thread.
class LineWear {
 public:
  explicit LineWear(NvmCounters* counters) : counters_(counters) {}
  // Counts a write; `by_stores`: V22. Counts nothing if it throws std::bad_alloc.
  void count_write(std::uint64_t offset, std::size_t bytes, bool by_stores);

 private:
  void wear_locked(std::uint64_t line);

  NvmCounters* const counters_;
  std::vector<std::uint8_t> writes_;  // by line; guarded by the mutex of the counters
};

class EmulatedDevice final : public Device {
 public:
  // `behind_by_stores`: `behind` writes files by stores, not by calls (V22).
  EmulatedDevice(std::unique_ptr<Device> behind, bool behind_by_stores, const NvmSpeed& speed,
                 std::shared_ptr<NvmCounters> counters);

  const std::string& path() const override { return behind_->path(); }
  Result<std::unique_ptr<File>> open(std::string_view name, Access access) override;
  Result<std::vector<std::string>> list() const override { return behind_->list(); }
  Status remove(std::string_view name) override;
  Status rename(std::string_view from, std::string_view to) override;
  Status sync_directory() override;
  Status discard(std::string_view name, const Range* ranges, std::size_t count) override {
    return behind_->discard(name, ranges, count);
  }
  std::unique_ptr<IoQueue> make_io_queue() override;

 private:
  std::shared_ptr<LineWear> wear_of(std::string_view name);

  const std::unique_ptr<Device> behind_;
  const bool behind_by_stores_;
  const std::shared_ptr<NvmCounters> counters_;
  const std::shared_ptr<NvmClock> clock_;  // files and queues may outlive the device

  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<LineWear>, std::less<>> wear_;  // guarded by mutex_
};

}  // namespace foedus::device
