// Reads a binary dump. A block is used only once its checksum was found right.
#include <cstring>
#include <istream>

#include "tools/foedus/dump/binary_format.h"
#include "tools/foedus/dump/dump_reader.h"

namespace foedus::cli {

namespace {

class BinaryReader : public DumpReader {
 public:
  explicit BinaryReader(std::istream* in) : in_(in) {}

  Status begin() override {
    BinaryDumpHeader header;
    FOEDUS_CHECK(read_bytes(&header, sizeof(header)));
    if (header.magic != kBinaryDumpMagic) return damaged("this is no binary dump");
    if (header.crc != crc_of(header)) return damaged("the checksum of the header is wrong");
    if (header.version != kDumpVersion) {
      return Status::error(ErrorCode::kWrongVersion, "the dump has version " +
                                                         std::to_string(header.version) + ", not " +
                                                         std::to_string(kDumpVersion));
    }
    return {};
  }
  std::string place() const override {
    std::string place = "offset " + std::to_string(block_offset_);
    if (has_begun_) place += " (block " + std::to_string(number_) + ")";
    return place;
  }

 protected:
  Result<DumpItem> read() override {
    if (rows_left_ != 0) return read_row();
    if (at_ != payload_.size()) return damaged("the block has bytes after its last row");
    BlockHeader header;
    FOEDUS_CHECK(read_block(&header));
    switch (static_cast<BlockKind>(header.kind)) {
      case BlockKind::kStorage:
        return read_storage();
      case BlockKind::kRows:
        if (header.rows == 0) return damaged("a block of rows has none");
        rows_left_ = header.rows;
        return read_row();
      case BlockKind::kEnd: {
        BinaryEnd end;
        if (!take(&end, sizeof(end)) || at_ != payload_.size()) {
          return damaged("the end has the wrong size");
        }
        return DumpItem(DumpEnd{end.storages, end.rows});
      }
    }
    return damaged("there is no block of kind " + std::to_string(header.kind));
  }
  Status check_rest() override {
    if (in_->peek() == std::istream::traits_type::eof()) return {};
    return damaged("bytes follow the end");
  }

 private:
  Status read_bytes(void* to, std::size_t bytes) {
    in_->read(static_cast<char*>(to), static_cast<std::streamsize>(bytes));
    if (in_->bad()) return Status::error(ErrorCode::kIoError, "the dump cannot be read");
    offset_ += static_cast<std::uint64_t>(in_->gcount());
    if (static_cast<std::size_t>(in_->gcount()) == bytes) return {};
    return damaged("the dump ends within this block, at offset " + std::to_string(offset_));
  }
  Status read_block(BlockHeader* header) {
    block_offset_ = offset_;
    if (has_begun_) number_ += 1;
    has_begun_ = true;
    if (in_->peek() == std::istream::traits_type::eof()) {
      return damaged("the dump ends here without its last block");
    }
    FOEDUS_CHECK(read_bytes(header, sizeof(*header)));
    if (header->payload_bytes > kBlockPayloadMax) {
      return damaged("the block claims " + std::to_string(header->payload_bytes) + " bytes");
    }
    payload_.resize(header->payload_bytes);
    at_ = 0;
    FOEDUS_CHECK(read_bytes(payload_.data(), payload_.size()));
    if (header->crc != crc_of(*header, payload_.data())) return damaged("its checksum is wrong");
    if (header->number == number_) return {};
    return damaged("here stands block " + std::to_string(header->number) +
                   ": blocks are missing, repeated or in another order");
  }
  Result<DumpItem> read_storage() {
    BinaryStorage found;
    if (!take(&found, sizeof(found))) return damaged("the storage has the wrong size");
    if (found.kind < static_cast<std::uint32_t>(StorageKind::kArray) ||
        found.kind > static_cast<std::uint32_t>(StorageKind::kSequential)) {
      return damaged("there is no storage of kind " + std::to_string(found.kind));
    }
    DumpStorage storage;
    storage.shape = {static_cast<StorageKind>(found.kind), found.records, found.payload_bytes};
    storage.name = payload_.substr(at_);
    at_ = payload_.size();
    return DumpItem(std::move(storage));
  }
  Result<DumpItem> read_row() {
    BinaryRow sizes;
    DumpRow row;
    const bool is_whole = take(&sizes, sizeof(sizes)) && take(sizes.key_bytes, &row.key) &&
                          take(sizes.value_bytes, &row.value);
    if (!is_whole) return damaged("a row reaches beyond the block");
    if (shape().kind == StorageKind::kArray) {
      if (row.key.size() != sizeof(row.index)) return damaged("an index has 8 bytes");
      std::memcpy(&row.index, row.key.data(), sizeof(row.index));
      row.key.clear();
    }
    rows_left_ -= 1;
    return DumpItem(std::move(row));
  }
  bool take(void* to, std::size_t bytes) {
    if (payload_.size() - at_ < bytes) return false;
    std::memcpy(to, payload_.data() + at_, bytes);
    at_ += bytes;
    return true;
  }
  bool take(std::size_t bytes, std::string* to) {
    if (payload_.size() - at_ < bytes) return false;
    to->assign(payload_, at_, bytes);
    at_ += bytes;
    return true;
  }

  std::istream* const in_;
  std::uint64_t offset_ = 0;        // read so far
  std::uint64_t block_offset_ = 0;  // at which the current block begins
  std::uint64_t number_ = 0;        // of the current block
  bool has_begun_ = false;
  std::string payload_;  // of the current block
  std::size_t at_ = 0;   // in it
  std::uint32_t rows_left_ = 0;
};

}  // namespace

std::unique_ptr<DumpReader> make_binary_reader(std::istream* in) {
  return std::make_unique<BinaryReader>(in);
}

}  // namespace foedus::cli
