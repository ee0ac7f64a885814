// Bytes that change under an open database. Goal: a read of them names the damaged file, or has the
// right result; all other rows are served, and the database can be closed. Method: a database of
// cold snapshot pages, of pages that were read before, and of a log of several segments after the
// snapshot. A bit of a file flips; then snapshots and the newest state are read, rows are written,
// and the database is gleaned, read again, verified and closed.
// ctest-labels: crash
// ctest-timeout: 300
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/log/segments/format.h"
#include "foedus-core/snapshot/files/manifest.h"
#include "tests/hostile/isolated_run.h"
#include "tests/hostile/small_database.h"
#include "tools/foedus/verify/snapshot.h"

namespace foedus::hostile::damage_while_open_test {
namespace {

using testing::FailingDevice;
using testing::must;

struct Damage {
  std::string file;
  std::uint64_t offset;
  unsigned bit;
  bool is_warm;       // all rows were read before
  bool gleans_first;  // the damaged file is gleaned before it is read

  std::string in_words() const {
    return "\"" + file + " " + std::to_string(offset) + " " + std::to_string(bit) + " " +
           std::to_string(is_warm) + " " + std::to_string(gleans_first) + "\"";
  }
};

template <typename Map>
bool is_part(const Map& part, const Map& of) {
  return std::all_of(part.begin(), part.end(), [&of](const auto& row) {
    const auto at = of.find(row.first);
    return at != of.end() && at->second == row.second;
  });
}

class DamageWhileOpenTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    device_ = std::make_unique<FailingDevice>();
    SmallDatabase database(device_.get());
    must(database.open());
    must(database.write(0, 150, &gleaned_));
    must(database.glean());
    must(database.write(140, 60, &gleaned_));
    must(database.glean());
    must(database.close());
  }
  static void TearDownTestSuite() { device_.reset(); }

  // Opens a database, most pages of which are on the device alone, with two segments.
  static Status begin(SmallDatabase* database, FailingDevice* device, Contents* contents) {
    FOEDUS_CHECK(database->open());
    *contents = gleaned_;
    const auto segments = [&] {
      const std::vector<std::string> names = device->names();
      return std::count_if(names.begin(), names.end(), [](const std::string& name) {
        return log::parse_segment_name(name).has_value();
      });
    };
    const auto before = segments();
    while (segments() == before) FOEDUS_CHECK(database->write(190, 120, contents));
    return {};
  }

  // Returns whether the error is one of damage, with the name of the damaged file.
  static bool is_named(const Status& status) {
    return status.code() == ErrorCode::kCorruption &&
           (status.message().find("/failing/") != std::string::npos ||
            status.message().find("snapshot page") != std::string::npos);
  }

  // Returns a complaint about the rows that were found, or an empty string. Damage of a page
  // concerns one storage; that of the first block of a snapshot file all storages in it.
  static std::string judge(const Status& status, const Contents& found, const Contents& expected) {
    if (status.is_ok()) return found == expected ? "" : "other rows\n";
    if (!is_named(status)) return status.message() + "\n";
    if (!is_part(found.tree, expected.tree) || !is_part(found.hash, expected.hash) ||
        !is_part(found.array, expected.array)) {
      return "rows that never were\n";
    }
    const int whole = (found.tree == expected.tree ? 1 : 0) +
                      (found.hash == expected.hash ? 1 : 0) +
                      (found.array == expected.array ? 1 : 0) +
                      (found.list == expected.list ? 1 : 0);
    const bool is_of_all = status.message().find(", page 0: ") != std::string::npos;
    return whole >= 3 || is_of_all ? "" : "several storages cannot be read\n";
  }

  static std::string use(const Damage& damage) {
    const auto device = device_->copy();
    SmallDatabase database(device.get());
    Contents contents;
    must(begin(&database, device.get(), &contents));
    Contents ignored;
    if (damage.is_warm) {
      must(database.read(Isolation::kSnapshot, false, gleaned_, &ignored));
    }
    device->flip_bit(damage.file, damage.offset, damage.bit);

    std::string wrong;
    bool is_refused = false;
    const auto note = [&](const char* what, const Status& status) {
      if (status.is_ok()) return true;
      if (std::getenv("FOEDUS_CASE") != nullptr) {
        std::printf("%s: %s\n", what, status.message().c_str());
      }
      is_refused = true;
      if (!is_named(status)) wrong += std::string(what) + ": " + status.message() + "\n";
      return false;
    };
    bool is_newest_gleaned = false;
    if (damage.gleans_first) is_newest_gleaned = note("glean", database.glean());
    const auto read = [&](const char* what, Isolation isolation, const Contents& expected) {
      Contents found;
      const Status status = database.read(isolation, false, expected, &found);
      note(what, status);
      const std::string judged = judge(status, found, expected);
      if (!judged.empty()) wrong += std::string(what) + ": " + judged;
    };
    read("snapshot", Isolation::kSnapshot, is_newest_gleaned ? contents : gleaned_);
    read("serializable", Isolation::kSerializable, contents);
    note("write", database.write(500, 10, &contents));
    note("glean later", database.glean());
    read("serializable again", Isolation::kSerializable, contents);
    note("close", database.close());
    return wrong + verify(device.get(), damage, is_refused);
  }

  // Checks that `verify` finds the damage if a read was refused because of a snapshot file.
  static std::string verify(FailingDevice* device, const Damage& damage, bool is_refused) {
    const auto manifest = snapshot::read_newest_manifest(device);
    if (!manifest.is_ok()) {
      return is_named(manifest.status()) ? "" : "manifest: " + manifest.status().message() + "\n";
    }
    cli::Findings findings;
    cli::verify_snapshot(device, *manifest, &findings, {});
    const bool is_found = std::any_of(
        findings.kept().begin(), findings.kept().end(),
        [&damage](const cli::Finding& finding) { return finding.file == damage.file; });
    const bool is_in_use = std::any_of(
        manifest->files.begin(), manifest->files.end(), [&](const snapshot::ManifestFile& file) {
          return snapshot::snapshot_name(file.snapshot, file.soc) == damage.file;
        });
    if (is_in_use && is_refused && !is_found) return "verify finds nothing\n";
    return findings.problems() == 0 || is_found ? "" : "verify finds something else\n";
  }

  inline static std::unique_ptr<FailingDevice> device_;
  inline static Contents gleaned_;
};

// FOEDUS_CASE="snapshot-00000001-0 4200 3 0 1" runs one case of the next test, in this process.
TEST_F(DamageWhileOpenTest, a_case_that_is_asked_for_ends) {
  const char* const text = std::getenv("FOEDUS_CASE");
  if (text == nullptr) GTEST_SKIP() << "none is asked for";
  std::istringstream words(text);
  Damage damage{};
  words >> damage.file >> damage.offset >> damage.bit >> damage.is_warm >> damage.gleans_first;
  EXPECT_EQ(use(damage), "");
}

TEST_F(DamageWhileOpenTest, is_refused_by_name_and_what_is_sound_is_served) {
  const std::uint64_t stride = stride_or(19'997);
  std::vector<std::pair<std::string, std::uint64_t>> files;
  {
    const auto device = device_->copy();
    SmallDatabase database(device.get());
    Contents contents;
    must(begin(&database, device.get(), &contents));
    for (const std::string& name : device->names()) {
      const std::vector<char> bytes = device->bytes_of(name);
      std::uint64_t end = bytes.size();
      while (end > 0 && bytes[end - 1] == 0) --end;
      files.emplace_back(name, std::min<std::uint64_t>(bytes.size(), end + 4096));
    }
    must(database.close());
  }
  base::Random random(7);
  std::uint64_t cases = 0;
  std::uint64_t turn = 0;
  int failures = 0;
  for (const auto& [file, bytes] : files) {
    // A segment is as long as all other files together, so a part of its bytes is enough.
    const std::uint64_t step = log::parse_segment_name(file).has_value() ? 13 : 1;
    for (std::uint64_t offset = 0; offset < bytes; offset += step) {
      for (const unsigned way : {0u, 1u, 2u, 3u}) {
        if (++turn % stride != 0) continue;
        ++cases;
        const Damage damage{file, offset, static_cast<unsigned>(random.below(8)), way % 2 != 0,
                            way / 2 != 0};
        const std::string wrong = run_isolated([&] { return use(damage); });
        if (wrong.empty()) continue;
        ADD_FAILURE() << damage.in_words() << ": " << wrong;
        if (++failures == 40) return;
      }
    }
  }
  std::printf("%lu of %lu cases\n", cases, turn);
}

}  // namespace
}  // namespace foedus::hostile::damage_while_open_test
