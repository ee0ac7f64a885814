#include "tools/foedus/log_survey.h"

#include <string>
#include <utility>

namespace foedus::cli {

namespace {

void take_storages(const snapshot::Manifest& manifest, LogSurvey* survey) {
  for (const snapshot::ManifestStorage& one : manifest.storages) {
    survey->storages[one.id] = {one.id,      one.kind,          one.name,
                                one.records, one.payload_bytes, one.fan_out_bits};
    survey->names[one.id] = one.name;
  }
}

// The pass over all segments. Ids are never used again, so the order of creations and drops does
// not matter.
struct Pass {
  const ClosedDatabase& database;
  const Epoch covered;
  LogSurvey* survey;
  std::vector<page::StorageId> dropped;

  Status visit(const log::FoundSegment& segment, LogCounts* counts);
  Status take(const log::LogRecord& record);
};

Status Pass::visit(const log::FoundSegment& segment, LogCounts* counts) {
  FOEDUS_TRY(const auto records, database.records(segment));
  for (;;) {
    std::uint32_t session = 0;
    FOEDUS_TRY(const log::LogRecord* const record, records->next(&session));
    if (record == nullptr) return {};
    counts->records += 1;
    counts->bytes += record->record_bytes;
    FOEDUS_CHECK(take(*record));
  }
}

Status Pass::take(const log::LogRecord& record) {
  if (page::Tid(record.tid).epoch() > covered) {
    survey->tail.records += 1;
    survey->tail.bytes += record.record_bytes;
  }
  if (record.type == log::LogRecordType::kCreateStorage) {
    FOEDUS_TRY(auto meta, storage_meta::parse(record.storage_id, record.key(), record.payload()));
    survey->names[meta.id] = meta.name;
    survey->storages[meta.id] = std::move(meta);
  } else if (record.type == log::LogRecordType::kDropStorage) {
    survey->names[record.storage_id] = record.key();
    dropped.push_back(record.storage_id);
  }
  return {};
}

}  // namespace

Result<LogSurvey> survey_log(const ClosedDatabase& database, const snapshot::Manifest* newest) {
  LogSurvey survey;
  FOEDUS_TRY(survey.found, database.log());
  if (newest != nullptr) take_storages(*newest, &survey);
  Pass pass{database, newest == nullptr ? Epoch() : newest->covered, &survey, {}};
  for (const log::FoundSegment& segment : survey.found.segments) {
    LogCounts& counts = survey.segments.emplace_back();
    const Status status = pass.visit(segment, &counts);
    if (!status.is_ok()) survey.findings.problem(segment.name(), status.message());
    survey.all.records += counts.records;
    survey.all.bytes += counts.bytes;
  }
  for (const page::StorageId id : pass.dropped) survey.storages.erase(id);
  return survey;
}

}  // namespace foedus::cli
