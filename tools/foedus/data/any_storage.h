#pragma once
// AnyStorage: a storage whose kind is known at run time, and the operations that the commands need
// on each kind.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "foedus/database.h"
#include "tools/foedus/data/text_form.h"

namespace foedus::cli {

// The kind, and what else a storage is made with.
struct StorageShape {
  StorageKind kind = StorageKind::kMasstree;
  std::uint64_t records = 0;        // arrays
  std::uint32_t payload_bytes = 0;  // arrays
  bool operator==(const StorageShape&) const = default;
};

// Reads "masstree", "hash", "sequential" or "array:RECORDS:PAYLOAD_BYTES". kInvalidArgument.
Result<StorageShape> parse_shape(std::string_view text);
// Returns what parse_shape() reads.
std::string format_shape(const StorageShape& shape);

struct AnyStorage {
  StorageShape shape;
  std::variant<Masstree, Hash, Array, Sequential> handle;

  std::string_view name() const;
};

// Opens a storage that exists. kNotFound: the message names those that do.
Result<AnyStorage> find_storage(Database& db, std::string_view name);
// Opens a storage, which it makes if it is missing. Errors: those of Database::open_…().
Result<AnyStorage> make_storage(Database& db, std::string_view name, const StorageShape& shape);

// Returns how a line about an error names a storage: its name in quotes.
std::string quoted(std::string_view name);

// Names a record of a keyed storage by its bytes, one of an array by its index.
struct RowKey {
  std::string bytes;
  std::uint64_t index = 0;
};
// Arrays: a decimal number; other kinds: see text_form.h. kInvalidArgument: also, a sequential
// storage, whose records have no keys.
Result<RowKey> parse_key(const AnyStorage& storage, std::string_view text, ByteForm form);

// The records of a scan: low <= key < high.
struct RowRange {
  RowKey low = {};
  std::optional<RowKey> high = {};  // none: to the end
  std::uint64_t limit = ~std::uint64_t{0};
  bool is_reverse = false;
};
// A range as a user gives it.
struct RangeText {
  std::optional<std::string> prefix = {};
  std::optional<std::string> low = {};
  std::optional<std::string> high = {};
  std::uint64_t limit = ~std::uint64_t{0};
  bool is_reverse = false;
};
// kInvalidArgument: the kind has no such ranges, a prefix stands beside a bound, or a key has the
// wrong form.
Result<RowRange> parse_range(const AnyStorage& storage, const RangeText& text, ByteForm form);

// A record in a scan; valid during the call.
struct DataRow {
  std::string_view key;     // keyed storages
  std::uint64_t index = 0;  // arrays
  std::string_view value;
};
// A failure ends the scan, which returns it.
using RowSink = std::function<Status(const DataRow&)>;

// Each is an operation of Txn on the kind of the storage. kInvalidArgument: the kind has no such
// operation.
Result<std::string> get_row(Txn& txn, const AnyStorage& storage, const RowKey& key);
Status put_row(Txn& txn, const AnyStorage& storage, const RowKey& key, std::string_view value);
Status erase_row(Txn& txn, const AnyStorage& storage, const RowKey& key);
Status append_row(Txn& txn, const AnyStorage& storage, std::string_view value);
Status scan_rows(Txn& txn, const AnyStorage& storage, const RowRange& range, const RowSink& sink);

}  // namespace foedus::cli
