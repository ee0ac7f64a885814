#pragma once
// BorderCopy: the parts of a snapshot's border page that a scan has copied while it is in that
// page. So the scan holds no page of the cache from row to row (O14), and asks for none.
//
//   M41  The header is copied first, slots and records when the scan comes to them: a scan of few
//        rows copies few lines. Copied bytes have their place in the page, so a copy is read as the
//        page is. Pages of a snapshot are sorted: the slots of a scan follow one another, and so do
//        their records in the heap, mostly. Bytes between them are copied along.

#include <algorithm>
#include <cstring>
#include <memory>

#include "foedus-core/base/invariant.h"
#include "foedus-core/storage/masstree/layout/page.h"

namespace foedus::storage::masstree {

class BorderCopy {
 public:
  // Takes the header of a page with `keys` keys; no slot and no record yet.
  BorderPage* take(const BorderPage* from, unsigned keys) {
    FOEDUS_INVARIANT(keys <= BorderPage::kKeysMax, keys);
    if (bytes_ == nullptr) bytes_ = std::make_unique<Bytes>();
    copy(from, 0, BorderPage::kBodyBegin);
    keys_ = keys;
    taken_ = 0;
    ahead_ = kAheadMin;
    return page();
  }
  BorderPage* page() { return reinterpret_cast<BorderPage*>(bytes_->bytes); }

  // Returns whether the slot and record at `position`, in the direction of the scan, are here.
  bool has(unsigned position) const { return position < taken_; }
  // Takes that slot and record, and some that follow: twice as many each time, or all that are left
  // if `all_of_them`. REQUIRES: !has(position); `from` is the page of take().
  void take_records(const BorderPage* from, unsigned position, bool reverse, bool all_of_them) {
    FOEDUS_INVARIANT(taken_ <= position && position < keys_, position, taken_, keys_);
    const unsigned end = all_of_them ? keys_ : std::min(keys_, position + ahead_);
    ahead_ *= 2;
    taken_ = end;
    const unsigned first = reverse ? keys_ - end : position;
    const unsigned behind = reverse ? keys_ - position : end;
    const std::uint32_t groups_begin = BorderPage::directory_bytes(first + 1) - kGroupBytes;
    copy(from, BorderPage::kBodyBegin + groups_begin,
         BorderPage::directory_bytes(behind) - groups_begin);
    std::uint32_t begin_offset = page::kPageBytes;
    std::uint32_t end_offset = 0;
    for (unsigned i = first; i < behind; ++i) {
      const Slot slot = page()->slot(i);
      begin_offset = std::min(begin_offset, slot.offset());
      end_offset = std::max(end_offset, slot.offset() + slot.record_bytes());
    }
    FOEDUS_INVARIANT(begin_offset < end_offset && end_offset <= page::kPageBytes, begin_offset,
                     end_offset, position);
    copy(from, begin_offset, end_offset - begin_offset);
    next_ = reinterpret_cast<const char*>(from) + (reverse ? end_offset : begin_offset);
    next_bytes_ = std::min(2 * (end_offset - begin_offset), kAheadBytesMax);
  }

  // Starts to load the lines that take_records() will copy next, when the scan comes near the end
  // of the copied records. It is of use only while the page is in its frame. In composed pages the
  // records lie in the order of keys from the end of the page on, so the next ones are before
  // these.
  void prefetch_ahead(unsigned position, bool reverse) const {
    if (position + kAheadMin / 2 != taken_ || taken_ == keys_) return;
    base::prefetch_lines(reverse ? next_ : next_ - next_bytes_, next_bytes_);
  }

 private:
  static constexpr unsigned kAheadMin = 8;
  static constexpr std::uint32_t kAheadBytesMax = 1024;
  static constexpr std::uint32_t kGroupBytes = BorderPage::directory_bytes(1);

  struct alignas(page::kPageBytes) Bytes {
    char bytes[page::kPageBytes];
  };

  void copy(const BorderPage* from, std::uint32_t offset, std::uint32_t bytes) {
    std::memcpy(bytes_->bytes + offset, reinterpret_cast<const char*>(from) + offset, bytes);
  }

  std::unique_ptr<Bytes> bytes_;
  unsigned keys_ = 0;
  unsigned taken_ = 0;  // records of positions below are here, back to where the scan began
  unsigned ahead_ = kAheadMin;
  const char* next_ = nullptr;  // in the frame of the page, for prefetching only
  std::uint32_t next_bytes_ = 0;
};

}  // namespace foedus::storage::masstree
