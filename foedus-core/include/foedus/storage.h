#pragma once
// Handles of storages: small values to copy around, made by Database::open_…(). One table is one or
// more storages (a primary index and secondary indexes, say). A handle is valid until its database
// is closed; operations through the handle of a dropped storage return kNotFound.

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
  StorageKind kind() const;
  std::string_view name() const;
  std::uint32_t id() const;
  bool operator==(const Storage&) const = default;

 protected:
  explicit Storage(internal::StorageControl* control) : control_(control) {}
  friend struct internal::StorageAccess;
  internal::StorageControl* control_ = nullptr;
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
  std::uint64_t records() const;
  std::uint32_t payload_bytes() const;
};

class Sequential : public Storage {
 public:
  using Storage::Storage;
};

}  // namespace foedus
