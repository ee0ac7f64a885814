#include "tools/foedus/dump/dump_item.h"

#include <istream>

#include "tools/foedus/dump/dump_reader.h"
#include "tools/foedus/dump/dump_writer.h"

namespace foedus::cli {

Result<DumpFormat> parse_dump_format(std::string_view text) {
  if (text == "jsonl") return DumpFormat::kJsonl;
  if (text == "csv") return DumpFormat::kCsv;
  if (text == "binary") return DumpFormat::kBinary;
  return Status::error(ErrorCode::kInvalidArgument,
                       "a format is jsonl, csv or binary, not \"" + std::string(text) + "\"");
}

std::unique_ptr<DumpWriter> make_dump_writer(DumpFormat format, std::ostream* out) {
  switch (format) {
    case DumpFormat::kJsonl:
      return make_jsonl_writer(out);
    case DumpFormat::kCsv:
      return make_csv_writer(out);
    case DumpFormat::kBinary:
      return make_binary_writer(out);
  }
  return nullptr;
}

std::unique_ptr<DumpReader> make_dump_reader(DumpFormat format, std::istream* in) {
  switch (format) {
    case DumpFormat::kJsonl:
      return make_jsonl_reader(in);
    case DumpFormat::kCsv:
      return make_csv_reader(in);
    case DumpFormat::kBinary:
      return make_binary_reader(in);
  }
  return nullptr;
}

std::optional<DumpFormat> find_dump_format(std::istream* in) {
  switch (in->peek()) {
    case '{':
      return DumpFormat::kJsonl;
    case 'f':
      return DumpFormat::kCsv;
    case 'F':
      return DumpFormat::kBinary;
    default:
      return std::nullopt;
  }
}

Status DumpReader::damaged(std::string_view what) const {
  damage_ = "the dump is damaged at " + place() + ": " + std::string(what);
  return Status::error(ErrorCode::kCorruption, damage_);
}

Result<DumpItem> DumpReader::next() {
  FOEDUS_TRY(DumpItem item, read());
  FOEDUS_CHECK(check(item));
  return item;
}

Status DumpReader::check(const DumpItem& item) {
  if (const auto* const storage = std::get_if<DumpStorage>(&item)) {
    shape_ = storage->shape;
    has_storage_ = true;
    counted_.storages += 1;
    return {};
  }
  if (const auto* const end = std::get_if<DumpEnd>(&item)) {
    if (end->storages != counted_.storages || end->rows != counted_.rows) {
      return damaged("the end counts " + std::to_string(end->storages) + " storages and " +
                     std::to_string(end->rows) + " rows, but before it are " +
                     std::to_string(counted_.storages) + " and " + std::to_string(counted_.rows));
    }
    return check_rest();
  }
  if (!has_storage_) return damaged("a row stands before the first storage");
  counted_.rows += 1;
  const auto& row = std::get<DumpRow>(item);
  if (shape_.kind != StorageKind::kArray) return {};
  if (row.index >= shape_.records) {
    return damaged("an array of " + std::to_string(shape_.records) + " records has no record " +
                   std::to_string(row.index));
  }
  if (row.value.size() != shape_.payload_bytes) {
    return damaged("record " + std::to_string(row.index) + " of an array has " +
                   std::to_string(row.value.size()) + " bytes, not " +
                   std::to_string(shape_.payload_bytes));
  }
  return {};
}

}  // namespace foedus::cli
