// The code of docs/pages/operations.md, options.md and hardware.md.

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "docs/code/pieces.h"

namespace docs {

namespace {

foedus::Result<foedus::Database> open_tuned(const std::string& dir) {
  foedus::Options options;
  options.dir = dir;
  options.memory_bytes = 256u << 20;
  options.durability = foedus::Durability::kSync;
  options.glean.log_bytes = 32u << 20;
  options.log_sink = [](foedus::LogLevel level, std::string_view line) {
    if (level != foedus::LogLevel::kInfo) {
      std::fprintf(stderr, "foedus: %.*s\n", static_cast<int>(line.size()), line.data());
    }
  };
  return foedus::Database::open(options);
}

foedus::Status read_at_once(const std::string& dir) {
  FOEDUS_TRY(auto db, foedus::Database::open(
                          {.dir = dir, .open_until = foedus::OpenUntil::kSnapshotReadable}));
  // Reports run on the newest snapshot while recovery goes on; writers wait for its end.
  FOEDUS_TRY(auto users, db.open_masstree("users"));
  FOEDUS_TRY(const int age,
             db.snapshot([&](foedus::Txn& txn) { return txn.get_as<int>(users, "ada"); },
                         {.newest_existing = true}));
  FOEDUS_CHECK(expect(age == 36, "a read before the end of recovery"));
  FOEDUS_CHECK(db.wait_recovered());
  return db.close();
}

}  // namespace

foedus::Status operations(const std::string& dir) {
  const std::string backup_dir = dir + "_backup";
  FOEDUS_TRY(auto db, open_tuned(dir));
  const foedus::EffectiveOptions in_force = db.effective_options();
  FOEDUS_CHECK(expect(in_force.options.memory_bytes == 256u << 20, "the memory in force"));
  FOEDUS_CHECK(expect(in_force.options.glean.log_bytes_max != 0, "a default that was filled in"));
  FOEDUS_TRY(auto users, db.open_masstree("users"));
  FOEDUS_CHECK(db.transact([&](foedus::Txn& txn) { return txn.put(users, "ada", 36); }));

  FOEDUS_TRY(const auto report, db.backup(backup_dir, {.files = foedus::BackupFiles::kCopy}));
  std::printf("copied %llu files, commits up to epoch %llu\n",
              static_cast<unsigned long long>(report.files_copied),
              static_cast<unsigned long long>(report.covered.number()));

  const std::string text = foedus::to_prometheus(db.stats());  // for GET /metrics
  std::fputs(text.c_str(), stdout);

  FOEDUS_CHECK(expect(report.files_copied > 0, "a backup of copies"));
  FOEDUS_CHECK(expect(text.find("foedus_commits_total 1\n") != std::string::npos, "a metric"));
  FOEDUS_CHECK(expect(db.reserve_memory(4u << 20) > 0, "memory that is backed"));
  FOEDUS_CHECK(db.close());
  FOEDUS_CHECK(read_at_once(dir));
  return read_at_once(backup_dir);
}

}  // namespace docs
