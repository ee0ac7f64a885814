#pragma once
// Handles of storages: small values to copy around, made by Database::open_…(). A table is one or
// more storages (a primary index and secondary indexes, say).
//
// A handle knows its database. In a transaction of another one, every operation through it does
// nothing and returns kInvalidArgument; once its database was closed, kClosed, also if the same
// directory is open again. Operations through the handle of a dropped storage return kNotFound.
// What a handle tells of itself is in the handle: it can be asked at any time, from any thread.

#include "foedus/cxx20.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace foedus {

namespace internal {
struct StorageControl;
struct StorageAccess;
}  // namespace internal

// Stable numbers: they are written to the log.
enum class StorageKind : std::uint8_t {
  kArray = 1,       // fixed number of fixed-size payloads, addressed by index
  kHash = 2,        // unordered keys: point operations only
  kMasstree = 3,    // ordered keys: points and ranges (the Master-Tree, paper §8)
  kSequential = 4,  // append only; scanned in serial order
};

class Storage {
 public:
  Storage() = default;  // of no storage; every operation through it returns kInvalidArgument
  StorageKind kind() const { return kind_; }  // of no storage: StorageKind()
  // Valid while this handle is. Of no storage: empty.
  std::string_view name() const { return {name_, name_bytes_}; }
  std::uint32_t id() const { return id_; }  // of no storage: 0
  bool operator==(const Storage& other) const {
    return control_ == other.control_ && database_ == other.database_;
  }

 protected:
  friend struct internal::StorageAccess;
  static constexpr std::size_t kNameBytes = 64;  // kMaxStorageNameBytes

  internal::StorageControl* control_ = nullptr;  // followed only where database_ is open
  std::uint64_t database_ = 0;                   // number of the database; 0: of no storage
  std::uint64_t records_ = 0;                    // arrays
  std::uint32_t payload_bytes_ = 0;              // arrays
  std::uint32_t id_ = 0;
  StorageKind kind_ = StorageKind();
  std::uint8_t name_bytes_ = 0;
  char name_[kNameBytes] = {};
};

// A storage whose records have byte-string keys: what Masstree and Hash have in common.
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
