// Writes a binary dump.
#include <cstring>
#include <ostream>

#include "tools/foedus/dump/binary_format.h"
#include "tools/foedus/dump/dump_writer.h"

namespace foedus::cli {

namespace {

template <typename T>
std::string_view bytes_of_struct(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(T)};
}

class BinaryWriter : public DumpWriter {
 public:
  explicit BinaryWriter(std::ostream* out) : out_(out) {}

  void begin() override {
    BinaryDumpHeader header;
    header.crc = crc_of(header);
    write(bytes_of_struct(header));
  }
  void storage(std::string_view name, const StorageShape& shape) override {
    flush();
    shape_ = shape;
    payload_ = bytes_of_struct(
        BinaryStorage{shape.records, shape.payload_bytes, static_cast<std::uint32_t>(shape.kind)});
    payload_ += name;
    write_block(BlockKind::kStorage);
  }
  void row(const DataRow& row) override {
    const std::string_view key =
        shape_.kind == StorageKind::kArray ? bytes_of_struct(row.index) : row.key;
    payload_ += bytes_of_struct(BinaryRow{static_cast<std::uint32_t>(key.size()),
                                          static_cast<std::uint32_t>(row.value.size())});
    payload_ += key;
    payload_ += row.value;
    rows_ += 1;
    if (payload_.size() >= kBlockBytesWanted) flush();
  }
  void end(const DumpEnd& counts) override {
    flush();
    payload_ = bytes_of_struct(BinaryEnd{counts.storages, counts.rows});
    write_block(BlockKind::kEnd);
  }

 private:
  void flush() {
    if (rows_ != 0) write_block(BlockKind::kRows);
  }
  void write_block(BlockKind kind) {
    BlockHeader header;
    header.kind = static_cast<std::uint32_t>(kind);
    header.payload_bytes = static_cast<std::uint32_t>(payload_.size());
    header.number = blocks_++;
    header.rows = rows_;
    header.crc = crc_of(header, payload_.data());
    write(bytes_of_struct(header));
    write(payload_);
    payload_.clear();
    rows_ = 0;
  }
  void write(std::string_view bytes) {
    out_->write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

  std::ostream* const out_;
  StorageShape shape_;
  std::string payload_;     // of the block that is being made
  std::uint32_t rows_ = 0;  // in it
  std::uint64_t blocks_ = 0;
};

}  // namespace

std::unique_ptr<DumpWriter> make_binary_writer(std::ostream* out) {
  return std::make_unique<BinaryWriter>(out);
}

}  // namespace foedus::cli
