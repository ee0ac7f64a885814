#pragma once
// Handles of storages: small values to copy, returned by Database::open_…(). A table is one or more
// storages, for example a primary index and secondary indexes.
//
// A handle knows its database. In a transaction of another database, every operation through it
// returns kInvalidArgument and does nothing. Once its database was closed, operations return
// kClosed, even if the same directory is open again. Operations through the handle of a dropped
// storage return kNotFound. kind(), name(), id() and the like only read the handle: they work at
// any time, from any thread.

#include "foedus/cxx20.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace foedus {

namespace internal {
struct StorageControl;
struct StorageAccess;
}  // namespace internal

// Stable numbers: they are written to the log.
enum class StorageKind : std::uint8_t {
  kArray = 1,       // fixed number of fixed-size payloads, addressed by index
  kHash = 2,        // unordered keys: point operations, and a scan of all rows
  kMasstree = 3,    // ordered keys: point and range operations (the Master-Tree, paper §8)
  kSequential = 4,  // append only; scanned in serial order
};
// Returns "array", "hash", "masstree" or "sequential"; static lifetime.
std::string_view to_string(StorageKind kind);

struct StorageInfo {
  std::uint32_t id = 0;
  StorageKind kind = StorageKind::kMasstree;
  std::string name;
  std::uint64_t records = 0;        // arrays: number of records
  std::uint32_t payload_bytes = 0;  // arrays: size of a payload
};

class Storage {
 public:
  Storage() = default;  // no storage; every operation through it returns kInvalidArgument
  StorageKind kind() const { return kind_; }  // StorageKind() for a handle of no storage
  // Returns the name, valid while this handle is; empty for a handle of no storage.
  std::string_view name() const { return {name_, name_bytes_}; }
  std::uint32_t id() const { return id_; }  // 0 for a handle of no storage
  bool operator==(const Storage& other) const {
    return control_ == other.control_ && database_ == other.database_;
  }

 protected:
  friend struct internal::StorageAccess;
  static constexpr std::size_t kNameBytes = 64;  // kMaxStorageNameBytes

  internal::StorageControl* control_ = nullptr;  // used only while database_ is open
  std::uint64_t database_ = 0;                   // number of the database; 0: no storage
  std::uint64_t records_ = 0;                    // arrays
  std::uint32_t payload_bytes_ = 0;              // arrays
  std::uint32_t id_ = 0;
  StorageKind kind_ = StorageKind();
  std::uint8_t name_bytes_ = 0;
  char name_[kNameBytes] = {};
};

// A storage whose records have byte-string keys, the base of Masstree and Hash.
class KeyedStorage : public Storage {
 public:
  using Storage::Storage;
};

class Masstree : public KeyedStorage {
 public:
  using KeyedStorage::KeyedStorage;
};

class Hash : public KeyedStorage {
 public:
  using KeyedStorage::KeyedStorage;
};

class Array : public Storage {
 public:
  using Storage::Storage;
  std::uint64_t records() const { return records_; }
  std::uint32_t payload_bytes() const { return payload_bytes_; }
};

class Sequential : public Storage {
 public:
  using Storage::Storage;
};

}  // namespace foedus
