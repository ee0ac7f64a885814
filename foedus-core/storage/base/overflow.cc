#include "foedus-core/storage/base/overflow.h"
#include "foedus-core/occ/read_range.h"

#include <algorithm>
#include <cstring>

namespace foedus::storage {

namespace {

using page::OverflowPage;

OverflowPage* page_of(page::PagePool& pool, std::uint64_t id) {
  auto* const page = reinterpret_cast<OverflowPage*>(pool.resolve(page::VolatilePageId(id)));
  FOEDUS_INVARIANT(page->header.kind == page::PageKind::kOverflow, page->header.kind, id);
  return page;
}

}  // namespace

Result<std::uint64_t> write_overflow(occ::TxnContext& ctx, occ::StorageControl* storage,
                                     std::string_view payload) {
  const std::uint32_t page_count = OverflowPage::pages_of(payload.size());
  std::uint64_t next = 0;
  // Pages are made from the last to the first, so that each knows the id of the next.
  for (std::uint32_t i = page_count; i-- != 0;) {
    auto* const page = reinterpret_cast<OverflowPage*>(ctx.pages().allocate());
    if (page == nullptr) {
      if (next != 0) release_overflow(ctx, storage, next);
      return ctx.out_of_pages(storage);
    }
    page->header.initialize(ctx.pool().id_of(&page->header), storage->id(),
                            page::PageKind::kOverflow, 0);
    page->header.last_soc.store_relaxed(ctx.soc());  // order: relaxed, not reachable yet
    const std::size_t begin = std::size_t{i} * OverflowPage::kDataBytes;
    const std::string_view part = payload.substr(begin, OverflowPage::kDataBytes);
    page->next_page = next;
    page->payload_bytes = static_cast<std::uint32_t>(payload.size());
    page->bytes_here = static_cast<std::uint32_t>(part.size());
    std::memcpy(page->data, part.data(), part.size());
    next = page->header.page_id;
    storage->volatile_pages.fetch_add_relaxed(1);  // order: relaxed, statistics
  }
  return next;
}

namespace {

// Reads the wanted part of a chain. next(id, payload_bytes) returns the page of that id, or null if
// the page cannot be read or is no part of a payload of that length (0: not known yet). The page
// before is not looked at after that call. Returns false if it returned null.
template <typename Next>
bool read_chain(std::uint64_t first_page, occ::ReadRange* range, Next&& next) {
  const OverflowPage* page = next(first_page, 0);
  if (page == nullptr) return false;
  const std::uint32_t payload_bytes = page->payload_bytes;
  range->payload_bytes = payload_bytes;
  std::uint64_t left = range->wanted_of(page->payload_bytes);
  std::uint64_t skip = range->offset;
  char* out = range->out;
  while (left != 0) {
    FOEDUS_INVARIANT(page->bytes_here <= OverflowPage::kDataBytes, page->bytes_here);
    if (skip < page->bytes_here) {
      const std::uint64_t bytes = std::min<std::uint64_t>(left, page->bytes_here - skip);
      std::memcpy(out, page->data + skip, bytes);
      out += bytes;
      left -= bytes;
      skip = 0;
    } else {
      skip -= page->bytes_here;
    }
    if (left != 0) page = next(page->next_page, payload_bytes);
    if (page == nullptr) return false;
  }
  return true;
}

}  // namespace

void read_overflow(page::PagePool& pool, std::uint64_t first_page, occ::ReadRange* range) {
  read_chain(first_page, range,
             [&pool](std::uint64_t id, std::uint32_t) { return page_of(pool, id); });
}

bool read_cold_overflow(occ::TxnContext& ctx, page::StorageId storage, std::uint64_t first_page,
                        occ::ReadRange* range) {
  // A search with kNone only asks whether the record is in volatile memory, and the record that
  // names the chain is.
  if (ctx.cold_pages().mode() == occ::ColdPages::Mode::kNone) [[unlikely]]
    return true;
  const occ::ColdReads reads(&ctx.cold_pages());  // O14: read_chain() holds one page at a time
  page::SnapshotPageId at(first_page);
  return read_chain(first_page, range,
                    [&](std::uint64_t next, std::uint32_t bytes) -> const OverflowPage* {
                      const page::SnapshotPageId id(next);
                      if (id.is_null()) return ctx.cold_pages().refuse(at);
                      at = id;
                      const page::PageHeader* const read = ctx.cold_pages().page(id);
                      if (read == nullptr) return nullptr;
                      const auto* const page = reinterpret_cast<const OverflowPage*>(read);
                      const bool is_part = read->kind == page::PageKind::kOverflow &&
                                           read->storage_id == storage &&
                                           (bytes == 0 || page->payload_bytes == bytes);
                      return is_part ? page : ctx.cold_pages().refuse(id);
                    });
}

void release_overflow(occ::TxnContext& ctx, occ::StorageControl* storage,
                      std::uint64_t first_page) {
  for (std::uint64_t id = first_page; id != 0;) {
    OverflowPage* const page = page_of(ctx.pool(), id);
    id = page->next_page;
    ctx.pages().release(&page->header);
    storage->volatile_pages.fetch_add_relaxed(~std::uint64_t{0});  // order: relaxed, statistics
  }
}

void retire_overflow(page::PagePool& pool, page::SessionPages& pages, occ::StorageControl* storage,
                     std::uint64_t first_page) {
  for (std::uint64_t id = first_page; id != 0;) {
    OverflowPage* const page = page_of(pool, id);
    id = page->next_page;
    pages.retire(&page->header);
    storage->volatile_pages.fetch_add_relaxed(~std::uint64_t{0});  // order: relaxed, statistics
  }
}

}  // namespace foedus::storage
