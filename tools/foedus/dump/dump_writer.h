#pragma once
// DumpWriter: writes a dump to a stream. Failures of the stream are the caller's to look at.

#include <iosfwd>
#include <memory>
#include <string_view>

#include "tools/foedus/dump/dump_item.h"

namespace foedus::cli {

class DumpWriter {
 public:
  virtual ~DumpWriter() = default;
  // Called in this order: begin(), for each storage storage() and row() of its rows, end().
  virtual void begin() = 0;
  virtual void storage(std::string_view name, const StorageShape& shape) = 0;
  virtual void row(const DataRow& row) = 0;
  virtual void end(const DumpEnd& counts) = 0;
};

std::unique_ptr<DumpWriter> make_dump_writer(DumpFormat format, std::ostream* out);

// The writer of each format.
std::unique_ptr<DumpWriter> make_jsonl_writer(std::ostream* out);
std::unique_ptr<DumpWriter> make_csv_writer(std::ostream* out);
std::unique_ptr<DumpWriter> make_binary_writer(std::ostream* out);

}  // namespace foedus::cli
