#pragma once
// Journal: what a consumer of a change stream has stored. A file that outlives its process: each
// batch is appended with one write, as length, checksum and bytes, so that a kill leaves whole
// batches and perhaps a part of one more, which is cut.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "foedus/changes.h"

namespace kills {

// The rows of a database, made of its changes.
class Copy {
 public:
  struct Storage {
    foedus::StorageKind kind = foedus::StorageKind::kMasstree;
    std::uint32_t payload_bytes = 0;          // arrays
    std::map<std::string, std::string> rows;  // by key; of an array those that were written
    std::vector<std::string> records;         // of a sequential storage
  };

  // kCorruption: the change does not fit to what was applied before.
  foedus::Status apply(const foedus::Change& change);
  const std::map<std::string, Storage>& storages() const { return storages_; }

 private:
  std::map<std::string, Storage> storages_;
};

class Journal {
 public:
  // Reads what is there into `copy`.
  static foedus::Result<Journal> open(const std::string& path, Copy* copy);
  Journal(Journal&& other) noexcept;
  Journal& operator=(Journal&&) = delete;
  ~Journal();

  foedus::Epoch position() const { return position_; }
  std::uint64_t batches() const { return batches_; }
  // Appends a batch. kCorruption: its epoch is not above the position.
  foedus::Status add(const foedus::ChangeBatch& batch);
  // Replaces all batches by one that makes `copy`.
  foedus::Status compact(const Copy& copy);

 private:
  Journal(std::string path, int file) : path_(std::move(path)), file_(file) {}
  foedus::Status read(Copy* copy);

  std::string path_;
  int file_ = -1;
  foedus::Epoch position_;
  std::uint64_t batches_ = 0;  // added by this process
};

}  // namespace kills
