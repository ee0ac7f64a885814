// soak: one life of a database whose live data has a constant size, with samples of the resources
// that it uses, a JSON line each. soak.py starts one life after another.

#include <gflags/gflags.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "experiments/common/json_line.h"
#include "foedus/foedus.h"
#include "tests/soak/pool.h"

DEFINE_string(soak_dir, "", "of the database");
DEFINE_uint32(slots, 50'000, "rows, always");
DEFINE_uint32(row_bytes, 400, "most rows are at most so long");
DEFINE_uint32(soak_sessions, 2, "threads at work");
DEFINE_uint32(soak_socs, 1, "emulated if it is not the machine's number");
DEFINE_uint64(soak_memory_bytes, 256u << 20, "bound of the database's memory");
DEFINE_double(life_seconds, 60, "then it closes the database, if nobody kills it before");
DEFINE_double(sample_seconds, 2, "between two samples");
DEFINE_uint64(pause_us, 0, "of each thread behind each transaction");
DEFINE_uint64(soak_seed, 1, "of transactions");

namespace {

using Clock = std::chrono::steady_clock;

std::uint64_t of_status_file(const std::string& wanted) {
  std::ifstream file("/proc/self/status");
  std::string name;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(wanted + ":")) return std::stoull(line.substr(wanted.size() + 1));
  }
  return 0;
}

std::uint64_t entries_in(const std::string& folder) {
  std::uint64_t count = 0;
  std::error_code gone;
  for (auto at = std::filesystem::directory_iterator(folder, gone);
       !gone && at != std::filesystem::directory_iterator(); at.increment(gone)) {
    ++count;
  }
  return count;
}

std::uint64_t bytes_in(const std::string& folder) {
  std::uint64_t bytes = 0;
  std::error_code gone;  // files are created and removed meanwhile
  for (auto at = std::filesystem::directory_iterator(folder, gone);
       !gone && at != std::filesystem::directory_iterator(); at.increment(gone)) {
    const std::uint64_t size = at->file_size(gone);
    if (!gone) bytes += size;
    gone.clear();
  }
  return bytes;
}

void print_sample(const foedus::Database& db, double second, std::uint64_t transactions) {
  const foedus::Stats stats = db.stats();
  experiments::JsonObject line;
  line.add("second", second);
  line.add("transactions", transactions);
  line.add("resident_bytes", of_status_file("VmRSS") * 1024);
  line.add("threads", of_status_file("Threads"));
  line.add("files_open", entries_in("/proc/self/fd"));
  line.add("disk_bytes", bytes_in(FLAGS_soak_dir));
  line.add("files", entries_in(FLAGS_soak_dir));
  line.add("volatile_page_bytes", stats.volatile_page_bytes);
  line.add("cache_bytes", stats.cache_bytes);
  line.add("log_bytes_behind", stats.log_bytes_behind);
  line.add("gleans", stats.gleans);
  line.add("snapshot", stats.snapshot);
  experiments::print_line(line);
}

// Threads that work until `is_over`; the first failure is kept.
class Workers {
 public:
  explicit Workers(foedus::soak::Pool* pool) : pool_(*pool) {
    for (std::uint32_t i = 0; i < FLAGS_soak_sessions; ++i) {
      threads_.emplace_back([this, i] { work(i); });
    }
  }
  foedus::Status join() {
    is_over_.store(true);
    for (std::thread& thread : threads_) thread.join();
    return failure_;
  }
  bool has_failed() const { return has_failed_.load(); }
  std::uint64_t transactions() const { return transactions_.load(); }

 private:
  void work(std::uint32_t number) {
    foedus::base::Random random(FLAGS_soak_seed * 977 + number);
    while (!is_over_.load()) {
      const bool reads = random.below(2) == 0;
      foedus::Status status = reads ? pool_.look(&random) : pool_.change(&random, number == 0);
      if (!status.is_ok()) {
        const std::lock_guard lock(mutex_);
        if (!has_failed_.exchange(true)) failure_ = std::move(status);
        return;
      }
      transactions_.fetch_add(1);
      if (FLAGS_pause_us != 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(FLAGS_pause_us));
      }
    }
  }

  foedus::soak::Pool& pool_;
  std::atomic<bool> is_over_{false};
  std::atomic<bool> has_failed_{false};
  std::atomic<std::uint64_t> transactions_{0};
  std::mutex mutex_;
  foedus::Status failure_;
  std::vector<std::thread> threads_;
};

foedus::Status live() {
  const auto begin = Clock::now();
  const auto second = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  foedus::Options options;
  options.dir = FLAGS_soak_dir;
  options.socs = FLAGS_soak_socs;
  options.memory_bytes = FLAGS_soak_memory_bytes;
  options.glean.log_bytes = 16u << 20;
  FOEDUS_TRY(foedus::Database db, foedus::Database::open(options));
  FOEDUS_TRY(auto pool, foedus::soak::Pool::open(&db, FLAGS_slots, FLAGS_row_bytes));
  FOEDUS_CHECK(pool.check());
  Workers workers(&pool);
  for (double next = 0; second() < FLAGS_life_seconds && !workers.has_failed();) {
    if (second() >= next) {
      print_sample(db, second(), workers.transactions());
      next = second() + FLAGS_sample_seconds;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  FOEDUS_CHECK(workers.join());
  FOEDUS_CHECK(pool.check());
  return db.close();
}

}  // namespace

int main(int argc, char** argv) {
  gflags::SetUsageMessage("one life of a database of constant size, with samples");
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  if (FLAGS_soak_dir.empty() || FLAGS_slots == 0 || FLAGS_row_bytes == 0) {
    std::fprintf(stderr, "soak: --soak_dir is missing, or a number is 0\n");
    return 2;
  }
  const foedus::Status status = live();
  if (status.is_ok()) return 0;
  std::fprintf(stderr, "soak: %s\n", status.message().c_str());
  return 1;
}
