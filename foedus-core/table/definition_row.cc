#include "foedus-core/table/definition_row.h"

#include <utility>

#include "foedus/key.h"
#include "foedus/key_decode.h"

namespace foedus::table {

StoredIndex* DefinitionRow::find(std::string_view name) {
  for (StoredIndex& index : indexes) {
    if (index.name == name && !index.is_dropped) return &index;
  }
  return nullptr;
}

std::string encoded(const DefinitionRow& row) {
  DefinitionHead head{.generation = row.generation};
  std::string indexes;
  for (std::size_t at = 0; at < row.indexes.size(); ++at) {
    const StoredIndex& index = row.indexes[at];
    if (index.is_complete) head.complete |= std::uint64_t{1} << at;
    indexes += key(index.name, index.is_unique, index.kinds, index.added, index.is_dropped).view();
  }
  std::string payload(as_payload(head));
  payload += key(kVersion, row.is_dropped, row.key_kinds, row.indexes.size()).view();
  return payload + indexes;
}

Result<DefinitionRow> decoded(std::string_view payload) {
  const auto damaged = [] {
    return Status::error(ErrorCode::kCorruption,
                         "the row of a table's definition is damaged; restore a backup, or remove "
                         "the row to define the table and fill its indexes anew");
  };
  if (payload.size() < sizeof(DefinitionHead)) return damaged();
  const auto head = view_as<DefinitionHead>(payload);
  internal::KeyReader reader(payload.substr(sizeof(head)));
  DefinitionRow row{.generation = head.generation};
  std::uint32_t version = 0;
  if (!reader.read(&version)) return damaged();
  if (version != kVersion) {
    return Status::error(ErrorCode::kWrongVersion,
                         "the table's definition has version " + std::to_string(version) +
                             ", this library reads " + std::to_string(kVersion));
  }
  std::uint64_t count = 0;
  if (!reader.read(&row.is_dropped) || !reader.read(&row.key_kinds) || !reader.read(&count) ||
      count > 64) {
    return damaged();
  }
  for (std::size_t at = 0; at < count; ++at) {
    StoredIndex index{.is_complete = (head.complete >> at & 1) != 0};
    if (!reader.read(&index.name) || !reader.read(&index.is_unique) || !reader.read(&index.kinds) ||
        !reader.read(&index.added) || !reader.read(&index.is_dropped)) {
      return damaged();
    }
    row.indexes.push_back(std::move(index));
  }
  if (!std::move(reader).finish().is_ok()) return damaged();
  return row;
}

std::string storage_name(std::string_view table, std::string_view index) {
  std::string name(table);
  return name.append(".").append(index);
}

}  // namespace foedus::table
