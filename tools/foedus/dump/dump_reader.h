#pragma once
// DumpReader: reads a dump from a stream, and checks all that can be checked without a database.

#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tools/foedus/dump/dump_item.h"

namespace foedus::cli {

class DumpReader {
 public:
  virtual ~DumpReader() = default;
  // Reads the begin of the dump. kCorruption: it is no dump of this format. kWrongVersion.
  virtual Status begin() = 0;
  // Reads the next item. A DumpEnd is the last one, and has the counts of the items before.
  // kCorruption: the message has the line, or the offset and the block. kIoError.
  Result<DumpItem> next();
  // Returns the place of the last item: "line 7", or "offset 40 (block 2)".
  virtual std::string place() const = 0;
  // Returns kCorruption with the place, and keeps the text as damage().
  Status damaged(std::string_view what) const;
  // Returns what is wrong with the dump; empty: nothing was found.
  const std::string& damage() const { return damage_; }

 protected:
  // Reads an item, which next() checks.
  virtual Result<DumpItem> read() = 0;
  // Returns success if the input has ended.
  virtual Status check_rest() = 0;
  // The shape of the storage to which rows belong.
  const StorageShape& shape() const { return shape_; }

 private:
  Status check(const DumpItem& item);

  StorageShape shape_;
  bool has_storage_ = false;
  DumpEnd counted_;
  mutable std::string damage_;
};

// Finds out the format by the first byte of `in`, and leaves it there. Empty: that of no dump.
std::optional<DumpFormat> find_dump_format(std::istream* in);

std::unique_ptr<DumpReader> make_dump_reader(DumpFormat format, std::istream* in);

// The reader of each format.
std::unique_ptr<DumpReader> make_jsonl_reader(std::istream* in);
std::unique_ptr<DumpReader> make_csv_reader(std::istream* in);
std::unique_ptr<DumpReader> make_binary_reader(std::istream* in);

}  // namespace foedus::cli
