// The command log: prints the records of the log in the order of their segments, or their number.
#include <algorithm>
#include <charconv>
#include <map>
#include <ostream>
#include <utility>

#include "foedus-core/log/ring/record.h"
#include "foedus-core/page/tid.h"
#include "foedus-core/snapshot/files/manifest.h"
#include "tools/foedus/closed_database.h"
#include "tools/foedus/commands.h"
#include "tools/foedus/describe.h"
#include "tools/foedus/log_survey.h"
#include "tools/foedus/preview.h"

namespace foedus::cli {

namespace {

constexpr std::size_t kKeyBytesShown = 32;

std::string name_of(log::LogRecordType type) {
  switch (type) {
    case log::LogRecordType::kPut:
      return "put";
    case log::LogRecordType::kErase:
      return "erase";
    case log::LogRecordType::kWriteAt:
      return "write_at";
    case log::LogRecordType::kIncrement:
      return "increment";
    case log::LogRecordType::kAppend:
      return "append";
    case log::LogRecordType::kCreateStorage:
      return "create";
    case log::LogRecordType::kDropStorage:
      return "drop";
  }
  return "type " + std::to_string(static_cast<unsigned>(type));
}

struct TypeCounts {
  LogCounts counts;
  std::uint64_t oldest_epoch = ~std::uint64_t{0};
  std::uint64_t newest_epoch = 0;
};

// Counts by storage, then type.
using Summary = std::map<std::pair<page::StorageId, log::LogRecordType>, TypeCounts>;

class LogLines {
 public:
  LogLines(const Command& command, const LogSurvey& survey, std::ostream* out)
      : command_(command), survey_(survey), out_(*out), json_(out) {}

  // Finds the storage that the command names. kNotFound: there is no such storage.
  Status find_storage();
  void begin();
  // Prints the records of a segment up to the first that cannot be read.
  Status visit(const ClosedDatabase& database, const log::FoundSegment& segment);
  void end(const Findings& findings);

 private:
  bool is_wanted(const log::LogRecord& record) const;
  void take(const std::string& segment, std::uint32_t session, const log::LogRecord& record);
  void write_line(const std::string& segment, std::uint32_t session, const log::LogRecord& record);
  void write_object(const std::string& segment, std::uint32_t session,
                    const log::LogRecord& record);
  void write_summary();
  std::string name_of_storage(page::StorageId id) const;
  std::string key_of(const log::LogRecord& record) const;
  bool is_array(page::StorageId id) const;

  const Command& command_;
  const LogSurvey& survey_;
  std::ostream& out_;
  base::Json json_;
  std::optional<page::StorageId> storage_;
  std::uint64_t taken_ = 0;
  Summary summary_;
};

Status LogLines::find_storage() {
  if (command_.storage.empty()) return {};
  for (const auto& [id, name] : survey_.names) {
    if (name == command_.storage) storage_ = id;  // the newest of that name
  }
  if (storage_.has_value()) return {};
  const char* const end = command_.storage.data() + command_.storage.size();
  std::uint32_t number = 0;
  const auto parsed = std::from_chars(command_.storage.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end) {
    return Status::error(ErrorCode::kNotFound, "no storage \"" + preview(command_.storage) +
                                                   "\" in " + command_.directories.dir);
  }
  storage_ = page::StorageId{number};
  return {};
}

bool LogLines::is_wanted(const log::LogRecord& record) const {
  const std::uint64_t epoch = page::Tid(record.tid).epoch().number();
  return command_.from_epoch <= epoch && epoch <= command_.to_epoch &&
         (!storage_.has_value() || record.storage_id == *storage_);
}

std::string LogLines::name_of_storage(page::StorageId id) const {
  const auto found = survey_.names.find(id);
  return found == survey_.names.end() ? std::string() : found->second;
}

bool LogLines::is_array(page::StorageId id) const {
  const auto found = survey_.storages.find(id);
  return found != survey_.storages.end() && found->second.kind == StorageKind::kArray;
}

// Returns the key in printable form; that of an array is its index.
std::string LogLines::key_of(const log::LogRecord& record) const {
  const bool is_index = is_array(record.storage_id) && record.key_bytes == sizeof(std::uint64_t) &&
                        record.type != log::LogRecordType::kCreateStorage &&
                        record.type != log::LogRecordType::kDropStorage;
  if (is_index) return "[" + std::to_string(record.index()) + "]";
  return "\"" + preview(record.key(), kKeyBytesShown) + "\"";
}

void LogLines::write_line(const std::string& segment, std::uint32_t session,
                          const log::LogRecord& record) {
  const page::Tid tid(record.tid);
  out_ << segment << " epoch " << tid.epoch().number() << " ordinal " << tid.ordinal()
       << " session " << session << ' ' << name_of(record.type) << " storage "
       << static_cast<std::uint32_t>(record.storage_id);
  const std::string name = name_of_storage(record.storage_id);
  if (!name.empty()) out_ << " (" << preview(name) << ')';
  if (record.key_bytes != 0) {
    out_ << " key " << key_of(record) << ' ' << count_of(record.key_bytes, "byte");
  }
  if (record.payload_bytes() != 0) {
    out_ << " payload " << count_of(record.payload_bytes(), "byte");
    if (record.payload_offset != 0) out_ << " at " << record.payload_offset;
  }
  out_ << '\n';
}

void LogLines::write_object(const std::string& segment, std::uint32_t session,
                            const log::LogRecord& record) {
  const page::Tid tid(record.tid);
  json_.begin_object();
  json_.text("segment", segment);
  json_.number("epoch", tid.epoch().number());
  json_.number("ordinal", tid.ordinal());
  json_.number("session", session);
  json_.text("type", name_of(record.type));
  json_.number("storage", static_cast<std::uint32_t>(record.storage_id));
  json_.text("storage_name", name_of_storage(record.storage_id));
  json_.text("key", key_of(record));
  json_.number("key_bytes", record.key_bytes);
  json_.number("payload_bytes", record.payload_bytes());
  json_.number("payload_offset", record.payload_offset);
  json_.number("bytes", record.record_bytes);
  json_.end_object();
}

void LogLines::take(const std::string& segment, std::uint32_t session,
                    const log::LogRecord& record) {
  taken_ += 1;
  if (command_.is_summary) {
    TypeCounts& one = summary_[{record.storage_id, record.type}];
    const std::uint64_t epoch = page::Tid(record.tid).epoch().number();
    one.counts.records += 1;
    one.counts.bytes += record.record_bytes;
    one.oldest_epoch = std::min(one.oldest_epoch, epoch);
    one.newest_epoch = std::max(one.newest_epoch, epoch);
  } else if (command_.is_json) {
    write_object(segment, session, record);
  } else {
    write_line(segment, session, record);
  }
}

Status LogLines::visit(const ClosedDatabase& database, const log::FoundSegment& segment) {
  const std::string name = segment.name();
  FOEDUS_TRY(const auto records, database.records(segment));
  while (taken_ < command_.limit) {
    std::uint32_t session = 0;
    FOEDUS_TRY(const log::LogRecord* const record, records->next(&session));
    if (record == nullptr) break;
    if (is_wanted(*record)) take(name, session, *record);
  }
  return {};
}

void LogLines::write_summary() {
  for (const auto& [what, one] : summary_) {
    const auto& [id, type] = what;
    const std::string name = name_of_storage(id);
    if (command_.is_json) {
      json_.begin_object();
      json_.number("storage", static_cast<std::uint32_t>(id));
      json_.text("storage_name", name);
      json_.text("type", name_of(type));
      json_.number("records", one.counts.records);
      json_.number("bytes", one.counts.bytes);
      json_.number("oldest_epoch", one.oldest_epoch);
      json_.number("newest_epoch", one.newest_epoch);
      json_.end_object();
    } else {
      out_ << "storage " << static_cast<std::uint32_t>(id) << " (" << preview(name) << ") "
           << name_of(type) << ": " << count_of(one.counts.records, "record") << ", "
           << size_of(one.counts.bytes) << ", epochs " << one.oldest_epoch << " to "
           << one.newest_epoch << '\n';
    }
  }
}

void LogLines::begin() {
  if (!command_.is_json) return;
  json_.begin_object();
  json_.text("directory", command_.directories.dir);
  json_.number("durable_epoch", survey_.found.cut.number());
  json_.begin_array(command_.is_summary ? "summary" : "records");
}

void LogLines::end(const Findings& findings) {
  if (command_.is_summary) write_summary();
  if (command_.is_json) {
    json_.end_array();
    put(&json_, findings);
    json_.end_object();
  } else {
    findings.print(&out_);
  }
}

}  // namespace

Result<ExitStatus> run_log(const Command& command, std::ostream* out) {
  FOEDUS_TRY(const ClosedDatabase database, ClosedDatabase::open(command.directories));
  std::optional<snapshot::Manifest> manifest;  // for names only: a damaged one is left out
  if (!database.manifests.empty()) {
    auto read = snapshot::read_manifest(database.device.get(), database.manifests.back());
    if (read.is_ok()) manifest = std::move(read).value();
  }
  FOEDUS_TRY(const LogSurvey survey,
             survey_log(database, manifest.has_value() ? &*manifest : nullptr));
  LogLines lines(command, survey, out);
  FOEDUS_CHECK(lines.find_storage());
  lines.begin();
  Findings findings;
  for (const log::FoundSegment& segment : survey.found.segments) {
    const Status status = lines.visit(database, segment);
    if (!status.is_ok()) findings.problem(segment.name(), status.message());
  }
  lines.end(findings);
  return findings.problems() == 0 ? ExitStatus::kFine : ExitStatus::kDamaged;
}

}  // namespace foedus::cli
