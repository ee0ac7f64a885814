// The default of memory_bytes: what the files of the system say of cgroups and limits, and what is
// made of it. Method: trees of such files in a directory, as kernels and containers show them.
#include "foedus-core/engine/setup/granted_memory.h"

#include <filesystem>
#include <fstream>
#include <mutex>

#include "tests/testing/test_database.h"

namespace foedus::engine::granted_memory_test {
namespace {

using testing::TestDirectory;

constexpr std::uint64_t kMiB = 1u << 20;
constexpr std::uint64_t kUnlimited = MemoryGrants::kUnlimited;

// A machine's files, below a directory.
class Files {
 public:
  Files& add(const std::string& path, const std::string& text) {
    const std::filesystem::path whole = directory_.path() + path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole) << text;
    return *this;
  }
  Files& cgroup(const std::string& text) { return add("/proc/self/cgroup", text); }
  Files& mounts(const std::string& text) {
    return add("/proc/self/mountinfo",
               "23 1 254:0 / / rw,relatime - ext4 /dev/root rw\n"
               "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n" +
                   text);
  }
  MemoryGrants read() const { return read_memory_grants(directory_.path()); }

 private:
  TestDirectory directory_;
};

constexpr const char* kV2 = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr const char* kV1 =
    "33 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n";

TEST(GrantedMemoryTest, without_files_nothing_is_limited) {
  const MemoryGrants grants = Files().read();
  EXPECT_EQ(grants.cgroup_bytes, kUnlimited);
  EXPECT_EQ(grants.address_bytes, kUnlimited);
}

TEST(GrantedMemoryTest, version_2_takes_the_least_of_the_own_cgroup_and_all_above) {
  const std::string base = "/sys/fs/cgroup";
  Files files;
  files.mounts(kV2).cgroup("0::/system.slice/app.service\n");
  files.add(base + "/system.slice/app.service/memory.max", "max\n");
  EXPECT_EQ(files.read().cgroup_bytes, kUnlimited);
  files.add(base + "/system.slice/app.service/memory.max", "524288000\n");
  EXPECT_EQ(files.read().cgroup_bytes, 500 * kMiB);
  files.add(base + "/system.slice/memory.max", "314572800\n");
  EXPECT_EQ(files.read().cgroup_bytes, 300 * kMiB);
  files.add(base + "/system.slice/app.service/memory.high", "209715200\n");
  EXPECT_EQ(files.read().cgroup_bytes, 200 * kMiB);
  files.add(base + "/memory.high", "104857600\n");
  EXPECT_EQ(files.read().cgroup_bytes, 100 * kMiB);
  files.add(base + "/other.slice/memory.max", "1048576\n");
  EXPECT_EQ(files.read().cgroup_bytes, 100 * kMiB) << "another one's";
}

TEST(GrantedMemoryTest, version_1_takes_the_own_limit_and_the_hierarchical_one) {
  const std::string base = "/sys/fs/cgroup/memory";
  Files files;
  files.mounts(kV1).cgroup("9:name=systemd:/\n5:cpu,cpuacct:/other\n4:memory:/jobs/7\n0::/\n");
  files.add(base + "/memory.limit_in_bytes", "9223372036854771712\n");
  files.add(base + "/jobs/7/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(files.read().cgroup_bytes, 9223372036854771712u);
  files.add(base + "/jobs/7/memory.stat",
            "cache 4096\nhierarchical_memory_limit 419430400\nhierarchical_memsw_limit 1\n");
  EXPECT_EQ(files.read().cgroup_bytes, 400 * kMiB);
  files.add(base + "/jobs/memory.limit_in_bytes", "314572800\n");
  EXPECT_EQ(files.read().cgroup_bytes, 300 * kMiB);
  files.add(base + "/jobs/7/memory.limit_in_bytes", "209715200\n");
  EXPECT_EQ(files.read().cgroup_bytes, 200 * kMiB);
}

// Docker without a namespace for cgroups: the container's own cgroup is mounted, and its path is
// that of the host.
TEST(GrantedMemoryTest, a_mount_of_a_container_shows_its_own_cgroup) {
  Files files;
  files.cgroup("4:memory:/docker/abc\n");
  files.mounts("35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
  files.add("/sys/fs/cgroup/memory/memory.limit_in_bytes", "268435456\n");
  EXPECT_EQ(files.read().cgroup_bytes, 256 * kMiB);
  files.cgroup("4:memory:/docker/abc/inner\n");
  files.add("/sys/fs/cgroup/memory/inner/memory.limit_in_bytes", "134217728\n");
  EXPECT_EQ(files.read().cgroup_bytes, 128 * kMiB);
}

// If a path leads out of the mount, the limit is that of the mount: other cgroups cannot be seen.
TEST(GrantedMemoryTest, a_path_that_a_namespace_hides_falls_back_to_what_is_mounted) {
  for (const std::string path : {"/", "/../../other", "/not/shown/here", "/docker/other"}) {
    Files files;
    files.mounts(kV2).cgroup("0::" + path + "\n");
    files.add("/sys/fs/cgroup/memory.max", "268435456\n");
    EXPECT_EQ(files.read().cgroup_bytes, 256 * kMiB) << path;
  }
  Files files;
  files.cgroup("0::/abcd\n");
  files.mounts("30 23 0:26 /abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  files.add("/sys/fs/cgroup/memory.max", "268435456\n");
  files.add("/sys/fs/cgroup/d/memory.max", "1048576\n");
  EXPECT_EQ(files.read().cgroup_bytes, 256 * kMiB) << "a name is whole";
}

// Both versions are mounted, and one has the memory; a path has a blank in its name.
TEST(GrantedMemoryTest, hybrid_systems_and_strange_names_are_read) {
  Files files;
  files.cgroup("4:memory:/a b\n0::/a b\n");
  files.mounts(
      "35 31 0:32 / /my\\040groups/memory rw - cgroup cgroup rw,memory\n"
      "41 31 0:38 / /my\\040groups/unified rw - cgroup2 cgroup2 rw\n");
  files.add("/my groups/unified/a b/cgroup.procs", "1\n");
  EXPECT_EQ(files.read().cgroup_bytes, kUnlimited);
  files.add("/my groups/memory/a b/memory.limit_in_bytes", "268435456\n");
  EXPECT_EQ(files.read().cgroup_bytes, 256 * kMiB);
}

TEST(GrantedMemoryTest, what_is_no_line_of_these_files_is_passed_over) {
  for (const std::string line : {"", "x", "a b c", "1 2 3 4 5 6", "1 2 3 4 5 - ", "1 2 3 4 5 - a",
                                 "1 2 - cgroup2 cgroup2 rw", "1 2 3 \\ \\1 - cgroup2 x y"}) {
    Files files;
    files.mounts(line + "\n").cgroup(line + "\n:\n::\n0:\n");
    EXPECT_EQ(files.read().cgroup_bytes, kUnlimited) << line;
  }
  Files files;
  files.mounts(kV2).cgroup("0::/\n").add("/sys/fs/cgroup/memory.max", "some\n");
  EXPECT_EQ(files.read().cgroup_bytes, kUnlimited);
}

TEST(GrantedMemoryTest, addresses_are_what_the_soft_limit_leaves) {
  const auto limits = [](const std::string& soft) {
    return "Limit                     Soft Limit           Hard Limit           Units\n"
           "Max file size             1                    1                    bytes\n"
           "Max address space         " +
           soft + "            unlimited            bytes\n";
  };
  Files files;
  files.add("/proc/self/limits", limits("unlimited"));
  EXPECT_EQ(files.read().address_bytes, kUnlimited);
  files.add("/proc/self/limits", limits("1073741824"));
  EXPECT_EQ(files.read().address_bytes, 1024 * kMiB);
  files.add("/proc/self/status", "Name:\tx\nVmPeak:\t  204800 kB\nVmSize:\t  102400 kB\n");
  EXPECT_EQ(files.read().address_bytes, 924 * kMiB);
  files.add("/proc/self/limits", limits("1048576"));
  EXPECT_EQ(files.read().address_bytes, 0u);
}

TEST(GrantedMemoryTest, the_least_share_is_chosen_and_says_of_what) {
  MemoryGrants grants{.physical_bytes = 24 * 1024 * kMiB};
  MemoryDefault chosen = choose_memory(grants);
  EXPECT_EQ(chosen.bytes, 12 * 1024 * kMiB);
  EXPECT_EQ(chosen.reason, "half of the machine's 24 GiB");
  grants.cgroup_bytes = 250'000'000;
  chosen = choose_memory(grants);
  EXPECT_EQ(chosen.bytes, 119 * kMiB);
  EXPECT_EQ(chosen.reason, "half of the cgroup's 238.4 MiB");
  EXPECT_FALSE(chosen.is_least);
  grants.address_bytes = 400 * kMiB;
  chosen = choose_memory(grants);
  EXPECT_EQ(chosen.bytes, 100 * kMiB);
  EXPECT_EQ(chosen.reason, "a quarter of the 400 MiB that RLIMIT_AS leaves");
  EXPECT_FALSE(chosen.is_least);
}

TEST(GrantedMemoryTest, less_than_the_least_is_never_chosen_nor_more_than_the_most) {
  MemoryDefault chosen = choose_memory({.cgroup_bytes = 100 * kMiB});
  EXPECT_EQ(chosen.bytes, 64 * kMiB);
  EXPECT_TRUE(chosen.is_least);
  EXPECT_EQ(chosen.reason, "half of the cgroup's 100 MiB");
  EXPECT_EQ(choose_memory({.address_bytes = 0}).bytes, 64 * kMiB);
  EXPECT_FALSE(choose_memory({.cgroup_bytes = 128 * kMiB}).is_least);
  EXPECT_EQ(choose_memory({.physical_bytes = std::uint64_t{1} << 50}).bytes,
            std::uint64_t{4} << 40);
}

TEST(GrantedMemoryTest, sizes_are_told_in_the_unit_of_a_person) {
  EXPECT_EQ(size_in_words(1000), "1000 bytes");
  EXPECT_EQ(size_in_words(64 * kMiB), "64 MiB");
  EXPECT_EQ(size_in_words(1536 * kMiB), "1.5 GiB");
  EXPECT_EQ(size_in_words(~std::uint64_t{0}), "16777215.9 TiB");
}

// The choice and its reason are the first thing that an operator reads.
TEST(GrantedMemoryTest, open_tells_what_it_chose) {
  std::mutex mutex;
  std::string first;
  Options options = testing::small_options("");
  options.memory_bytes = 0;
  options.log_sink = [&](LogLevel, std::string_view line) {
    const std::lock_guard lock(mutex);
    if (first.empty()) first = line;
  };
  testing::TestDatabase db(options);
  const std::uint64_t chosen = db->effective_options().options.memory_bytes;
  EXPECT_GE(chosen, 64 * kMiB);
  const std::string words = "memory_bytes: " + size_in_words(chosen) + ", ";
  EXPECT_TRUE(first.starts_with(words + "half of the ") ||
              first.starts_with(words + "a quarter of the "))
      << first;
  testing::must(db->close());
}

}  // namespace
}  // namespace foedus::engine::granted_memory_test
