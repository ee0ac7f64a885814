#pragma once
// Writes to parts of rows, of either kind of keyed storage.

#include <cstdint>
#include <string_view>

#include "foedus-core/log/ring/record.h"
#include "foedus-core/storage/kinds.h"

namespace foedus::storage {

inline Status write_at(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                       std::uint32_t offset, std::string_view part) {
  return visit_keyed(control->meta.kind, [&](auto kind) {
    return kind.write_part(ctx, control, log::LogRecordType::kWriteAt, key, offset, part);
  });
}

inline Status increment(occ::TxnContext& ctx, occ::StorageControl* control, std::string_view key,
                        std::uint32_t offset, std::int64_t delta) {
  const std::string_view part(reinterpret_cast<const char*>(&delta), sizeof(delta));
  return visit_keyed(control->meta.kind, [&](auto kind) {
    return kind.write_part(ctx, control, log::LogRecordType::kIncrement, key, offset, part);
  });
}

}  // namespace foedus::storage
