// olap: order-status over orders of many lines, in volatile pages and in snapshot pages (paper,
// figure 10). See README.md.

#include <gflags/gflags.h>
#include <glog/logging.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "experiments/common/foedus_backend.h"
#include "experiments/common/histogram.h"
#include "experiments/common/json_line.h"
#include "experiments/common/options.h"
#include "experiments/common/progress.h"
#include "experiments/common/worker_threads.h"
#include "experiments/olap/orders.h"

DEFINE_uint32(lines, 15, "lines of each order, 1 .. 1000; the paper has 15, 100 and 500");
DEFINE_uint64(total_lines, 3'000'000, "lines of all orders together, about");
DEFINE_string(pages, "both", "hot: volatile pages; cold: snapshot pages; both: in turn");
DEFINE_string(cold_isolation, "serializable", "serializable, or snapshot: of reads of cold pages");
DEFINE_uint32(rounds, 5, "runs of --seconds of each side");

namespace experiments::olap {
namespace {

// One database, all of whose pages are volatile, or none.
class Side {
 public:
  struct Round {
    double txn_per_s = 0;
    std::uint64_t lines = 0;
  };

  static foedus::Result<std::unique_ptr<Side>> make(const std::string& name) {
    foedus::Options options = foedus_options_by_flags();
    options.dir = FLAGS_dir + "/" + name;
    set_gleans_by_flags("off", &options);
    FOEDUS_TRY(FoedusBackend backend, FoedusBackend::open(options, durability_by_flags()));
    const std::uint64_t customers =
        std::max<std::uint64_t>(FLAGS_total_lines / FLAGS_lines / kOrdersPerCustomer, 1);
    FOEDUS_TRY(const Orders orders, Orders::open(backend, customers, FLAGS_lines));
    return std::unique_ptr<Side>(new Side(name, std::move(backend), orders));
  }

  foedus::Status load() {
    Progress progress("load " + name_, orders_.customers());
    FOEDUS_CHECK(run_workers(FLAGS_sessions, [&](std::uint32_t number) -> foedus::Status {
      FOEDUS_TRY(FoedusWorker worker, backend_.new_worker());
      for (std::uint64_t c = number; c < orders_.customers(); c += FLAGS_sessions) {
        FOEDUS_CHECK(orders_.load_customer(worker, c, FLAGS_seed));
        progress.add(1);
      }
      return {};
    }));
    return backend_.wait_durable();
  }

  // Everything into a snapshot, and no volatile page left that could be.
  foedus::Status make_cold() {
    FOEDUS_CHECK(backend_.database().glean().status());
    reads_snapshot_ = FLAGS_cold_isolation == "snapshot";
    bytes_before_reads_ = backend_.database().stats().volatile_page_bytes;
    return {};
  }

  // Reads every customer's last order once: what can be cached is.
  foedus::Status warm() {
    FOEDUS_TRY(FoedusWorker worker, backend_.new_worker());
    OrderStatus seen;
    for (std::uint64_t c = 0; c < orders_.customers(); ++c) {
      FOEDUS_CHECK(read(worker, c, seen));
    }
    return {};
  }

  foedus::Result<Round> run(std::uint64_t seed) {
    std::atomic<bool> stop{false};
    std::mutex mutex;  // guards what follows
    Round round;
    std::uint64_t txns = 0;
    WorkerThreads threads(
        FLAGS_sessions, [&](std::uint32_t number, WorkerThreads::Gate& gate) -> foedus::Status {
          FOEDUS_TRY(FoedusWorker worker, backend_.new_worker());
          Random random(seed, number);
          const auto latency = std::make_unique<Histogram>();
          OrderStatus seen;
          std::uint64_t lines = 0;
          gate.arrive_and_wait();
          auto begin = Clock::now();
          while (!stop.load(std::memory_order_relaxed)) {  // order: a wish to stop, some time
            FOEDUS_CHECK(read(worker, random.uniform(0, orders_.customers() - 1), seen));
            lines += seen.lines;
            const auto end = Clock::now();
            latency->add(static_cast<std::uint64_t>((end - begin).count()));
            begin = end;
          }
          const std::lock_guard guard(mutex);
          latency_.merge(*latency);
          txns += latency->count();
          round.lines += lines;
          return {};
        });
    threads.wait_until_started();
    const auto start = Clock::now();
    std::this_thread::sleep_for(std::chrono::duration<double>(FLAGS_seconds));
    stop.store(true, std::memory_order_relaxed);  // order: see above
    FOEDUS_CHECK(threads.join());
    round.txn_per_s =
        static_cast<double>(txns) / std::chrono::duration<double>(Clock::now() - start).count();
    return round;
  }

  JsonObject facts() {
    const foedus::Stats stats = backend_.database().stats();
    JsonObject object;
    object.add("latency_us", latency_us(latency_));
    object.add("volatile_page_bytes_before_reads", bytes_before_reads_);
    object.add("volatile_page_bytes", stats.volatile_page_bytes);
    object.add("snapshot_pages_written", stats.snapshot_pages_written);
    object.add("cache_bytes", stats.cache_bytes);
    object.add("cache_hits", stats.cache_hits);
    object.add("cache_misses", stats.cache_misses);
    return object;
  }
  const std::string& name() const { return name_; }
  foedus::Status close() { return backend_.close(); }

 private:
  using Clock = std::chrono::steady_clock;

  Side(std::string name, FoedusBackend backend, const Orders& orders)
      : name_(std::move(name)), backend_(std::move(backend)), orders_(orders) {}

  foedus::Status read(FoedusWorker& worker, std::uint64_t customer, OrderStatus& seen) const {
    const auto order_status = [&](FoedusTxn& txn) {
      return orders_.order_status(txn, customer, seen);
    };
    return reads_snapshot_ ? worker.snapshot(order_status) : worker.read_only(order_status);
  }

  const std::string name_;
  FoedusBackend backend_;
  const Orders orders_;
  bool reads_snapshot_ = false;
  Histogram latency_;
  std::uint64_t bytes_before_reads_ = 0;  // of a cold side
};

foedus::Status check_flags() {
  const auto code = foedus::ErrorCode::kInvalidArgument;
  if (FLAGS_dir.empty()) return failed(code, "--dir is missing");
  if (FLAGS_lines < 1 || FLAGS_lines > 1000) return failed(code, "--lines must be 1 .. 1000");
  if (FLAGS_rounds < 1 || FLAGS_rounds > 1000) return failed(code, "--rounds must be 1 .. 1000");
  if (FLAGS_pages != "hot" && FLAGS_pages != "cold" && FLAGS_pages != "both") {
    return failed(code, "--pages must be hot, cold or both");
  }
  if (FLAGS_cold_isolation != "serializable" && FLAGS_cold_isolation != "snapshot") {
    return failed(code, "--cold-isolation must be serializable or snapshot");
  }
  if (FLAGS_pages != "hot" && !log_is_on()) {
    return failed(code, "snapshots are made of the log: --log must be on");
  }
  return {};
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

foedus::Result<std::vector<std::unique_ptr<Side>>> make_sides() {
  std::vector<std::unique_ptr<Side>> sides;
  for (const std::string name : {"hot", "cold"}) {
    if (FLAGS_pages != "both" && FLAGS_pages != name) continue;
    FOEDUS_TRY(auto side, Side::make(name));
    FOEDUS_CHECK(side->load());
    if (name == "cold") FOEDUS_CHECK(side->make_cold());
    FOEDUS_CHECK(side->warm());
    sides.push_back(std::move(side));
  }
  return sides;
}

foedus::Status run(int argc, char** argv) {
  FOEDUS_CHECK(parse_command_line(argc, argv, "olap --dir D [--lines L] [--pages P] ..."));
  FOEDUS_CHECK(check_flags());
  ::mkdir(FLAGS_dir.c_str(), 0755);  // if it is missing; opening the database says what is wrong
  FOEDUS_TRY(auto sides, make_sides());
  std::vector<std::vector<double>> txn_per_s(sides.size());
  std::uint64_t lines_read = 0;
  for (std::uint32_t round = 0; round < FLAGS_rounds; ++round) {
    for (std::size_t i = 0; i < sides.size(); ++i) {
      FOEDUS_TRY(const Side::Round done, sides[i]->run(FLAGS_seed + 1 + round));
      txn_per_s[i].push_back(done.txn_per_s);
      lines_read += done.lines;
    }
  }
  JsonObject line = begin_line("olap");
  line.add("lines", FLAGS_lines);
  line.add("lines_read", lines_read);
  line.add("txn_per_s", median(txn_per_s.back()));
  for (std::size_t i = 0; i < sides.size(); ++i) {
    line.add(sides[i]->name() + "_txn_per_s", median(txn_per_s[i]));
    line.add(sides[i]->name(), sides[i]->facts());
  }
  if (sides.size() == 2) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < txn_per_s[0].size(); ++i) {
      ratios.push_back(txn_per_s[1][i] / txn_per_s[0][i]);
    }
    line.add("cold_to_hot_median", median(ratios));
    line.add("cold_to_hot_min", *std::min_element(ratios.begin(), ratios.end()));
    line.add("cold_to_hot_max", *std::max_element(ratios.begin(), ratios.end()));
  }
  line.add("peak_memory_bytes", peak_memory_bytes());
  for (const auto& side : sides) FOEDUS_CHECK(side->close());
  print_line(line);
  return {};
}

}  // namespace
}  // namespace experiments::olap

int main(int argc, char** argv) {
  const foedus::Status status = experiments::olap::run(argc, argv);
  if (status.is_ok()) return EXIT_SUCCESS;
  LOG(ERROR) << "olap: " << status.message();
  return EXIT_FAILURE;
}
