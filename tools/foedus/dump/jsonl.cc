// Writes and reads a dump as JSON lines: one object a line.
#include <ostream>

#include "foedus-core/storage_meta/storage_meta.h"
#include "tools/foedus/dump/dump_reader.h"
#include "tools/foedus/dump/dump_writer.h"
#include "tools/foedus/dump/json_line.h"
#include "tools/foedus/dump/lines.h"
#include "tools/foedus/preview.h"

namespace foedus::cli {

namespace {

class JsonlWriter : public DumpWriter {
 public:
  explicit JsonlWriter(std::ostream* out) : out_(out) {}

  void begin() override { *out_ << "{\"foedus_dump\":" << kDumpVersion << "}\n"; }
  void storage(std::string_view name, const StorageShape& shape) override {
    kind_ = shape.kind;
    *out_ << "{\"storage\":" << json_bytes(name) << ",\"kind\":\"" << to_string(shape.kind) << '"';
    if (kind_ == StorageKind::kArray) {
      *out_ << ",\"records\":" << shape.records << ",\"payload_bytes\":" << shape.payload_bytes;
    }
    *out_ << "}\n";
  }
  void row(const DataRow& row) override {
    *out_ << '{';
    if (kind_ == StorageKind::kArray) {
      *out_ << "\"index\":" << row.index << ',';
    } else if (kind_ != StorageKind::kSequential) {
      *out_ << "\"key\":" << json_bytes(row.key) << ',';
    }
    *out_ << "\"value\":" << json_bytes(row.value) << "}\n";
  }
  void end(const DumpEnd& counts) override {
    *out_ << "{\"storages\":" << counts.storages << ",\"rows\":" << counts.rows << "}\n";
  }

 private:
  std::ostream* const out_;
  StorageKind kind_ = StorageKind::kMasstree;
};

class JsonlReader : public LineReader {
 public:
  using LineReader::LineReader;

  Status begin() override {
    FOEDUS_TRY(const JsonLine line, read_object());
    const JsonLine::Member* const version = line.number("foedus_dump");
    if (version == nullptr) return damaged("this is no dump as JSON lines");
    if (version->number == kDumpVersion) return {};
    return Status::error(ErrorCode::kWrongVersion, "the dump has version " +
                                                       std::to_string(version->number) + ", not " +
                                                       std::to_string(kDumpVersion));
  }

 protected:
  Result<DumpItem> read() override {
    FOEDUS_TRY(const JsonLine line, read_object());
    if (line.bytes("value") != nullptr) return read_row(line);
    if (line.bytes("storage") != nullptr) return read_storage(line);
    const JsonLine::Member* const storages = line.number("storages");
    const JsonLine::Member* const rows = line.number("rows");
    if (storages == nullptr || rows == nullptr) {
      return damaged("the object is neither a storage, a row nor the end");
    }
    return DumpItem(DumpEnd{storages->number, rows->number});
  }

 private:
  Result<JsonLine> read_object() {
    FOEDUS_CHECK(read_line(&line_));
    Result<JsonLine> parsed = JsonLine::parse(line_);
    if (!parsed.is_ok()) return damaged(parsed.status().message());
    return parsed;
  }
  Result<DumpItem> read_row(const JsonLine& line) {
    DumpRow row;
    row.value = line.bytes("value")->bytes;
    if (shape().kind == StorageKind::kArray) {
      if (line.number("index") == nullptr) return damaged("a row of an array has an index");
      row.index = line.number("index")->number;
    } else if (shape().kind != StorageKind::kSequential) {
      if (line.bytes("key") == nullptr) return damaged("the row has no key");
      row.key = line.bytes("key")->bytes;
    }
    return DumpItem(std::move(row));
  }
  Result<DumpItem> read_storage(const JsonLine& line) {
    if (line.bytes("kind") == nullptr) return damaged("the storage has no kind");
    std::string kind = line.bytes("kind")->bytes;
    if (kind == to_string(StorageKind::kArray)) {
      for (const std::string_view size : {"records", "payload_bytes"}) {
        if (line.number(size) == nullptr) return damaged("the array has no " + std::string(size));
        kind += ":" + std::to_string(line.number(size)->number);
      }
    }
    const Result<StorageShape> shape = parse_shape(kind);
    if (!shape.is_ok()) return damaged(shape.status().message());
    return DumpItem(DumpStorage{line.bytes("storage")->bytes, *shape});
  }

  std::string line_;
};

}  // namespace

std::unique_ptr<DumpWriter> make_jsonl_writer(std::ostream* out) {
  return std::make_unique<JsonlWriter>(out);
}
std::unique_ptr<DumpReader> make_jsonl_reader(std::istream* in) {
  return std::make_unique<JsonlReader>(in);
}

}  // namespace foedus::cli
