#pragma once
// The storages of a workload, their keys and rows. A row carries its key and a filling that depends
// on it, so that half of a row and a row of another key are noticed.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "foedus/foedus.h"
#include "tests/isolation/history.h"

namespace foedus::isolation {

enum class Workload : std::uint8_t { kRegister, kList };

inline constexpr std::uint32_t kStores = 4;
inline constexpr std::uint32_t kFirstSequence = 16;  // number of the first sequential storage
inline constexpr std::uint64_t kListMax = 12;        // values; then the next key
inline constexpr std::uint64_t kListsPerSlot = 4096;
inline constexpr std::uint64_t kSlotsMax = 64;

// A storage of records. Keys are numbers; those of Master-Trees are in their order.
class Store {
 public:
  // A short-keyed and a long-keyed Master-Tree, a hash, an array.
  enum class Kind : std::uint8_t { kTree, kLayers, kHash, kArray };

  static Result<Store> open(Database& db, Kind kind, Workload workload, std::uint64_t keys);
  StorageLine line() const;

  std::uint32_t number() const { return static_cast<std::uint32_t>(kind_); }
  Kind kind() const { return kind_; }
  Shape shape() const { return shape_; }
  std::uint64_t keys() const { return keys_; }
  bool is_ordered() const { return kind_ == Kind::kTree || kind_ == Kind::kLayers; }
  bool is_array() const { return kind_ == Kind::kArray; }
  const Masstree& tree() const { return tree_; }
  const Array& array() const { return array_; }
  const KeyedStorage& keyed() const {
    return kind_ == Kind::kHash ? static_cast<const KeyedStorage&>(hash_) : tree_;
  }

  Key key(std::uint64_t number) const;
  std::uint64_t number_of(std::string_view key) const;

 private:
  Kind kind_ = Kind::kTree;
  Shape shape_ = Shape::kRegister;
  std::uint64_t keys_ = 0;
  Masstree tree_;
  Hash hash_;
  Array array_;
};

// Words of a state and rows.
using Words = std::vector<std::uint64_t>;

inline constexpr std::uint32_t kRowBytesMax = 512;
inline constexpr std::uint32_t kPartOffset[2] = {8, 16};  // of a register's halves
inline constexpr std::uint32_t kCounterOffset = 24;

// Returns the row of a register that was put.
std::string register_row(const Store& store, std::uint64_t key, std::uint64_t value);
std::string list_row(const Store& store, std::uint64_t key, std::span<const std::uint64_t> values);
// Appends the state in a row; for a row that was never written, a state that was never written.
void append_state(const Store& store, std::uint64_t key, std::string_view row, Words* words);

}  // namespace foedus::isolation
