// The comparison of PB-NVM (Nguyen and Lee, JSA 2019): pages that threads evict reach an SSD by way
// of a buffer on NVM in partitions, of one that all share, and of a double-write buffer. The engine
// evicts no dirty pages, so its staging buffer (foedus-core/device/staging/buffer.h) is driven by
// itself: pages of a set of files, chosen by Zipf's law, one at a time. Both devices are emulated.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "experiments/common/random.h"
#include "experiments/common/text.h"
#include "experiments/common/worker_threads.h"
#include "experiments/tiers/child.h"
#include "experiments/tiers/double_write.h"
#include "experiments/tiers/figure.h"
#include "experiments/ycsb/zipf.h"
#include "foedus-core/base/system/task.h"
#include "foedus-core/device/emulated_device.h"
#include "foedus-core/device/posix/file_device.h"
#include "foedus-core/device/staging/buffer.h"
#include "foedus/options.h"

namespace experiments::tiers {

namespace {

namespace device = foedus::device;
using device::kBlockBytes;
using device::StagingSpread;

constexpr std::uint32_t kFiles = 16;
constexpr std::uint64_t kPagesOfFile = 4'096;
constexpr double kEvictedTheta = 0.6;
constexpr std::uint32_t kWriters = 8;
// InnoDB's default: 2 MiB.
constexpr std::uint32_t kDoubleWritePages = 512;
// NVM as in the other figures.
constexpr device::NvmSpeed kNvm{
    .read_latency_ns = 500, .write_latency_ns = 500, .bytes_per_s = 6'600'000'000};
// Latency of a write and of a sync. An SSD that has to write to flash for a sync, as the paper's,
// has the first, on which the claim is judged; one with a protected cache has the second.
constexpr std::uint64_t kSsdLatenciesUs[] = {1'000, 100};
constexpr std::uint64_t kSsdBytesPerS = 2'000'000'000;

struct Setting {
  const char* name;
  bool is_double_write;
  device::StagingOptions staging;
};

// All buffers on NVM have the same size: 2,048 pages.
const std::vector<Setting>& settings() {
  const auto partitioned = [](StagingSpread spread) {
    return device::StagingOptions{
        .partitions = 8, .buckets = 4, .slots = 64, .flushers = 8, .spread = spread};
  };
  static const std::vector<Setting> all = {
      {"partitioned, even", false, partitioned(StagingSpread::kEven)},
      {"partitioned, single", false, partitioned(StagingSpread::kSingle)},
      {"partitioned, less", false, partitioned(StagingSpread::kLess)},
      {"one shared buffer", false, {.partitions = 1, .buckets = 1, .slots = 2'048, .flushers = 1}},
      {"double-write buffer", true, {}},
  };
  return all;
}

struct Seen {
  double pages_per_s;
  double ssd_bytes_per_page;
  double flush_ms;  // on the average
  double flush_us_per_page;
};

// Medians are made of these.
struct Runs {
  std::vector<double> pages_per_s;
  std::vector<double> ssd_bytes_per_page;
};

struct Devices {
  std::unique_ptr<device::Device> nvm;
  std::unique_ptr<device::Device> ssd;
  std::shared_ptr<device::NvmCounters> ssd_counters = std::make_shared<device::NvmCounters>();
  DoubleWrite::Files files;
};

foedus::Result<std::unique_ptr<device::Device>> open_device(
    const std::string& dir, const device::NvmSpeed& speed,
    std::shared_ptr<device::NvmCounters> counters) {
  std::error_code error;
  std::filesystem::remove_all(dir, error);
  FOEDUS_TRY(auto files, device::FileDevice::open(dir, foedus::Facility::kTry));
  return std::unique_ptr<device::Device>(std::make_unique<device::EmulatedDevice>(
      std::move(files), false, speed, std::move(counters)));
}

foedus::Result<Devices> open_devices(const Plan& plan, std::uint64_t ssd_latency_us) {
  const std::string dir = plan.dir + "/pbnvm";
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  const device::NvmSpeed ssd{.read_latency_ns = ssd_latency_us * 1'000,
                             .write_latency_ns = ssd_latency_us * 1'000,
                             .bytes_per_s = kSsdBytesPerS};
  Devices devices;
  FOEDUS_TRY(devices.nvm, open_device(dir + "/nvm", kNvm, std::make_shared<device::NvmCounters>()));
  FOEDUS_TRY(devices.ssd, open_device(dir + "/ssd", ssd, devices.ssd_counters));
  for (std::uint32_t i = 0; i < kFiles; ++i) {
    const std::string name = text("ssd-%08u-0", i);
    FOEDUS_TRY(auto file, devices.ssd->open(name, device::Access::kCreateDirect));
    FOEDUS_CHECK(file->preallocate(kPagesOfFile * kBlockBytes));
    devices.files.push_back(std::move(file));
  }
  return devices;
}

// Calls `write` with pages by chance in several threads for a time, and then `flush`. The time that
// counts includes the flush: everything is durable in its file at the end.
template <typename Write, typename Flush>
foedus::Result<Seen> evict(const Plan& plan, double seconds, const Write& write,
                           const Flush& flush) {
  using Steady = std::chrono::steady_clock;
  const Zipf zipf(kFiles * kPagesOfFile, kEvictedTheta);
  const Scramble scramble(kFiles * kPagesOfFile);
  std::atomic<std::uint64_t> pages = 0;
  const Steady::time_point begin = Steady::now();
  const Steady::time_point end =
      begin + std::chrono::microseconds(static_cast<std::int64_t>(seconds * 1e6));
  FOEDUS_CHECK(run_workers(kWriters, [&](std::uint32_t number) -> foedus::Status {
    Random random(plan.seed, number);
    struct alignas(kBlockBytes) {
      char bytes[kBlockBytes];
    } page;
    std::fill_n(page.bytes, kBlockBytes, static_cast<char>('a' + number));
    std::uint64_t written = 0;
    while (Steady::now() < end) {
      // Two threads may evict different pages only, as page latches see to.
      const std::uint64_t drawn = scramble.id(zipf.rank(random));
      const std::uint64_t chosen = drawn / kWriters * kWriters + number;
      FOEDUS_CHECK(write(static_cast<std::uint32_t>(chosen / kPagesOfFile), chosen % kPagesOfFile,
                         page.bytes));
      ++written;
    }
    pages.fetch_add(written);
    return {};
  }));
  FOEDUS_CHECK(flush());
  const std::chrono::duration<double> took = Steady::now() - begin;
  return Seen{.pages_per_s = static_cast<double>(pages) / took.count(),
              .ssd_bytes_per_page = 1 / static_cast<double>(pages),
              .flush_ms = 0,
              .flush_us_per_page = 1 / static_cast<double>(pages)};
}

// Completes `seen`, which has the reciprocal of the pages so far.
void add_costs(const Devices& devices, std::uint64_t flushes, std::uint64_t flush_us, Seen* seen) {
  seen->ssd_bytes_per_page *= static_cast<double>(devices.ssd_counters->stats().bytes_written);
  seen->flush_us_per_page *= static_cast<double>(flush_us);
  if (flushes != 0) {
    seen->flush_ms = static_cast<double>(flush_us) / 1e3 / static_cast<double>(flushes);
  }
}

foedus::Result<Seen> measure_staging(const Plan& plan, const Setting& setting, double seconds,
                                     const Devices& devices) {
  const auto runtime = foedus::base::make_thread_runtime();
  FOEDUS_TRY(const auto buffer,
             device::StagingBuffer::open(
                 devices.nvm.get(), runtime.get(), setting.staging,
                 [&] { return devices.ssd->make_io_queue(); },
                 [](std::uint64_t) -> foedus::Result<std::shared_ptr<device::File>> {
                   return std::shared_ptr<device::File>();
                 }));
  std::vector<std::shared_ptr<device::StagingTarget>> targets;
  for (std::uint32_t i = 0; i < kFiles; ++i) {
    targets.push_back(std::make_shared<device::StagingTarget>(i, devices.files[i]));
  }
  FOEDUS_TRY(Seen seen, evict(
                            plan, seconds,
                            [&](std::uint32_t file, std::uint64_t page, const void* bytes) {
                              return buffer->write(targets[file], page, bytes, 1);
                            },
                            [&] { return buffer->flush(); }));
  const device::StagingStatistics all = buffer->statistics();
  add_costs(devices, all.flushes, all.flush_us, &seen);
  return seen;
}

foedus::Result<Seen> measure_double_write(const Plan& plan, double seconds,
                                          const Devices& devices) {
  FOEDUS_TRY(std::shared_ptr<device::File> area,
             devices.ssd->open("double-write", device::Access::kCreateDirect));
  FOEDUS_CHECK(area->preallocate(kDoubleWritePages * kBlockBytes));
  DoubleWrite buffer(std::move(area), devices.files, kDoubleWritePages,
                     devices.ssd->make_io_queue());
  FOEDUS_TRY(Seen seen, evict(
                            plan, seconds,
                            [&](std::uint32_t file, std::uint64_t page, const void* bytes) {
                              return buffer.write(file, page, bytes);
                            },
                            [&] { return buffer.flush(); }));
  add_costs(devices, buffer.flushes(), buffer.flush_us(), &seen);
  return seen;
}

foedus::Result<Seen> measure(const Plan& plan, const Setting& setting,
                             std::uint64_t ssd_latency_us) {
  const double seconds = plan.is_quick ? 0.7 : 5;
  return in_child([&]() -> foedus::Result<Seen> {
    FOEDUS_TRY(const Devices devices, open_devices(plan, ssd_latency_us));
    return setting.is_double_write ? measure_double_write(plan, seconds, devices)
                                   : measure_staging(plan, setting, seconds, devices);
  });
}

// Measures all settings, in turns, and prints the points.
foedus::Result<std::vector<Runs>> measure_all(const Plan& plan, int rounds,
                                              std::uint64_t ssd_latency_us) {
  std::vector<Runs> runs(settings().size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < settings().size(); ++i) {
      FOEDUS_TRY(const Seen seen, measure(plan, settings()[i], ssd_latency_us));
      runs[i].pages_per_s.push_back(seen.pages_per_s);
      runs[i].ssd_bytes_per_page.push_back(seen.ssd_bytes_per_page);
      JsonObject point;
      point.add("ssd_latency_us", ssd_latency_us);
      point.add("pages_per_s", seen.pages_per_s);
      point.add("ssd_bytes_per_page", seen.ssd_bytes_per_page);
      point.add("flush_ms", seen.flush_ms);
      point.add("flush_us_per_page", seen.flush_us_per_page);
      print_point("pbnvm", settings()[i].name, point);
    }
  }
  return runs;
}

}  // namespace

foedus::Result<Verdict> draw_pb_nvm(const Plan& plan) {
  constexpr std::size_t kLess = 2, kShared = 3, kDoubleWrite = 4;  // of settings()
  const int rounds = plan.is_quick ? 3 : 5;
  std::string ours = text(
      "%u writers, medians of %d; thousand pages/s and bytes written to the "
      "SSD a page",
      kWriters, rounds);
  bool is_same = false;
  for (const std::uint64_t latency_us : kSsdLatenciesUs) {
    FOEDUS_TRY(const std::vector<Runs> runs, measure_all(plan, rounds, latency_us));
    ours += text("; SSD of %llu us:", static_cast<unsigned long long>(latency_us));
    for (std::size_t i = 0; i < runs.size(); ++i) {
      ours += text("%s %s %.1f, %.0f", i == 0 ? "" : ",", settings()[i].name,
                   median_of(runs[i].pages_per_s) / 1e3, median_of(runs[i].ssd_bytes_per_page));
    }
    if (latency_us != kSsdLatenciesUs[0]) continue;
    is_same = median_of(runs[kLess].pages_per_s) >= 2 * median_of(runs[kShared].pages_per_s) &&
              1.5 * median_of(runs[kLess].ssd_bytes_per_page) <=
                  median_of(runs[kDoubleWrite].ssd_bytes_per_page);
  }
  std::error_code error;
  std::filesystem::remove_all(plan.dir + "/pbnvm", error);
  return Verdict{std::move(ours), is_same};
}

}  // namespace experiments::tiers
