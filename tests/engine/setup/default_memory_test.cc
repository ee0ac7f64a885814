// ctest-timeout: 300
// A database with default options stays within the limits of the system. In a cgroup of 256 MiB it
// is not killed while many times as many bytes of rows are written, and under a limit of addresses
// it opens and works. Method: child processes with such limits. FOEDUS_ROWS_MB sets the MB of rows.
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/hostile/isolated_run.h"
#include "tests/testing/test_database.h"

namespace foedus::default_memory_test {
namespace {

using testing::must;

constexpr std::uint64_t kMiB = 1u << 20;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kHasShadowMemory = true;  // of many terabytes
#else
constexpr bool kHasShadowMemory = false;
#endif

std::uint64_t bytes_of_rows(std::uint64_t usual_mb) {
  const char* const text = std::getenv("FOEDUS_ROWS_MB");
  return (text == nullptr ? usual_mb : std::strtoull(text, nullptr, 10)) * 1'000'000;
}

// A directory on a disk: files in memory would count for the cgroup, and could not leave it.
class DiskDirectory {
 public:
  DiskDirectory() {
    constexpr long kTmpfs = 0x01021994;
    for (const std::string place : {".", "/var/tmp", "/tmp"}) {
      struct statfs about;
      if (statfs(place.c_str(), &about) != 0 || about.f_type == kTmpfs) continue;
      std::string pattern = std::filesystem::absolute(place).string() + "/foedus-XXXXXX";
      if (mkdtemp(pattern.data()) == nullptr) continue;
      path_ = pattern;
      return;
    }
  }
  ~DiskDirectory() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

bool write_text(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text << std::flush;
  return file.good();
}

// A cgroup of this test alone, with a limit of memory; of version 1 or 2, as the system has it.
class Cgroup {
 public:
  explicit Cgroup(std::uint64_t bytes) {
    for (const std::string root : {"/sys/fs/cgroup/memory", "/sys/fs/cgroup"}) {
      const std::string path = root + "/foedus-test-" + std::to_string(getpid());
      if (mkdir(path.c_str(), 0755) != 0) continue;
      path_ = path;
      for (const char* name : {"/memory.limit_in_bytes", "/memory.max"}) {
        if (!std::filesystem::exists(path + name)) continue;
        if (write_text(path + name, std::to_string(bytes))) return;
      }
      rmdir(path_.c_str());
      path_.clear();
    }
  }
  ~Cgroup() {
    // The kernel may still count a child that has ended.
    for (int tries = 0; !path_.empty() && rmdir(path_.c_str()) != 0 && tries < 100; ++tries) {
      usleep(50'000);
    }
  }
  bool is_there() const { return !path_.empty(); }
  bool enter() const { return write_text(path_ + "/cgroup.procs", std::to_string(getpid())); }
  std::string peak() const {
    const std::string v1 = read_text(path_ + "/memory.max_usage_in_bytes");
    return v1.empty() ? read_text(path_ + "/memory.peak") : v1;
  }

 private:
  std::string path_;
};

// ---- the child ----------------------------------------------------------------------------------

std::uint64_t resident_kib_max() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss);
}

// Rows of 108 bytes, a thousand in a transaction; then some of them are read.
Status write_rows(Database& db, const std::string& name, std::uint64_t bytes) {
  FOEDUS_TRY(const Masstree tree, db.open_masstree(name));
  constexpr std::uint64_t kRowBytes = 108;
  constexpr std::uint64_t kBatch = 1000;
  const std::string payload(kRowBytes - sizeof(std::uint64_t), 'p');
  const std::uint64_t rows = bytes / kRowBytes / kBatch * kBatch;
  for (std::uint64_t row = 0; row < rows; row += kBatch) {
    FOEDUS_CHECK(db.transact([&](Txn& txn) -> Status {
      for (std::uint64_t i = row; i < row + kBatch; ++i) {
        FOEDUS_CHECK(txn.put(tree, key(i), payload));
      }
      return {};
    }));
  }
  for (std::uint64_t row = 0; row < rows; row += rows / 100 + 1) {
    FOEDUS_CHECK(db.transact([&](Txn& txn) -> Status { return txn.get(tree, key(row)).status(); }));
  }
  return {};
}

// Returns a complaint, or an empty string. If `threads` is 1 the calling thread writes.
std::string live_with_defaults(const std::string& dir, std::uint64_t bytes, unsigned threads,
                               std::uint64_t expected_max) {
  Options options;
  options.dir = dir;
  auto opened = Database::open(options);
  if (!opened.is_ok()) return opened.status().message();
  Database db = std::move(opened).value();
  const std::uint64_t memory = db.effective_options().options.memory_bytes;
  if (memory > expected_max) return "memory_bytes is " + std::to_string(memory);
  std::vector<Status> ends(threads);
  std::vector<std::thread> writers;
  for (unsigned i = 1; i < threads; ++i) {
    writers.emplace_back(
        [&, i] { ends[i] = write_rows(db, "rows" + std::to_string(i), bytes / threads); });
  }
  ends[0] = write_rows(db, "rows", bytes / threads);
  for (std::thread& writer : writers) writer.join();
  ends.push_back(db.glean().status());
  ends.push_back(db.close());
  for (const Status& end : ends) {
    if (!end.is_ok()) return end.message();
  }
  std::printf("%llu MB of rows, memory_bytes %llu MiB, %llu MiB resident at most\n",
              static_cast<unsigned long long>(bytes / 1'000'000),
              static_cast<unsigned long long>(memory / kMiB),
              static_cast<unsigned long long>(resident_kib_max() / 1024));
  std::fflush(stdout);
  return "";
}

TEST(DefaultMemoryTest, rows_of_many_times_the_memory_fit_into_a_small_cgroup) {
  const Cgroup cgroup(256 * kMiB);
  if (!cgroup.is_there()) GTEST_SKIP() << "this user may not make a cgroup with a memory limit";
  if (kHasShadowMemory) GTEST_SKIP() << "the sanitizer's own memory would count";
  const DiskDirectory directory;
  if (directory.path().empty()) GTEST_SKIP() << "no directory on a disk";
  EXPECT_EQ(hostile::run_isolated_once(
                [&]() -> std::string {
                  if (!cgroup.enter()) return "cannot enter the cgroup";
                  return live_with_defaults(directory.path() + "/db", bytes_of_rows(500), 1,
                                            128 * kMiB);
                },
                280),
            "");
  std::printf("the cgroup's memory at its peak, with the system's cache of files: %s",
              cgroup.peak().c_str());
}

// With 1 GiB of addresses or more there is memory for four threads, with less for one.
TEST(DefaultMemoryTest, a_limit_of_addresses_leaves_room_for_threads_and_gleans) {
  if (kHasShadowMemory) GTEST_SKIP() << "the sanitizer needs more addresses than the limits";
  for (const std::uint64_t mib : {4096u, 2048u, 1024u, 512u, 256u}) {
    const testing::TestDirectory directory;
    EXPECT_EQ(hostile::run_isolated([&]() -> std::string {
                const rlimit limit{mib * kMiB, mib * kMiB};
                if (setrlimit(RLIMIT_AS, &limit) != 0) return "cannot set the limit";
                return live_with_defaults(directory.path() + "/db", bytes_of_rows(100),
                                          mib < 1024 ? 1 : 4,
                                          std::max(mib / 4, std::uint64_t{64}) * kMiB);
              }),
              "")
        << mib << " MiB of addresses";
  }
}

}  // namespace
}  // namespace foedus::default_memory_test
