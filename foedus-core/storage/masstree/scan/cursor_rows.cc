// Rows that a cursor takes ahead of its caller (M45).
#include <algorithm>
#include <cstring>

#include "foedus-core/base/invariant.h"
#include "foedus-core/occ/optimistic_read.h"
#include "foedus-core/storage/masstree/layout/page.h"
#include "foedus-core/storage/masstree/scan/cursor.h"

namespace foedus::storage::masstree {

namespace {

constexpr std::uint32_t kRowsWantedMax = 32;
// A page of records, with keys of their usual length: longer ones are taken another time.
constexpr std::size_t kRowsBytes = 2 * page::kPageBytes;
// A slot whose payload field is not below this has a layer or a chain, and no inline payload.
constexpr std::uint32_t kNoPayload = Slot::kLayer;
// A record with such a flag is read when the cursor visits it.
constexpr std::uint64_t kVisited =
    page::Tid::kBeingWritten | page::Tid::kMoved | page::Tid::kNextLayer;

}  // namespace

// If the transaction has written since the rows were taken, goes back to the place after the row
// that was handed out last. So deleted records after that row are looked at again, too: the
// transaction may have written to one of them.
void Cursor::forget_rows() {
  if (row_ != 0 && writes_ != ctx_->sets().writes().state()) {
    top().position = static_cast<std::uint8_t>(row_positions_[row_ - 1] + 1);
    rows_wanted_ = 1;  // so that a scan that writes between rows takes none in vain
  }
  row_ = row_end_ = 0;
}

// Asks for the lines of the row at `position`. If that is past the page's last row, asks for the
// first row of the next page.
inline void Cursor::ask_for_row(const Route& route, unsigned position) {
  if (position == route.count) [[unlikely]]
    return prefetch_record(route, position);
  const Slot slot = route.page->slot(route.order[position]);
  base::prefetch_lines_early(route.page->record(slot), slot.record_bytes());
}

bool Cursor::take_rows(std::uint64_t limit) {
  if (rows_memory_ == nullptr) rows_memory_ = std::make_unique<char[]>(kRowsBytes);
  Route& route = top();
  BorderPage* const page = route.page;
  occ::WriteSet& writes = ctx_->sets().writes();
  const bool has_writes = !writes.is_empty();
  const std::size_t prefix_bytes = route.prefix_bytes;
  // A key whose slice comes before `end`, in the direction of the scan, is inside the range. Either
  // it differs from the bound in this slice, or the bound lies before or after all of the layer. In
  // reverse the slices are compared by their complements, which ascend.
  const std::uint64_t flip = reverse_ ? kLastSlice : 0;
  const std::uint64_t end = route.is_inside ? kLastSlice : end_slice(route) ^ flip;
  const auto most = static_cast<std::uint32_t>(std::min<std::uint64_t>(limit, rows_wanted_));
  const unsigned begin = route.position;
  // Rows are asked for up to the first of the next page, or the last that the scan may want.
  const unsigned page_end = route.count + 1;
  const bool has_last = limit < BorderPage::kKeysMax;
  unsigned ask_end = has_last ? std::min(page_end, begin + unsigned(limit)) : page_end;
  unsigned asked = std::max<unsigned>(route.asked, begin + 1);
  unsigned position = begin;
  std::uint32_t count = 0;
  std::size_t used = 0;
  for (; position != route.count && count != most; ++position) {
    for (; asked < ask_end && asked < position + kPrefetchRows; ++asked) ask_for_row(route, asked);
    const unsigned index = route.order[position];
    page::RecordHeader* const record = page->record(index);
    const page::Tid tid = record->load_tid();
    if ((tid.word() & kVisited) != 0 || (has_writes && writes.contains(record))) break;
    if (tid.is_deleted()) {
      if (has_last) ask_end = std::min(ask_end + 1, page_end);
      ctx_->sets().remember_read(record, tid, control_);
      continue;
    }
    // The slot is read after the first look at the TID, and before the second one (M6).
    const Slot slot = page->slot(index);
    const std::uint32_t payload_bytes = slot.payload_field();
    const std::size_t key_bytes = prefix_bytes + slot.key_bytes();
    if (payload_bytes >= kNoPayload) break;
    if (used + key_bytes + sizeof(std::uint64_t) + payload_bytes > kRowsBytes) break;

    char* const key = rows_memory_.get() + used;
    if (prefix_bytes != 0) std::memcpy(key, key_.data(), prefix_bytes);
    const std::uint64_t slice = page->slice(index);
    put_slice(slice, key + prefix_bytes);
    if (slot.key_bytes() > 8) {
      const std::string_view remainder = page->remainder(slot);
      std::memcpy(key + prefix_bytes + 8, remainder.data(), remainder.size());
    }
    if ((slice ^ flip) >= end && is_outside({key, key_bytes})) break;
    const bool is_whole = occ::copy_unchanged(
        *record, tid, [&]() __attribute__((always_inline)) {
          if (payload_bytes != 0)
            base::racy_read(key + key_bytes, page->payload(slot), payload_bytes);
        });
    if (!is_whole) break;
    ctx_->uses().note(record);
    ctx_->sets().remember_read(record, tid, control_);
    row_positions_[count] = static_cast<std::uint8_t>(position);
    rows_[count++] = {static_cast<std::uint32_t>(used), static_cast<std::uint16_t>(key_bytes),
                      static_cast<std::uint16_t>(payload_bytes)};
    used += key_bytes + payload_bytes;
  }
  route.position = static_cast<std::uint8_t>(position);
  route.asked = static_cast<std::uint8_t>(asked);
  row_ = 0;
  row_end_ = count;
  writes_ = writes.state();
  if (count != 0) rows_wanted_ = std::min(2 * rows_wanted_, kRowsWantedMax);
  return position != begin;
}

}  // namespace foedus::storage::masstree
