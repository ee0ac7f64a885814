// Writes and reads a dump as CSV (RFC 4180). Byte strings have their text form (text_form.h), so
// that no field has a newline and each record is one line.
#include <ostream>
#include <vector>

#include "tools/foedus/dump/dump_reader.h"
#include "tools/foedus/dump/dump_writer.h"
#include "tools/foedus/dump/lines.h"

namespace foedus::cli {

namespace {

constexpr std::string_view kCsvMagic = "foedus_dump";

std::string csv_field(std::string_view bytes) {
  const std::string text = format_bytes(bytes, ByteForm::kText);
  if (text.find_first_of(",\" ") == text.npos) return text;
  std::string field = "\"";
  for (const char c : text) field += c == '"' ? std::string("\"\"") : std::string(1, c);
  return field + '"';
}

class CsvWriter : public DumpWriter {
 public:
  explicit CsvWriter(std::ostream* out) : out_(out) {}

  void begin() override { *out_ << kCsvMagic << ',' << kDumpVersion << '\n'; }
  void storage(std::string_view name, const StorageShape& shape) override {
    kind_ = shape.kind;
    *out_ << "storage," << csv_field(name) << ',' << format_shape(shape) << '\n';
  }
  void row(const DataRow& row) override {
    *out_ << "row,";
    if (kind_ == StorageKind::kArray) {
      *out_ << row.index;
    } else {
      *out_ << csv_field(row.key);
    }
    *out_ << ',' << csv_field(row.value) << '\n';
  }
  void end(const DumpEnd& counts) override {
    *out_ << "end," << counts.storages << ',' << counts.rows << '\n';
  }

 private:
  std::ostream* const out_;
  StorageKind kind_ = StorageKind::kMasstree;
};

class CsvReader : public LineReader {
 public:
  using LineReader::LineReader;

  Status begin() override {
    FOEDUS_CHECK(read_fields());
    if (fields_.size() != 2 || fields_[0] != kCsvMagic) return damaged("this is no dump as CSV");
    if (fields_[1] == std::to_string(kDumpVersion)) return {};
    return Status::error(ErrorCode::kWrongVersion, "the dump has version " + fields_[1] + ", not " +
                                                       std::to_string(kDumpVersion));
  }

 protected:
  Result<DumpItem> read() override {
    FOEDUS_CHECK(read_fields());
    if (fields_.size() != 3) {
      return damaged("a line has 3 fields, not " + std::to_string(fields_.size()));
    }
    if (fields_[0] == "row") {
      DumpRow row;
      if (shape().kind == StorageKind::kArray) {
        FOEDUS_TRY(row.index, number(fields_[1]));
      } else {
        FOEDUS_TRY(row.key, bytes(fields_[1]));
      }
      FOEDUS_TRY(row.value, bytes(fields_[2]));
      return DumpItem(std::move(row));
    }
    if (fields_[0] == "storage") {
      DumpStorage storage;
      FOEDUS_TRY(storage.name, bytes(fields_[1]));
      const Result<StorageShape> shape = parse_shape(fields_[2]);
      if (!shape.is_ok()) return damaged(shape.status().message());
      storage.shape = *shape;
      return DumpItem(std::move(storage));
    }
    if (fields_[0] != "end") return damaged("a line begins with storage, row or end");
    DumpEnd end;
    FOEDUS_TRY(end.storages, number(fields_[1]));
    FOEDUS_TRY(end.rows, number(fields_[2]));
    return DumpItem(end);
  }

 private:
  Result<std::string> bytes(std::string_view field) {
    Result<std::string> parsed = parse_bytes(field, ByteForm::kText);
    if (!parsed.is_ok()) return damaged(parsed.status().message());
    return parsed;
  }
  Result<std::uint64_t> number(std::string_view field) {
    const Result<std::uint64_t> parsed = parse_number(field, "this field");
    if (!parsed.is_ok()) return damaged(parsed.status().message());
    return *parsed;
  }
  Status read_fields() {
    FOEDUS_CHECK(read_line(&line_));
    if (!line_.empty() && line_.back() == '\r') line_.pop_back();
    fields_.clear();
    std::size_t at = 0;
    while (true) {
      std::string& field = fields_.emplace_back();
      if (at < line_.size() && line_[at] == '"') {
        FOEDUS_CHECK(read_quoted(&at, &field));
      } else {
        const std::size_t end = std::min(line_.find(',', at), line_.size());
        field = line_.substr(at, end - at);
        if (field.find('"') != field.npos) return damaged("a quote in a field without quotes");
        at = end;
      }
      if (at == line_.size()) return {};
      if (line_[at] != ',') return damaged("a comma follows a field in quotes");
      at += 1;
    }
  }
  Status read_quoted(std::size_t* at, std::string* field) {
    for (std::size_t i = *at + 1; i < line_.size(); ++i) {
      if (line_[i] != '"') {
        *field += line_[i];
      } else if (i + 1 < line_.size() && line_[i + 1] == '"') {
        *field += line_[i++];
      } else {
        *at = i + 1;
        return {};
      }
    }
    return damaged("a field has no closing quote");
  }

  std::string line_;
  std::vector<std::string> fields_;
};

}  // namespace

std::unique_ptr<DumpWriter> make_csv_writer(std::ostream* out) {
  return std::make_unique<CsvWriter>(out);
}
std::unique_ptr<DumpReader> make_csv_reader(std::istream* in) {
  return std::make_unique<CsvReader>(in);
}

}  // namespace foedus::cli
