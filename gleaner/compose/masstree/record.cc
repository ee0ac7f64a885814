#include "gleaner/compose/masstree/record.h"

#include <utility>

namespace foedus::gleaner {

Status masstree_corruption(const Composition& composition, std::string_view key, std::string what) {
  Status status = Status::error(ErrorCode::kCorruption, std::move(what));
  status.at_storage(composition.meta->name);
  return std::move(status.at_key(key.data(), key.size()));
}

}  // namespace foedus::gleaner
