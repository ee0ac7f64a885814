#pragma once
// Salvage: writes a dump of what can be read of a closed database, and says what cannot.

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "foedus-core/snapshot/files/manifest.h"
#include "foedus-core/storage_meta/storage_meta.h"
#include "foedus/epoch.h"
#include "foedus/status.h"
#include "tools/foedus/closed_database.h"
#include "tools/foedus/dump/dump_item.h"
#include "tools/foedus/salvage/log_tail.h"
#include "tools/foedus/salvage/losses.h"
#include "tools/foedus/verify/page_walk.h"

namespace foedus::cli {

struct SalvageOptions {
  std::vector<std::string> storages;  // names; empty: all
  bool is_newest = false;             // also what checks out after the whole epoch
};

struct SalvagedStorage {
  storage_meta::StorageMeta meta;
  std::uint64_t rows = 0;
};

class Salvage {
 public:
  // Finds the snapshot, the log after it and the storages. kNotFound: a storage that was asked for.
  // kCorruption: nothing can be read. kWrongVersion, kIoError. REQUIRES: database and losses
  // outlive this.
  static Result<Salvage> plan(const ClosedDatabase& database, const SalvageOptions& options,
                              Losses* losses);

  // Writes the dump. Failures of `out` are the caller's to look at.
  void write(DumpFormat format, const Progress& progress, std::ostream* out);

  const std::optional<snapshot::Manifest>& manifest() const { return manifest_; }
  // The dump has the state at the end of this epoch, but for the losses.
  Epoch whole() const { return tail_.whole; }
  // Returns the log records after that epoch: forgotten, or applied if `is_newest`.
  std::uint64_t later_records() const { return later_records_; }
  const std::vector<SalvagedStorage>& storages() const { return storages_; }
  std::uint64_t rows() const;

 private:
  Salvage(const ClosedDatabase& database, Losses* losses) : database_(&database), losses_(losses) {}
  Status choose_manifest();
  bool has_files(const snapshot::Manifest& manifest) const;
  Status find_storages();
  Status select(const std::vector<std::string>& names);

  const ClosedDatabase* database_;
  Losses* losses_;
  std::optional<snapshot::Manifest> manifest_;
  LogTail tail_;
  std::uint64_t later_records_ = 0;
  std::vector<SalvagedStorage> storages_;  // by name
};

}  // namespace foedus::cli
