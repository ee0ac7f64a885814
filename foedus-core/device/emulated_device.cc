#include "foedus-core/device/emulated_device.h"

#include <algorithm>
#include <utility>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/system/clock.h"

namespace foedus::device {

namespace {

constexpr std::uint64_t kLineBytes = 64;
constexpr std::uint64_t kPageBytes = 4096;
// A thread that sleeps is woken up to some 60 us late, so a sleep is to end this long before the
// wait does.
constexpr std::uint64_t kSpinNs = 100'000;

// Returns how many lines or pages, of `unit` bytes each, a piece of a file touches.
std::uint64_t touched(std::uint64_t offset, std::uint64_t bytes, std::uint64_t unit) {
  return bytes == 0 ? 0 : (offset + bytes - 1) / unit - offset / unit + 1;
}

template <typename Part>
std::size_t bytes_of(const Part* parts, std::size_t count) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) bytes += parts[i].bytes;
  return bytes;
}

// Pages of a file that threads have announced to read (File::will_read()), and when each arrives.
// The announcement of a page replaces that of a page whose number differs by a multiple of kPages;
// a read of the replaced page then takes its full latency.
class AnnouncedPages {
 public:
  void add(std::uint64_t offset, std::size_t bytes, std::uint64_t end) {
    were_any_.store_relaxed(1);  // order: relaxed, see take()
    const std::lock_guard lock(mutex_);
    for (std::uint64_t page = offset / kPageBytes; page * kPageBytes < offset + bytes; ++page) {
      pages_[page % kPages] = {page, end, &thread};
    }
  }
  struct Taken {
    std::uint64_t bytes = 0;  // announced by the calling thread
    std::uint64_t end = 0;    // when the last of them arrives
  };
  // Removes the announcements that the calling thread has made for a read, and returns them.
  Taken take(std::uint64_t offset, std::size_t bytes) {
    Taken taken;
    // order: relaxed, a thread sees its own announcements, and must not take those of others.
    if (were_any_.load_relaxed() == 0) return taken;
    const std::lock_guard lock(mutex_);
    for (std::uint64_t page = offset / kPageBytes; page * kPageBytes < offset + bytes; ++page) {
      Page& found = pages_[page % kPages];
      if (found.end == 0 || found.number != page || found.thread != &thread) continue;
      taken.bytes += std::min<std::uint64_t>(bytes - taken.bytes, kPageBytes);
      taken.end = std::max(taken.end, std::exchange(found, Page{}).end);
    }
    return taken;
  }

 private:
  static constexpr std::size_t kPages = 1'024;
  struct Page {
    std::uint64_t number = 0;
    std::uint64_t end = 0;  // 0: there is none
    const char* thread = nullptr;
  };

  static thread_local constinit char thread;  // its address names the thread

  // 1 once a read was announced. Until then take() needs no lock: a file that is read by lines
  // never has announcements.
  base::AtomicWord<std::uint32_t> were_any_;
  std::mutex mutex_;
  std::vector<Page> pages_ = std::vector<Page>(kPages);  // guarded by mutex_
};
thread_local constinit char AnnouncedPages::thread = 0;

class EmulatedFile final : public File {
 public:
  EmulatedFile(std::shared_ptr<File> behind, std::shared_ptr<NvmClock> clock,
               std::shared_ptr<NvmCounters> counters, std::shared_ptr<LineWear> wear,
               bool by_stores)
      : behind_(std::move(behind)),
        clock_(std::move(clock)),
        counters_(std::move(counters)),
        wear_(std::move(wear)),
        by_stores_(by_stores) {}

  const std::shared_ptr<File>& behind() const { return behind_; }
  // Counts a write, and returns when it ends if it begins now.
  std::uint64_t begin_write(std::uint64_t offset, std::size_t bytes) {
    const std::uint64_t end = clock_->end_of_write(bytes);
    wear_->count_write(offset, bytes, by_stores_);
    return end;
  }

  const std::string& path() const override { return behind_->path(); }
  Result<std::size_t> read_at(std::uint64_t offset, void* to, std::size_t bytes) const override {
    const std::uint64_t end = begin_read(offset, bytes);
    Result<std::size_t> read = behind_->read_at(offset, to, bytes);
    clock_->wait_until(end);
    return read;
  }
  Result<bool> read_pieces(const Piece* pieces, std::size_t count) const override {
    std::uint64_t end = 0;
    for (std::size_t i = 0; i < count; ++i) {
      end = std::max(end, begin_read(pieces[i].offset, pieces[i].bytes));
    }
    Result<bool> read = behind_->read_pieces(pieces, count);
    clock_->wait_until(end);
    return read;
  }
  Result<std::size_t> read_parts_at(std::uint64_t offset, const Bytes* parts,
                                    std::size_t count) const override {
    const std::uint64_t end = begin_read(offset, bytes_of(parts, count));
    Result<std::size_t> read = behind_->read_parts_at(offset, parts, count);
    clock_->wait_until(end);
    return read;
  }
  void will_read(std::uint64_t offset, std::size_t bytes) const override {
    behind_->will_read(offset, bytes);
    announced_.add(offset, bytes, clock_->end_of_read(bytes));
  }
  Status write_parts_at(std::uint64_t offset, const ConstBytes* parts,
                        std::size_t count) override {
    const std::size_t bytes = bytes_of(parts, count);
    const std::uint64_t end = begin_write(offset, bytes);
    Status written = behind_->write_parts_at(offset, parts, count);
    clock_->wait_until(end);
    return written;
  }
  Status sync() override {
    const std::uint64_t end = clock_->end_of_write(0);
    Status synced = behind_->sync();
    clock_->wait_until(end);
    return synced;
  }
  Status preallocate(std::uint64_t bytes) override { return behind_->preallocate(bytes); }
  Status truncate(std::uint64_t bytes) override { return behind_->truncate(bytes); }
  Result<std::uint64_t> size() const override { return behind_->size(); }
  bool is_direct() const override { return behind_->is_direct(); }

  // Counts the read, and returns when it ends if it begins now.
  std::uint64_t begin_read(std::uint64_t offset, std::size_t bytes) const {
    counters_->count_read(offset, bytes);
    const AnnouncedPages::Taken announced = announced_.take(offset, bytes);
    if (announced.bytes == bytes) return announced.end;
    return std::max(announced.end, clock_->end_of_read(bytes - announced.bytes));
  }

 private:
  const std::shared_ptr<File> behind_;
  const std::shared_ptr<NvmClock> clock_;
  const std::shared_ptr<NvmCounters> counters_;
  const std::shared_ptr<LineWear> wear_;
  const bool by_stores_;
  mutable AnnouncedPages announced_;
};

// EmulatedIo: a queue whose reads and writes are made by the queue of the device behind. next()
// gives none of them before the emulated memory would have ended it. The latencies of all reads and
// writes in flight overlap.
class EmulatedIo final : public IoQueue {
 public:
  EmulatedIo(std::unique_ptr<IoQueue> behind, std::shared_ptr<const NvmClock> clock)
      : behind_(std::move(behind)), clock_(std::move(clock)) {}

  bool add_read(const std::shared_ptr<const File>& file, std::uint64_t offset, const Bytes* parts,
                std::size_t count, std::uint32_t tag) override {
    if (count_ == kRequestsMax) return false;
    const auto& emulated = static_cast<const EmulatedFile&>(*file);
    if (!behind_->add_read(emulated.behind(), offset, parts, count, tag)) return false;
    requests_[count_++] = Request{.done = {tag, 0},
                                  .has_ended = false,
                                  .end = emulated.begin_read(offset, bytes_of(parts, count))};
    return true;
  }
  bool add_write(const std::shared_ptr<File>& file, std::uint64_t offset, const void* from,
                 std::size_t bytes, std::uint32_t tag) override {
    if (count_ == kRequestsMax) return false;
    auto& emulated = static_cast<EmulatedFile&>(*file);
    if (!behind_->add_write(emulated.behind(), offset, from, bytes, tag)) return false;
    requests_[count_++] =
        Request{.done = {tag, 0}, .has_ended = false, .end = emulated.begin_write(offset, bytes)};
    return true;
  }
  void send() override { behind_->send(); }
  bool next(bool waits, Done* done) override {
    collect(false);
    std::uint32_t first = first_ended();
    if (first == count_) {
      if (!waits || count_ == 0) return false;
      collect(true);
      first = first_ended();
      if (first == count_) return false;  // a child of fork() has none of its parent's reads
    }
    const std::uint64_t end = requests_[first].end;
    if (waits) {
      clock_->wait_until(end);
    } else if (base::system_ticks() < end) {
      return false;
    }
    *done = requests_[first].done;
    requests_[first] = requests_[--count_];
    return true;
  }

 private:
  struct Request {
    Done done;
    bool has_ended;  // on the device behind
    std::uint64_t end;
  };

  // Takes the reads that have ended on the device behind; with `waits` at least one.
  void collect(bool waits) {
    Done done;
    while (behind_->next(waits, &done)) {
      Request* const request = std::find_if(
          requests_, requests_ + count_,
          [&](const Request& added) { return !added.has_ended && added.done.tag == done.tag; });
      FOEDUS_INVARIANT(request != requests_ + count_, done.tag);
      request->done = done;
      request->has_ended = true;
      waits = false;
    }
  }
  // Returns, of the reads that have ended on the device behind, the index of the one that ends
  // first on the emulated memory; count_ if none has ended.
  std::uint32_t first_ended() const {
    std::uint32_t first = count_;
    for (std::uint32_t i = 0; i < count_; ++i) {
      if (!requests_[i].has_ended) continue;
      if (first == count_ || requests_[i].end < requests_[first].end) first = i;
    }
    return first;
  }

  const std::unique_ptr<IoQueue> behind_;
  const std::shared_ptr<const NvmClock> clock_;
  std::uint32_t count_ = 0;
  Request requests_[kRequestsMax] = {};
};

}  // namespace

NvmClock::NvmClock(const NvmSpeed& speed)
    : ticks_per_ns_(base::system_ticks_per_ns()),
      read_latency_(
          static_cast<std::uint64_t>(static_cast<double>(speed.read_latency_ns) * ticks_per_ns_)),
      write_latency_(
          static_cast<std::uint64_t>(static_cast<double>(speed.write_latency_ns) * ticks_per_ns_)),
      ticks_per_byte_(speed.bytes_per_s == 0
                          ? 0
                          : 1e9 * ticks_per_ns_ / static_cast<double>(speed.bytes_per_s)) {}

std::uint64_t NvmClock::end_of(std::uint64_t latency, std::size_t bytes) {
  const std::uint64_t now = base::system_ticks();
  if (ticks_per_byte_ == 0 || bytes == 0) return now + latency;
  const auto transfer = static_cast<std::uint64_t>(static_cast<double>(bytes) * ticks_per_byte_);
  const std::lock_guard lock(mutex_);
  transferred_ = std::max(transferred_, now) + transfer;
  return transferred_ + latency;
}

void NvmClock::wait_until(std::uint64_t end) const {
  const auto spin = static_cast<std::uint64_t>(static_cast<double>(kSpinNs) * ticks_per_ns_);
  for (std::uint64_t now = base::system_ticks(); now < end; now = base::system_ticks()) {
    const std::uint64_t left = end - now;
    if (left <= 2 * spin) {
      __builtin_ia32_pause();
    } else {
      base::system_sleep_us(
          static_cast<std::uint64_t>(static_cast<double>(left - spin) / ticks_per_ns_ / 1e3));
    }
  }
}

// order: relaxed in all of these, statistics.
void NvmCounters::count_read(std::uint64_t offset, std::size_t bytes) {
  reads_.fetch_add_relaxed(1);
  bytes_read_.fetch_add_relaxed(bytes);
  lines_read_.fetch_add_relaxed(touched(offset, bytes, kLineBytes));
  pages_read_.fetch_add_relaxed(touched(offset, bytes, kPageBytes));
}

NvmStats NvmCounters::stats() const {
  const std::lock_guard lock(mutex_);
  NvmStats stats = written_;
  stats.reads = reads_.load_relaxed();  // order: relaxed here and below, statistics
  stats.bytes_read = bytes_read_.load_relaxed();
  stats.lines_read = lines_read_.load_relaxed();
  stats.pages_read = pages_read_.load_relaxed();
  return stats;
}

void LineWear::count_write(std::uint64_t offset, std::size_t bytes, bool by_stores) {
  if (bytes == 0) return;
  const std::uint64_t begin = offset / kLineBytes;
  const std::uint64_t end = (offset + bytes - 1) / kLineBytes + 1;
  const std::lock_guard lock(counters_->mutex_);
  if (writes_.size() < end) writes_.resize(end);
  NvmStats& written = counters_->written_;
  ++written.writes;
  written.bytes_written += bytes;
  written.lines_written += end - begin;
  written.pages_written += touched(offset, bytes, kPageBytes);
  for (std::uint64_t line = begin; line < end; ++line) wear_locked(line);
  if (!by_stores) return;
  const std::uint64_t first_sector = (offset + kSectorBytes - 1) / kSectorBytes * kSectorBytes;
  for (std::uint64_t at = first_sector; at < offset + bytes; at += kSectorBytes) {
    wear_locked(at / kLineBytes);
  }
}

void LineWear::wear_locked(std::uint64_t line) {
  std::uint8_t& writes = writes_[line];
  if (writes == NvmStats::kWritesMax) return;
  auto& lines = counters_->written_.lines_by_writes;
  if (writes != 0) --lines[writes];
  ++lines[++writes];
}

EmulatedDevice::EmulatedDevice(std::unique_ptr<Device> behind, bool behind_by_stores,
                               const NvmSpeed& speed, std::shared_ptr<NvmCounters> counters)
    : behind_(std::move(behind)),
      behind_by_stores_(behind_by_stores),
      counters_(std::move(counters)),
      clock_(std::make_shared<NvmClock>(speed)) {}

Result<std::unique_ptr<File>> EmulatedDevice::open(std::string_view name, Access access) {
  FOEDUS_TRY(std::unique_ptr<File> file, behind_->open(name, access));
  return std::unique_ptr<File>(std::make_unique<EmulatedFile>(
      std::move(file), clock_, counters_, wear_of(name), behind_by_stores_));
}

Status EmulatedDevice::remove(std::string_view name) {
  FOEDUS_CHECK(behind_->remove(name));
  const std::lock_guard lock(mutex_);
  if (const auto worn = wear_.find(name); worn != wear_.end()) wear_.erase(worn);
  return {};
}

Status EmulatedDevice::rename(std::string_view from, std::string_view to) {
  const auto worn = wear_of(from);
  std::string name(to);  // allocated before the change: if memory is spent, nothing is renamed
  FOEDUS_CHECK(behind_->rename(from, to));
  const std::lock_guard lock(mutex_);
  auto node = wear_.extract(wear_.find(from));
  node.key() = std::move(name);
  wear_.erase(node.key());
  wear_.insert(std::move(node));
  return {};
}

Status EmulatedDevice::sync_directory() {
  const std::uint64_t end = clock_->end_of_write(0);
  Status synced = behind_->sync_directory();
  clock_->wait_until(end);
  return synced;
}

std::unique_ptr<IoQueue> EmulatedDevice::make_io_queue() {
  auto queue = behind_->make_io_queue();
  if (queue == nullptr) return nullptr;
  return std::make_unique<EmulatedIo>(std::move(queue), clock_);
}

std::shared_ptr<LineWear> EmulatedDevice::wear_of(std::string_view name) {
  const std::lock_guard lock(mutex_);
  auto& worn = wear_[std::string(name)];
  if (worn == nullptr) worn = std::make_shared<LineWear>(counters_.get());
  return worn;
}

}  // namespace foedus::device
