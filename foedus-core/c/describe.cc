// Facts about a database as JSON, gleans and backups, of foedus_c.h.
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "foedus-core/base/json.h"
#include "foedus-core/c/handles.h"
#include "foedus-core/named_options/named_options.h"
#include "foedus-core/stats/fields.h"

namespace foedus::c {

namespace {

// Stores a copy of `made`, of malloc(), ended by a zero byte.
Status copy_text(const std::string& made, char** text) {
  *text = static_cast<char*>(std::malloc(made.size() + 1));
  if (*text == nullptr) return ErrorCode::kOutOfMemory;
  std::memcpy(*text, made.c_str(), made.size() + 1);
  return {};
}

// Returns the JSON document that `write` writes.
template <typename Write>
std::string json_of(Write&& write) {
  std::ostringstream out;
  base::Json json(&out);
  write(&json);
  return std::move(out).str();
}

// Stores the text that `make` makes of a database.
template <typename Make>
int give(const foedus_db* db, char** text, foedus_error* error, Make&& make) noexcept {
  if (text == nullptr) return report_invalid("the place for the text is NULL", error);
  *text = nullptr;
  if (!is_valid(db)) return report_no_handle("db", error);
  return reporting(error, [&] { return copy_text(make(*db->database), text); });
}

// Stores what `write` writes about a database as JSON.
template <typename Write>
int describe(const foedus_db* db, char** text, foedus_error* error, Write&& write) noexcept {
  return give(db, text, error, [&](const Database& database) {
    return json_of([&](base::Json* json) { write(database, json); });
  });
}

void put_storage(const StorageInfo& storage, base::Json* json) {
  json->begin_object();
  json->number("id", storage.id);
  json->text("kind", to_string(storage.kind));
  json->text("name", storage.name);
  if (storage.kind == StorageKind::kArray) {
    json->number("records", storage.records);
    json->number("payload_bytes", storage.payload_bytes);
  }
  json->end_object();
}

void put_snapshot(const SnapshotInfo& snapshot, base::Json* json) {
  json->begin_object();
  json->number("number", snapshot.number);
  json->number("covered", snapshot.covered.number());
  json->number("pages", snapshot.pages);
  json->number("live_pages", snapshot.live_pages);
  json->end_object();
}

void put_conflicts(const std::uint64_t (&conflicts)[kConflictReasonCount], base::Json* json) {
  json->begin_object("conflicts");
  for (std::size_t i = 1; i < kConflictReasonCount; ++i) {
    const auto reason = static_cast<ConflictReason>(i);
    if (is_used(reason)) json->number(to_string(reason), conflicts[i]);
  }
  json->end_object();
}

void put_nvm(std::string_view name, const NvmStats& nvm, base::Json* json) {
  json->begin_object(name);
  json->number("reads", nvm.reads);
  json->number("bytes_read", nvm.bytes_read);
  json->number("lines_read", nvm.lines_read);
  json->number("pages_read", nvm.pages_read);
  json->number("writes", nvm.writes);
  json->number("bytes_written", nvm.bytes_written);
  json->number("lines_written", nvm.lines_written);
  json->number("pages_written", nvm.pages_written);
  json->end_object();
}

#define FOEDUS_PUT(member) json->number(#member, of.member)

void put_tiers(const TierStats& of, base::Json* json) {
  json->begin_object("tiers");
  FOEDUS_PUT(nvm_bytes);
  FOEDUS_PUT(ssd_bytes);
  FOEDUS_PUT(moved_bytes);
  FOEDUS_PUT(cached_bytes);
  FOEDUS_PUT(cached_reads);
  json->end_object();
}

void put_soc(const SocStats& of, base::Json* json) {
  json->begin_object();
  FOEDUS_PUT(sessions);
  FOEDUS_PUT(pages_taken_local);
  FOEDUS_PUT(pages_taken_remote);
  FOEDUS_PUT(pages_touched_local);
  FOEDUS_PUT(pages_touched_remote);
  json->end_object();
}

void put_histogram(std::string_view name, const Histogram& of, base::Json* json) {
  json->begin_object(name);
  FOEDUS_PUT(count);
  FOEDUS_PUT(sum);
  for (const stats::Quantile& quantile : stats::kQuantiles) {
    json->number(quantile.name, of.quantile(quantile.part));
  }
  json->end_object();
}

void put_stats(const Stats& of, base::Json* json) {
  json->begin_object();
  for (const stats::Field<Stats>& field : stats::kFields) {
    json->number(field.name, of.*field.member);
  }
  for (const stats::HistogramField& field : stats::kHistograms) {
    put_histogram(field.name, of.*field.member, json);
  }
  put_conflicts(of.conflicts, json);
  json->number("snapshot", of.snapshot);
  json->number("covered_epoch", of.covered_epoch.number());
  json->number("current_epoch", of.current_epoch.number());
  json->number("durable_epoch", of.durable_epoch.number());
  put_nvm("nvm", of.nvm, json);
  put_nvm("ssd", of.ssd, json);
  put_tiers(of.tiers, json);
  json->begin_array("storages");
  for (const StorageStats& storage : of.storages) {
    json->begin_object();
    json->text("name", storage.name);
    json->number("volatile_pages", storage.volatile_pages);
    put_conflicts(storage.conflicts, json);
    json->end_object();
  }
  json->end_array();
  json->begin_array("socs");
  for (const SocStats& soc : of.socs) put_soc(soc, json);
  json->end_array();
  json->end_object();
}

void put_report(const GleanReport& of, base::Json* json) {
  json->begin_object();
  FOEDUS_PUT(snapshot);
  json->number("covered", of.covered.number());
  FOEDUS_PUT(records_read);
  FOEDUS_PUT(records_composed);
  FOEDUS_PUT(runs_spilled);
  FOEDUS_PUT(pages_written);
  FOEDUS_PUT(pages_moved);
  FOEDUS_PUT(pages_live);
  FOEDUS_PUT(pages_total);
  FOEDUS_PUT(pages_dropped);
  FOEDUS_PUT(pages_kept);
  FOEDUS_PUT(pages_spared);
  FOEDUS_PUT(catalog_us);
  FOEDUS_PUT(map_reduce_us);
  FOEDUS_PUT(compose_us);
  FOEDUS_PUT(install_us);
  FOEDUS_PUT(reclaim_us);
  FOEDUS_PUT(total_us);
  FOEDUS_PUT(map_cpu_us);
  FOEDUS_PUT(sort_cpu_us);
  FOEDUS_PUT(reduce_cpu_us);
  FOEDUS_PUT(compose_cpu_us);
  FOEDUS_PUT(total_cpu_us);
  json->end_object();
}

void put_backup(const BackupReport& of, base::Json* json) {
  json->begin_object();
  json->number("covered", of.covered.number());
  FOEDUS_PUT(snapshot);
  FOEDUS_PUT(files);
  FOEDUS_PUT(bytes);
  FOEDUS_PUT(files_copied);
  FOEDUS_PUT(bytes_copied);
  FOEDUS_PUT(files_linked);
  FOEDUS_PUT(files_kept);
  FOEDUS_PUT(snapshot_us);
  FOEDUS_PUT(total_us);
  json->end_object();
}

#undef FOEDUS_PUT

}  // namespace

}  // namespace foedus::c

using namespace foedus;     // NOLINT: the functions below are in no namespace
using namespace foedus::c;  // NOLINT: as above

int foedus_storages(const foedus_db* db, char** json, foedus_error* error) {
  return describe(db, json, error, [](const Database& database, base::Json* out) {
    out->begin_array();
    for (const StorageInfo& storage : database.storages()) put_storage(storage, out);
    out->end_array();
  });
}

int foedus_snapshots(const foedus_db* db, char** json, foedus_error* error) {
  return describe(db, json, error, [](const Database& database, base::Json* out) {
    out->begin_array();
    for (const SnapshotInfo& snapshot : database.snapshots()) put_snapshot(snapshot, out);
    out->end_array();
  });
}

int foedus_stats(const foedus_db* db, char** json, foedus_error* error) {
  return describe(db, json, error, [](const Database& database, base::Json* out) {
    put_stats(database.stats(), out);
  });
}

int foedus_prometheus(const foedus_db* db, char** text, foedus_error* error) {
  return give(db, text, error,
              [](const Database& database) { return to_prometheus(database.stats()); });
}

int foedus_effective_options(const foedus_db* db, char** json, foedus_error* error) {
  return describe(db, json, error, [](const Database& database, base::Json* out) {
    const EffectiveOptions effective = database.effective_options();
    out->begin_object();
    out->begin_object("options");
    named_options::put_options(effective.options, out);
    out->end_object();
    out->number("loggers", effective.loggers);
    out->boolean("huge_pages", effective.huge_pages);
    out->boolean("numa_binding", effective.numa_binding);
    out->boolean("direct_io", effective.direct_io);
    out->end_object();
  });
}

int foedus_glean(foedus_db* db, foedus_progress progress, void* argument, char** report,
                 foedus_error* error) {
  if (report != nullptr) *report = nullptr;
  if (!is_valid(db)) return report_no_handle("db", error);
  GleanReport made;
  const int code = reporting(error, [&]() -> Status {
    GleanProgressSink sink;
    if (progress != nullptr) {
      sink = [progress, argument](const GleanProgress& now) {
        progress(argument, static_cast<int>(now.stage), now.done, now.total);
      };
    }
    FOEDUS_TRY(made, db->database->glean(sink));
    return {};
  });
  if (code != FOEDUS_OK || report == nullptr) return code;
  return reporting(error, [&] {
    return copy_text(json_of([&](base::Json* out) { put_report(made, out); }), report);
  });
}

int foedus_backup(foedus_db* db, const char* to, unsigned flags, std::uint64_t timeout_us,
                  char** report, foedus_error* error) {
  constexpr unsigned kHow = FOEDUS_BACKUP_LINK | FOEDUS_BACKUP_COPY;
  constexpr unsigned kAll = kHow | FOEDUS_BACKUP_NEWEST | FOEDUS_BACKUP_COMPARE_ALL;
  if (report != nullptr) *report = nullptr;
  if (!is_valid(db)) return report_no_handle("db", error);
  if (to == nullptr) return report_invalid("the directory is NULL", error);
  if ((flags & ~kAll) != 0 || (flags & kHow) == kHow) {
    return report_invalid("the flags of the backup are not known, or do not go together", error);
  }
  BackupOptions options;
  if ((flags & FOEDUS_BACKUP_LINK) != 0) options.files = BackupFiles::kLink;
  if ((flags & FOEDUS_BACKUP_COPY) != 0) options.files = BackupFiles::kCopy;
  options.newest_existing = (flags & FOEDUS_BACKUP_NEWEST) != 0;
  options.compare_all = (flags & FOEDUS_BACKUP_COMPARE_ALL) != 0;
  options.timeout_us = timeout_us;
  BackupReport made;
  const int code = reporting(error, [&]() -> Status {
    FOEDUS_TRY(made, db->database->backup(to, options));
    return {};
  });
  if (code != FOEDUS_OK || report == nullptr) return code;
  return reporting(error, [&] {
    return copy_text(json_of([&](base::Json* out) { put_backup(made, out); }), report);
  });
}
