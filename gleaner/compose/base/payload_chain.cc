#include "gleaner/compose/base/payload_chain.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "foedus-core/base/invariant.h"
#include "foedus-core/page/overflow_page.h"
#include "foedus-core/page/page_bytes.h"
#include "foedus/options.h"

namespace foedus::gleaner {

using page::OverflowPage;
using page::SnapshotPageId;

Result<SnapshotPageId> write_chain(const Composition& composition, std::string_view payload) {
  const auto block = std::make_unique<page::PageBytes>();
  const std::uint32_t pages = OverflowPage::pages_of(payload.size());
  const SnapshotPageId first = composition.writer->next_id();
  for (std::uint32_t i = 0; i < pages; ++i) {
    block->initialize(composition.meta->id, page::PageKind::kOverflow, 0);
    const std::string_view part =
        payload.substr(std::size_t{i} * OverflowPage::kDataBytes, OverflowPage::kDataBytes);
    auto* const page = block->as<OverflowPage>();
    // Nothing else is appended in between, so the next page's id is known in advance.
    page->next_page = i + 1 == pages ? 0 : first.plus(i + 1).word();
    page->payload_bytes = static_cast<std::uint32_t>(payload.size());
    page->bytes_here = static_cast<std::uint32_t>(part.size());
    if (!part.empty()) std::memcpy(page->data, part.data(), part.size());
    FOEDUS_TRY(const SnapshotPageId id, composition.append(&page->header));
    FOEDUS_INVARIANT(id == first.plus(i), id.word(), first.word(), i);
  }
  return first;
}

namespace {

Status broken(const Composition& composition, SnapshotPageId id, std::uint32_t part) {
  Status status = Status::error(ErrorCode::kCorruption,
                                "snapshot page " + std::to_string(id.word()) + " is not part " +
                                    std::to_string(part) + " of a payload");
  return std::move(status.at_storage(composition.meta->name));
}

Status read_part(const Composition& composition, SnapshotPageId id, std::uint32_t part,
                 page::PageBytes* to) {
  if (id.is_null()) return broken(composition, id, part);
  FOEDUS_CHECK(composition.previous->read(id, to->header()));
  const auto& page = *to->as<OverflowPage>();
  const bool is_part = page.header.kind == page::PageKind::kOverflow &&
                       page.header.storage_id == composition.meta->id &&
                       page.payload_bytes <= kMaxPayloadBytes;
  return is_part ? Status() : broken(composition, id, part);
}

}  // namespace

Status read_chain(const Composition& composition, SnapshotPageId first, std::string* payload) {
  const auto block = std::make_unique<page::PageBytes>();
  payload->clear();
  SnapshotPageId id = first;
  for (std::uint32_t i = 0, pages = 1; i < pages; ++i) {
    FOEDUS_CHECK(read_part(composition, id, i, block.get()));
    const auto& page = *block->as<OverflowPage>();
    if (i == 0) pages = OverflowPage::pages_of(page.payload_bytes);
    const std::size_t left = page.payload_bytes - payload->size();
    if (pages != OverflowPage::pages_of(page.payload_bytes) ||
        page.bytes_here != std::min<std::size_t>(left, OverflowPage::kDataBytes)) {
      return broken(composition, id, i);
    }
    payload->append(page.data, page.bytes_here);
    id = SnapshotPageId(page.next_page);
  }
  return {};
}

Status supersede_chain(const Composition& composition, SnapshotPageId first) {
  const auto block = std::make_unique<page::PageBytes>();
  FOEDUS_CHECK(read_part(composition, first, 0, block.get()));
  const auto& page = *block->as<OverflowPage>();
  composition.supersede(page.header, OverflowPage::pages_of(page.payload_bytes));
  return {};
}

}  // namespace foedus::gleaner
