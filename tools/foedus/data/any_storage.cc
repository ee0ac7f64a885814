#include "tools/foedus/data/any_storage.h"

#include <algorithm>
#include <span>
#include <type_traits>

#include "foedus-core/storage_meta/storage_meta.h"
#include "tools/foedus/preview.h"

namespace foedus::cli {

namespace {

Status refuse(std::string text) {
  return Status::error(ErrorCode::kInvalidArgument, std::move(text));
}

Status no_such_operation(const AnyStorage& storage, std::string_view what) {
  return refuse(
      "storage " + quoted(storage.name()) + " is " +
      std::string(storage.shape.kind == StorageKind::kArray ? "an array: " : "sequential: ") +
      std::string(what));
}

template <typename Handle>
constexpr bool kIsKeyed = std::is_base_of_v<KeyedStorage, Handle>;

Status hand_on(Scan rows, std::uint64_t limit, const RowSink& sink) {
  for (const Row& row : rows) {
    if (limit-- == 0) return {};
    FOEDUS_CHECK(sink({row.key, 0, row.payload}));
  }
  if (auto failure = rows.failure()) return *failure;
  return {};
}

Status scan_array(Txn& txn, const Array& array, const RowRange& range, const RowSink& sink) {
  const std::uint64_t high = range.high.has_value() ? range.high->index : array.records();
  ArrayScan rows =
      txn.scan(array, range.low.index, high, {.limit = range.limit, .reverse = range.is_reverse});
  for (const ArrayRow& row : rows) FOEDUS_CHECK(sink({{}, row.index, row.payload}));
  return rows.failure().value_or(Status());
}

}  // namespace

std::string quoted(std::string_view name) {
  return "\"" + format_bytes(name, ByteForm::kText) + "\"";
}

Result<StorageShape> parse_shape(std::string_view text) {
  const auto wrong = [&] {
    return refuse("a kind is masstree, hash, sequential or array:RECORDS:PAYLOAD_BYTES, not \"" +
                  std::string(text) + "\"");
  };
  StorageShape shape;
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string_view kind = text.substr(0, colon);
  for (const StorageKind one : {StorageKind::kArray, StorageKind::kHash, StorageKind::kMasstree,
                                StorageKind::kSequential}) {
    if (kind == to_string(one)) shape.kind = one;
  }
  if (kind != to_string(shape.kind)) return wrong();
  if (shape.kind != StorageKind::kArray) return colon == text.size() ? Result(shape) : wrong();
  const std::string_view sizes = text.substr(std::min(colon + 1, text.size()));
  const std::size_t second = sizes.find(':');
  if (second == sizes.npos) return wrong();
  FOEDUS_TRY(shape.records, parse_number(sizes.substr(0, second), "a number of records"));
  FOEDUS_TRY(const std::uint64_t bytes, parse_number(sizes.substr(second + 1), "a payload size"));
  if (bytes > kMaxArrayPayloadBytes) {
    return refuse("a payload of an array has at most " + std::to_string(kMaxArrayPayloadBytes) +
                  " bytes, not " + std::to_string(bytes));
  }
  shape.payload_bytes = static_cast<std::uint32_t>(bytes);
  return shape;
}

std::string format_shape(const StorageShape& shape) {
  std::string text(to_string(shape.kind));
  if (shape.kind == StorageKind::kArray) {
    text += ":" + std::to_string(shape.records) + ":" + std::to_string(shape.payload_bytes);
  }
  return text;
}

std::string_view AnyStorage::name() const {
  // A handle holds its name.
  return std::visit([](const auto& one) { return one.name(); }, handle);
}

Result<AnyStorage> make_storage(Database& db, std::string_view name, const StorageShape& shape) {
  AnyStorage storage{shape, {}};
  switch (shape.kind) {
    case StorageKind::kMasstree: {
      FOEDUS_TRY(storage.handle, db.open_masstree(name));
      break;
    }
    case StorageKind::kHash: {
      FOEDUS_TRY(storage.handle, db.open_hash(name));
      break;
    }
    case StorageKind::kArray: {
      FOEDUS_TRY(storage.handle, db.open_array(name, shape.records, shape.payload_bytes));
      break;
    }
    case StorageKind::kSequential: {
      FOEDUS_TRY(storage.handle, db.open_sequential(name));
      break;
    }
  }
  return storage;
}

Result<AnyStorage> find_storage(Database& db, std::string_view name) {
  std::string names;
  for (const StorageInfo& info : db.storages()) {
    if (info.name == name) {
      return make_storage(db, name, {info.kind, info.records, info.payload_bytes});
    }
    names += (names.empty() ? "; there are " : ", ") + quoted(info.name);
  }
  return Status::error(ErrorCode::kNotFound,
                       "there is no storage " + quoted(name) +
                           (names.empty() ? "; the database has no storages" : names));
}

Result<RowKey> parse_key(const AnyStorage& storage, std::string_view text, ByteForm form) {
  RowKey key;
  if (storage.shape.kind == StorageKind::kSequential) {
    return no_such_operation(storage, "its records have no keys; use append and scan");
  }
  if (storage.shape.kind == StorageKind::kArray) {
    FOEDUS_TRY(key.index, parse_number(text, "the index of an array's record"));
  } else {
    FOEDUS_TRY(key.bytes, parse_bytes(text, form));
  }
  return key;
}

Result<RowRange> parse_range(const AnyStorage& storage, const RangeText& text, ByteForm form) {
  RowRange range;
  range.limit = text.limit;
  range.is_reverse = text.is_reverse;
  const bool has_bounds = text.low.has_value() || text.high.has_value();
  const bool is_ordered =
      storage.shape.kind == StorageKind::kMasstree || storage.shape.kind == StorageKind::kArray;
  if (!is_ordered && (has_bounds || text.prefix.has_value() || text.is_reverse)) {
    return refuse("storage " + quoted(storage.name()) + " is of kind " +
                  std::string(to_string(storage.shape.kind)) +
                  ", which is scanned as a whole: there are no bounds and no reverse order");
  }
  if (text.prefix.has_value()) {
    if (has_bounds) return refuse("a scan has either a prefix, or a low and a high bound");
    if (storage.shape.kind == StorageKind::kArray) {
      return no_such_operation(storage, "its scan has bounds and no prefix");
    }
    FOEDUS_TRY(range.low, parse_key(storage, *text.prefix, form));
    const Key end = prefix_end(range.low.bytes);
    if (end.size() != 0) range.high = RowKey{std::string(end.view()), 0};
  }
  if (text.low.has_value()) {
    FOEDUS_TRY(range.low, parse_key(storage, *text.low, form));
  }
  if (text.high.has_value()) {
    FOEDUS_TRY(range.high, parse_key(storage, *text.high, form));
  }
  return range;
}

Result<std::string> get_row(Txn& txn, const AnyStorage& storage, const RowKey& key) {
  return std::visit(
      [&]<typename Handle>(const Handle& handle) -> Result<std::string> {
        if constexpr (kIsKeyed<Handle>) {
          return txn.get(handle, key.bytes);
        } else if constexpr (std::is_same_v<Handle, Array>) {
          std::string value(handle.payload_bytes(), '\0');
          FOEDUS_CHECK(txn.get(handle, key.index, std::as_writable_bytes(std::span(value))));
          return value;
        } else {
          return no_such_operation(storage, "its records have no keys; use scan");
        }
      },
      storage.handle);
}

Status put_row(Txn& txn, const AnyStorage& storage, const RowKey& key, std::string_view value) {
  return std::visit(
      [&]<typename Handle>(const Handle& handle) -> Status {
        if constexpr (kIsKeyed<Handle>) {
          return txn.put(handle, key.bytes, value);
        } else if constexpr (std::is_same_v<Handle, Array>) {
          return txn.put(handle, key.index, value);
        } else {
          return no_such_operation(storage, "its records have no keys; use append");
        }
      },
      storage.handle);
}

Status erase_row(Txn& txn, const AnyStorage& storage, const RowKey& key) {
  return std::visit(
      [&]<typename Handle>(const Handle& handle) -> Status {
        if constexpr (kIsKeyed<Handle>) {
          return txn.erase(handle, key.bytes);
        } else {
          return no_such_operation(storage, "its records cannot be erased");
        }
      },
      storage.handle);
}

Status append_row(Txn& txn, const AnyStorage& storage, std::string_view value) {
  const auto* const sequential = std::get_if<Sequential>(&storage.handle);
  if (sequential != nullptr) return txn.append(*sequential, value);
  return refuse("storage " + quoted(storage.name()) + " is of kind " +
                std::string(to_string(storage.shape.kind)) + ", whose records have keys; use put");
}

Status scan_rows(Txn& txn, const AnyStorage& storage, const RowRange& range, const RowSink& sink) {
  return std::visit(
      [&]<typename Handle>(const Handle& handle) -> Status {
        if constexpr (std::is_same_v<Handle, Masstree>) {
          const std::string_view high = range.high.has_value() ? range.high->bytes : "";
          if (range.high.has_value() && high.empty()) return {};  // no key is below
          ScanOptions options;
          options.reverse = range.is_reverse;
          return hand_on(txn.scan(handle, range.low.bytes, high, options), range.limit, sink);
        } else if constexpr (std::is_same_v<Handle, Array>) {
          return scan_array(txn, handle, range, sink);
        } else {
          return hand_on(txn.scan(handle), range.limit, sink);
        }
      },
      storage.handle);
}

}  // namespace foedus::cli
