#pragma once
// UseSampler: marks as used (P8) the page of about one in kUsesPerMark records that a session looks
// at. So a glean finds the mark on pages with many wanted records, and rarely on other pages.

#include <cstdint>

#include "foedus-core/base/copy_bytes.h"
#include "foedus-core/page/page_header.h"

namespace foedus::occ {

class UseSampler {
 public:
  // REQUIRES: the record's page is volatile.
  void note(const page::RecordHeader* record) {
    if (--uses_to_mark_ == 0) [[unlikely]]
      choose(record);
  }
  // Marks the chosen page. Called before the transaction's pin ends, because the page may be reused
  // after that.
  void end() {
    if (page_to_mark_ == nullptr) return;
    page_to_mark_->mark_used();
    page_to_mark_ = nullptr;
  }

 private:
  static constexpr std::uint32_t kUsesPerMark = 16;  // a power of two

  // Chooses a page to mark. The number of uses between two choices varies: otherwise transactions
  // of one length would choose the same one of their records each time.
  //
  // The page is marked only at the next choice or at the end of the transaction, whose pin protects
  // it until then. A read of a record does not need the line of the page's header. Until the mark,
  // the prefetch has brought that line into the processor's cache.
  [[gnu::noinline]] void choose(const page::RecordHeader* record) {
    if (page_to_mark_ != nullptr) page_to_mark_->mark_used();
    page_to_mark_ = page::PageHeader::of(const_cast<page::RecordHeader*>(record));
    base::prefetch_line(page_to_mark_);
    constexpr std::uint32_t kMultiplier = 0x9e3779b1u;
    steps_ = steps_ * kMultiplier + 1;
    uses_to_mark_ = kUsesPerMark / 2 + (steps_ >> 16) % kUsesPerMark;
  }

  std::uint32_t uses_to_mark_ = kUsesPerMark;
  std::uint32_t steps_ = 0;                   // decides the next uses_to_mark_
  page::PageHeader* page_to_mark_ = nullptr;  // null between transactions
};

}  // namespace foedus::occ
