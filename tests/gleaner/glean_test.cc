// A database is written to, closed and gleaned; its snapshots must hold all commits.
// ctest-labels: concurrency crash

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/device/posix/file_device.h"
#include "foedus-core/engine/closed_directory.h"
#include "foedus-core/log/log.h"
#include "foedus-core/snapshot/snapshot_reader.h"
#include "foedus-core/storage/sequential/sequential_snapshot_order.h"
#include "gleaner/directory_glean.h"
#include "tests/base/test_seed.h"
#include "tests/gleaner/compose/hash_walk.h"
#include "tests/gleaner/compose/masstree_walk.h"
#include "tests/gleaner/live_walk.h"
#include "tests/testing/test_database.h"

namespace foedus::gleaner::glean_test {
namespace {

constexpr std::uint64_t kSlots = 5'000;

struct Model {
  std::map<std::string, std::string> tree;
  std::map<std::string, std::string> hash;
  std::map<std::uint64_t, std::uint64_t> array;
  std::vector<std::string> appended;
};

struct GleanShape {
  std::uint32_t mappers = 1;
  std::uint32_t reducers = 1;
  std::uint64_t bytes = 1u << 20;  // of each
  bool reads_ahead = false;
};

class GleanTest : public ::testing::Test {
 protected:
  // Opens the database, commits `count` random transactions, and closes it.
  void write(std::uint64_t count) {
    Options options = testing::small_options(directory_.path());
    options.log.segment_bytes = 1u << 20;
    options.socs = 2;
    Database db = Database::open(options).value();
    const Masstree tree = db.open_masstree("tree").value();
    const Hash hash = db.open_hash("hash").value();
    const Array array = db.open_array("array", kSlots, 8).value();
    const Sequential list = db.open_sequential("list").value();
    for (std::uint64_t i = 0; i < count; ++i) {
      const Status status = db.transact([&](Txn& txn) -> Status {
        for (int j = 0; j < 4; ++j) FOEDUS_CHECK(change(txn, tree, hash, array, list));
        return {};
      });
      ASSERT_TRUE(status.is_ok()) << status.message();
    }
    ASSERT_TRUE(db.close().is_ok());
  }

  Status change(Txn& txn, const Masstree& tree, const Hash& hash, const Array& array,
                const Sequential& list) {
    const std::string key = random_key();
    const std::string value(random_.below(random_.below(50) == 0 ? 9000 : 200),
                            static_cast<char>('a' + random_.below(26)));
    switch (random_.below(6)) {
      case 0:
      case 1:
        FOEDUS_CHECK(txn.put(tree, key, value));
        model_.tree[key] = value;
        return {};
      case 2:
        FOEDUS_CHECK(txn.put(hash, key, value));
        model_.hash[key] = value;
        return {};
      case 3: {
        const std::uint64_t index = random_.below(kSlots);
        FOEDUS_CHECK(txn.increment(array, index, 0, 5));
        model_.array[index] += 5;
        return {};
      }
      case 4: {
        const bool has = model_.tree.erase(key) != 0;
        if (has) FOEDUS_CHECK(txn.erase(tree, key));
        const bool hashed = model_.hash.erase(key) != 0;
        if (hashed) FOEDUS_CHECK(txn.erase(hash, key));
        return {};
      }
      default:
        FOEDUS_CHECK(txn.append(list, value.substr(0, 3000)));
        model_.appended.push_back(value.substr(0, 3000));
        return {};
    }
  }
  std::string random_key() {
    const std::uint64_t number = random_.below(3000);
    std::string key = std::to_string(number * 7919);
    if (number % 3 == 0) key = "a prefix of many keys " + key;
    return key;
  }

  // Makes the next snapshot, from the closed directory.
  Result<snapshot::Manifest> glean(const GleanShape& shape, GleanReport* report) {
    FOEDUS_TRY(const auto device,
               device::FileDevice::open(directory_.path(), Facility::kTry));
    const auto runtime = base::make_thread_runtime();
    FOEDUS_TRY(const numa::Topology topology, numa::Topology::make(2));
    FOEDUS_TRY(const auto log, log::Log::open(device.get(), runtime.get(), {.loggers = 2}, {}));
    // Opening the database may have moved pages since.
    FOEDUS_TRY(previous_, engine::find_newest_manifest(device.get()));
    const snapshot::Manifest* const previous = previous_.has_value() ? &*previous_ : nullptr;
    FOEDUS_TRY(engine::RecoveredCatalog catalog,
               engine::recover_catalog(*log, previous, runtime.get()));
    engine::GleanOrder order = engine::order_of_found(*log, previous);
    order.device = device.get();
    order.runtime = runtime.get();
    order.topology = &topology;
    order.storages = std::move(catalog.storages);
    order.next_storage_id = page::StorageId{100};
    order.mappers = shape.mappers;
    order.reducers = shape.reducers;
    order.reducer_bytes = shape.bytes;
    order.reads_ahead = shape.reads_ahead;
    FOEDUS_TRY(snapshot::Manifest manifest, engine::make_snapshot(order, report));
    load_pages(device.get(), manifest);
    metas_ = order.storages;
    return manifest;
  }
  void glean_next(const GleanShape& shape) {
    GleanReport report;
    Result<snapshot::Manifest> manifest = glean(shape, &report);
    ASSERT_TRUE(manifest.is_ok()) << manifest.status().message();
    EXPECT_GT(report.pages_written, 0u);
    previous_ = std::move(manifest).value();
  }

  // Loads the pages into memory, for the walks of the composers' tests.
  void load_pages(device::Device* device, const snapshot::Manifest& manifest) {
    pages_ = std::make_unique<MemoryPages>();
    snapshot::SnapshotFiles files(device);
    page::PageBytes block;
    for (const snapshot::ManifestFile& file : manifest.files) {
      MemoryWriter writer(pages_.get(), static_cast<std::uint32_t>(file.snapshot), file.soc);
      for (std::uint32_t i = 1; i <= file.pages; ++i) {
        const Status status =
            files.read(page::SnapshotPageId(file.snapshot, file.soc, i), block.header());
        ASSERT_TRUE(status.is_ok()) << status.message();
        ASSERT_TRUE(writer.append(block.header()).is_ok());
      }
    }
    pages_->finish();
  }
  page::SnapshotPageId root_of(const std::string& name) const {
    for (const snapshot::ManifestStorage& storage : previous_->storages) {
      if (storage.name == name) return storage.root;
    }
    ADD_FAILURE() << name;
    return {};
  }
  const storage_meta::StorageMeta& meta_of(const std::string& name) const {
    for (const storage_meta::StorageMeta& meta : metas_) {
      if (meta.name == name) return meta;
    }
    std::abort();
  }

  // Checks F7: the manifest's counts are those of the pages below the roots.
  void expect_counted() {
    std::map<std::pair<page::SnapshotNumber, std::uint32_t>, std::uint32_t> sums;
    LiveWalk walk([this](page::SnapshotPageId id) { return pages_->at(id); });
    for (const snapshot::ManifestStorage& storage : previous_->storages) {
      ASSERT_EQ(storage.live, walk.count(storage.root)) << storage.name;
      for (const auto& live : storage.live) sums[{live.snapshot, live.soc}] += live.pages;
    }
    ASSERT_EQ(previous_->files.size(), sums.size());
    for (const snapshot::ManifestFile& file : previous_->files) {
      EXPECT_EQ(file.live_pages, (sums[{file.snapshot, file.soc}]));
    }
  }
  void expect_all() {
    expect_counted();
    MasstreeWalk tree(*pages_);
    tree.walk(root_of("tree"));
    for (const auto& [key, value] : model_.tree) ASSERT_EQ(tree.find(root_of("tree"), key), value);
    HashWalk hash(pages_.get(), meta_of("hash"));
    const HashWalk::Seen seen = hash.all(root_of("hash"));
    ASSERT_EQ(seen.records.size(), model_.hash.size());
    for (const auto& [key, value] : model_.hash) ASSERT_EQ(seen.records.at(key).payload, value);
    for (std::uint64_t i = 0; i < 3000; ++i) {
      const std::string key = std::to_string(i * 7919);
      ASSERT_EQ(tree.find(root_of("tree"), key).has_value(), model_.tree.contains(key));
    }
    expect_list();
  }
  void expect_list() {
    using storage::sequential::SequentialRunsPage;
    const auto runs_pages = storage::sequential::runs_pages_of(
        root_of("list"), meta_of("list").id, [this](page::SnapshotPageId id) {
          return Result<const SequentialRunsPage*>(pages_->as<SequentialRunsPage>(id));
        });
    ASSERT_TRUE(runs_pages.is_ok());
    std::vector<std::string> all;
    for (const page::SnapshotPageId id : *runs_pages) {
      const auto* const page = pages_->as<SequentialRunsPage>(id);
      for (std::uint32_t i = 0; i < page->run_count; ++i) {
        for (std::uint32_t j = 0; j < page->runs[i].page_count; ++j) {
          const auto* const records = pages_->as<storage::sequential::SequentialSnapshotPage>(
              page->runs[i].first_page.plus(j));
          for (const auto& record : storage::sequential::records_of(*records)) {
            all.emplace_back(record.payload(), record.payload_bytes);
          }
        }
      }
    }
    ASSERT_EQ(all, model_.appended);
  }

  // Returns all snapshot files and the manifest of number `number`, by name.
  std::map<std::string, std::string> files_of(std::uint32_t number) const {
    std::map<std::string, std::string> files;
    char digits[9];
    std::snprintf(digits, sizeof(digits), "%08u", number);
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      const std::string name = entry.path().filename();
      if (name.find(digits) == std::string::npos || name.starts_with("log-")) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      files[name] = {std::istreambuf_iterator<char>(in), {}};
    }
    return files;
  }

  testing::TestDirectory directory_;
  base::Random random_{testing::test_seed(1)};
  Model model_;
  std::optional<snapshot::Manifest> previous_;
  std::vector<storage_meta::StorageMeta> metas_;
  std::unique_ptr<MemoryPages> pages_;
};

TEST_F(GleanTest, every_snapshot_holds_what_was_committed) {
  for (int i = 0; i < 4; ++i) {
    write(1500);
    glean_next({.mappers = 2});
    expect_all();
    EXPECT_EQ(previous_->files.size(), static_cast<std::size_t>(i + 1));
  }
}

// G42: a glean is repeated with other mappers and memory, so with other blocks and spills.
TEST_F(GleanTest, the_same_log_gives_the_same_files) {
  write(3000);
  glean_next({.mappers = 1, .bytes = 32u << 20});
  const auto files = files_of(1);
  ASSERT_EQ(files.size(), 2u);
  for (const std::uint32_t mappers : {1u, 3u}) {
    for (const auto& [name, bytes] : files) {
      std::filesystem::remove(directory_.path() + "/" + name);
    }
    previous_.reset();
    glean_next({.mappers = mappers, .bytes = 256u << 10});
    EXPECT_EQ(files_of(1), files) << mappers;
    expect_all();
  }
}

// G67: a glean gives the same files whether pages of the earlier snapshot are read ahead or not.
TEST_F(GleanTest, reading_ahead_changes_nothing) {
  write(3000);
  glean_next({});
  write(1000);
  glean_next({});
  const auto number = static_cast<std::uint32_t>(previous_->number);
  const auto files = files_of(number);
  ASSERT_EQ(files.size(), 2u);
  for (const std::uint64_t bytes : {256u << 10, 32u << 20}) {
    for (const auto& [name, content] : files) {
      std::filesystem::remove(directory_.path() + "/" + name);
    }
    glean_next({.bytes = bytes, .reads_ahead = true});
    EXPECT_EQ(files_of(number), files) << bytes;
    expect_all();
  }
}

TEST_F(GleanTest, a_glean_without_new_records_keeps_the_roots) {
  write(500);
  glean_next({});
  const std::vector<snapshot::ManifestStorage> storages = previous_->storages;
  GleanReport report;
  Result<snapshot::Manifest> manifest = glean({}, &report);
  ASSERT_TRUE(manifest.is_ok()) << manifest.status().message();
  EXPECT_EQ(report.pages_written, 0u);
  EXPECT_EQ(manifest->storages, storages);
  EXPECT_EQ(manifest->number, page::SnapshotNumber{2});
}

// Tests of glean_directory().
class DirectoryGleanTest : public GleanTest {
 protected:
  // Gleans and checks all rows. Opening the database may have made snapshots, too.
  void glean_and_expect_all(std::uint32_t snapshots_min) {
    glean_and_expect_all({.socs = 2, .sink = {}});
    EXPECT_GE(static_cast<std::uint32_t>(previous_->number), snapshots_min);
  }
  void glean_and_expect_all(const DirectoryGleanOptions& options) {
    const Result<GleanReport> report = glean_directory(directory_.path(), options);
    ASSERT_TRUE(report.is_ok()) << report.status().message();
    EXPECT_GT(report->records_read, 0u);
    report_ = *report;
    const auto directory = engine::ClosedDirectory::open({directory_.path()}, 0, {}).value();
    previous_ = *directory->newest_manifest();
    EXPECT_EQ(previous_->covered, report->covered);
    EXPECT_EQ(static_cast<std::uint32_t>(previous_->number), report->snapshot);
    metas_ = directory->storages();
    load_pages(directory->device(), *previous_);
    expect_all();
  }
  std::uint64_t snapshot_bytes() const {
    std::uint64_t bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      if (entry.path().filename().string().starts_with("snapshot-")) bytes += entry.file_size();
    }
    return bytes;
  }

  GleanReport report_;
};

// Goal: snapshot files take a bounded multiple of their live pages. Method: many small gleans.
TEST_F(DirectoryGleanTest, superseded_pages_give_their_room_back) {
  DirectoryGleanOptions options{.socs = 2, .sink = {}};
  options.reclaim.total_pages_min = 0;
  options.reclaim.files_max = 12;
  std::uint64_t moved = 0;
  for (int i = 0; i < 40; ++i) {
    write(i == 0 ? 1500 : 30);
    glean_and_expect_all(options);
    ASSERT_FALSE(HasFailure()) << i;
    moved += report_.pages_moved;
    EXPECT_LE(report_.pages_total, 2 * report_.pages_live) << i;
    EXPECT_LE(previous_->files.size(), 12u);
    EXPECT_LT(snapshot_bytes(), 3 * report_.pages_live * page::kPageBytes);
  }
  EXPECT_GT(moved, 0u);
  EXPECT_GT(static_cast<std::uint32_t>(previous_->number), 40u);
}

// Goal: of the snapshots of one epoch the newest is kept; of other epochs as many as the option
// says.
TEST_F(DirectoryGleanTest, keeps_one_snapshot_of_an_epoch) {
  const DirectoryGleanOptions options{.socs = 2, .snapshots_kept = 2, .sink = {}};
  write(200);
  glean_and_expect_all(options);
  const page::SnapshotNumber first = previous_->number;
  ASSERT_TRUE(glean_directory(directory_.path(), options).is_ok());
  const auto device = device::FileDevice::open(directory_.path(), Facility::kTry).value();
  const auto numbers = snapshot::find_manifests(device.get()).value();
  EXPECT_EQ(numbers.back(), page::SnapshotNumber{static_cast<std::uint32_t>(first) + 1});
  EXPECT_EQ(std::count(numbers.begin(), numbers.end(), first), 0);
  previous_ = snapshot::read_manifest(device.get(), numbers.back()).value();
  load_pages(device.get(), *previous_);
  expect_all();
}

TEST_F(DirectoryGleanTest, takes_all_that_is_durable_and_the_snapshot_before) {
  write(800);
  glean_and_expect_all(1);
  write(800);
  glean_and_expect_all(2);
}

// One record of a SOC whose partition is not the last one has nearly all updates, and so nearly all
// samples: partitions after it get no position.
TEST_F(DirectoryGleanTest, the_last_record_of_an_array_may_be_hot) {
  Options options = testing::small_options(directory_.path());
  options.socs = 2;
  {
    Database db = Database::open(options).value();
    const Array array = db.open_array("array", kSlots, 8).value();
    for (std::uint64_t i = 0; i < 2000; ++i) {
      const std::uint64_t index = i % 20 == 0 ? i : kSlots - 1;
      ASSERT_TRUE(db.transact([&](Txn& txn) -> Status {
                      return txn.increment(array, index, 0, 1);
                    }).is_ok());
    }
    ASSERT_TRUE(db.close().is_ok());
  }
  const Result<GleanReport> report =
      glean_directory(directory_.path(), {.socs = 2, .reducers = 2, .sink = {}});
  ASSERT_TRUE(report.is_ok()) << report.status().message();
  Database db = Database::open(options).value();
  const Array array = db.open_array("array", kSlots, 8).value();
  ASSERT_TRUE(db.transact([&](Txn& txn) -> Status {
                  FOEDUS_TRY(const auto sum, txn.get_as<std::uint64_t>(array, kSlots - 1));
                  EXPECT_EQ(sum, 1900u);
                  return {};
                }).is_ok());
}

TEST_F(DirectoryGleanTest, leaves_dropped_storages_out) {
  write(300);
  {
    Database db = Database::open(testing::small_options(directory_.path())).value();
    ASSERT_TRUE(db.open_masstree("dropped").is_ok());
    ASSERT_TRUE(db.drop_storage("dropped").is_ok());
    EXPECT_EQ(glean_directory(directory_.path(), {.sink = {}}).status().code(), ErrorCode::kBusy);
    ASSERT_TRUE(db.close().is_ok());
  }
  glean_and_expect_all(1);
  EXPECT_EQ(previous_->storages.size(), 4u);
  EXPECT_GT(static_cast<std::uint32_t>(previous_->next_storage_id), 5u);
}

// F7: a dropped storage takes its pages along.
TEST_F(DirectoryGleanTest, a_dropped_storage_takes_its_pages_with_it) {
  const auto change = [&](auto&& what) {
    Database db = Database::open(testing::small_options(directory_.path())).value();
    what(&db);
    ASSERT_TRUE(db.close().is_ok());
  };
  write(300);
  change([](Database* db) {
    const Masstree dropped = db->open_masstree("dropped").value();
    for (std::uint32_t i = 0; i < 2000; ++i) {
      ASSERT_TRUE(db->transact([&](Txn& txn) -> Status {
                      return txn.put(dropped, key(i), std::string(i % 100 == 0 ? 20'000 : 40, 'x'));
                    }).is_ok());
    }
  });
  glean_and_expect_all(1);
  const auto live_pages = [this] {
    std::uint64_t sum = 0;
    for (const snapshot::ManifestFile& file : previous_->files) sum += file.live_pages;
    return sum;
  };
  const std::uint64_t before = live_pages();
  std::uint64_t of_dropped = 0;
  for (const snapshot::ManifestStorage& storage : previous_->storages) {
    if (storage.name != "dropped") continue;
    for (const snapshot::LivePages& live : storage.live) of_dropped += live.pages;
  }
  EXPECT_GT(of_dropped, 120u);
  change([](Database* db) { ASSERT_TRUE(db->drop_storage("dropped").is_ok()); });
  write(1);
  glean_and_expect_all(2);
  EXPECT_LT(live_pages(), before - of_dropped + 50);  // and pages that the last transaction touched
}

TEST_F(DirectoryGleanTest, refuses_options_that_cannot_be) {
  write(1);
  for (const DirectoryGleanOptions& options :
       {DirectoryGleanOptions{.snapshots_kept = 0, .sink = {}},
        DirectoryGleanOptions{.reducer_bytes = 131'071, .sink = {}},
        DirectoryGleanOptions{.reclaim = {.total_percent_goal = 100}, .sink = {}},
        DirectoryGleanOptions{.reclaim = {.total_percent_goal = 201}, .sink = {}},
        DirectoryGleanOptions{.reclaim = {.files_max = 1}, .sink = {}}}) {
    EXPECT_EQ(glean_directory(directory_.path(), options).status().code(),
              ErrorCode::kInvalidArgument);
  }
}

TEST_F(DirectoryGleanTest, refuses_a_directory_without_a_log) {
  EXPECT_EQ(glean_directory(directory_.path(), {.sink = {}}).status().code(),
            ErrorCode::kNotFound);
}

}  // namespace
}  // namespace foedus::gleaner::glean_test
