#include "gleaner/reclaim/relocation.h"

#include <memory>

#include "foedus-core/base/invariant.h"
#include "foedus-core/page/overflow_page.h"
#include "foedus-core/snapshot/files/format.h"
#include "foedus/options.h"

namespace foedus::gleaner {

using page::OverflowPage;
using page::PageKind;
using page::SnapshotPageId;
using snapshot::LivePages;

Victims::Victims(const std::vector<snapshot::ManifestFile>& files) {
  for (const snapshot::ManifestFile& file : files) files_.insert({file.snapshot, file.soc});
  FOEDUS_INVARIANT(!files_.empty());
}

Relocation::Relocation(const snapshot::ManifestStorage& storage, const Victims& victims,
                       snapshot::PageReader* reader, snapshot::PageWriter* writer)
    : storage_(storage), victims_(victims), reader_(reader), writer_(writer) {
  for (const LivePages& live : storage.live) {
    if (!victims.contains(live.snapshot, live.soc)) continue;
    pages_left_ += live.pages;
    below_records_left_ += live.below_records;
  }
}

Status Relocation::corrupt(SnapshotPageId id, const std::string& what) const {
  Status status = Status::error(ErrorCode::kCorruption,
                                "snapshot page " + std::to_string(id.word()) + ": " + what);
  return std::move(status.at_storage(storage_.name));
}

Status Relocation::read(SnapshotPageId id, PageKind kind, PageKind or_kind, page::PageBytes* to) {
  FOEDUS_CHECK(reader_->read(id, to->header()));
  ++pages_read_;
  const page::PageHeader& header = *to->header();
  if (header.storage_id != storage_.id) return corrupt(id, "of another storage");
  if (header.kind != kind && header.kind != or_kind) {
    return corrupt(id, "of kind " + std::to_string(static_cast<unsigned>(header.kind)) +
                           ", which its parent cannot lead to");
  }
  return {};
}

Result<SnapshotPageId> Relocation::write(const page::PageBytes& page) {
  const auto& header = *reinterpret_cast<const page::PageHeader*>(page.bytes);
  const SnapshotPageId old(header.page_id);
  FOEDUS_INVARIANT(!old.is_null(), storage_.name);
  if (is_victim(old)) {
    pages_left_ -= 1;
    below_records_left_ -= snapshot::is_below_records(header) ? 1 : 0;
  }
  accounting_.supersede(old, header);
  FOEDUS_TRY(const SnapshotPageId id, writer_->append(&header));
  accounting_.append(id, header);
  return id;
}

Result<SnapshotPageId> Relocation::move_chain(SnapshotPageId first) {
  if (first.is_null()) return corrupt(first, "not a page of a payload");
  if (!is_victim(first)) return first;
  const auto block = std::make_unique<page::PageBytes>();
  const SnapshotPageId moved = next_id();
  SnapshotPageId id = first;
  for (std::uint32_t i = 0, pages = 1; i < pages; ++i) {
    FOEDUS_CHECK(read(id, PageKind::kOverflow, block.get()));
    auto* const page = block->as<OverflowPage>();
    if (i == 0) pages = OverflowPage::pages_of(page->payload_bytes);
    id = SnapshotPageId(page->next_page);
    const bool is_part = page->payload_bytes <= kMaxPayloadBytes &&
                         pages == OverflowPage::pages_of(page->payload_bytes) &&
                         id.is_null() == (i + 1 == pages);
    if (!is_part) return corrupt(first, "not a whole payload");
    // Nothing else is appended in between.
    if (!id.is_null()) page->next_page = moved.plus(i + 1).word();
    FOEDUS_TRY(const SnapshotPageId written, write(*block));
    FOEDUS_INVARIANT(written == moved.plus(i), written.word(), moved.word(), i);
  }
  return moved;
}

Result<std::vector<LivePages>> Relocation::finish() const {
  std::vector<LivePages> live = storage_.live;
  Status status = accounting_.apply_to(&live);
  if (!status.is_ok()) return std::move(status.at_storage(storage_.name));
  for (const LivePages& file : live) {
    if (!victims_.contains(file.snapshot, file.soc)) continue;
    status = Status::error(ErrorCode::kCorruption,
                           "the manifest counts " + std::to_string(file.pages) + " pages of " +
                               snapshot::snapshot_name(file.snapshot, file.soc) +
                               " more than the root leads to");
    return std::move(status.at_storage(storage_.name));
  }
  return live;
}

}  // namespace foedus::gleaner
