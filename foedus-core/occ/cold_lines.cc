#include "foedus-core/occ/cold_lines.h"

#include <cstring>
#include <string>

#include "foedus-core/base/poison.h"

namespace foedus::occ {

namespace {

[[gnu::cold]] Status leads_beyond(page::SnapshotPageId id, page::PagePart part) {
  return Status::error(ErrorCode::kCorruption,
                       "page " + std::to_string(id.page()) + " of SOC " + std::to_string(id.soc()) +
                           "'s file of snapshot " +
                           std::to_string(static_cast<std::uint32_t>(id.snapshot())) +
                           " has something at " + std::to_string(part.offset) + " of " +
                           std::to_string(part.bytes) + " bytes, which is not within a page");
}

}  // namespace

ColdLines::ColdLines(snapshot::LineCache* cache, snapshot::PageReader* reader)
    : cache_(cache), reader_(reader), page_(std::make_unique<page::PageBytes>()) {
  base::poison(page_->bytes, page::kPageBytes);  // O21: no line is loaded
}

ColdLines::~ColdLines() { unpoison(~page::LineMask{0}); }

const page::PageHeader* ColdLines::open(page::SnapshotPageId id, page::LineMask lines,
                                        Status* status) {
  if (id != id_) {
    if (cache_ != nullptr) cache_->prefetch(id);
    forget();
    id_ = id;
  }
  return load_lines(lines | 1, status) ? page() : nullptr;
}

void ColdLines::forget() {
  base::poison(page_->bytes, page::kPageBytes);  // O21: no line is loaded
  id_ = {};
  present_ = 0;
}

bool ColdLines::load(page::PagePart wanted, Status* status) {
  if (!page::is_within_page(wanted)) [[unlikely]] {
    *status = leads_beyond(id_, wanted);
    return false;
  }
  return load_lines(page::lines_of(wanted), status);
}

void ColdLines::copy(const page::PageHeader* whole, page::PagePart wanted) {
  const page::LineMask missing = page::lines_of(wanted) & ~present_;
  unpoison(missing);
  cache_->count_outgrown();
  for (page::LineMask left = missing; left != 0;) {
    const page::LineRun run = page::take_run(&left);
    std::memcpy(page_->bytes + run.offset(), reinterpret_cast<const char*>(whole) + run.offset(),
                run.bytes());
  }
  present_ |= missing;
}

bool ColdLines::load_lines(page::LineMask wanted, Status* status) {
  page::LineMask missing = wanted & ~present_;
  if (missing == 0) return true;
  unpoison(missing);
  if (cache_ != nullptr) {
    const page::LineMask cached = cache_->read(id_, missing, page_->bytes);
    present_ |= cached;
    missing &= ~cached;
    if (missing == 0) return true;
  }
  *status = reader_->read_lines(id_, missing, page_->bytes);
  if (!status->is_ok()) {
    id_ = {};
    present_ = 0;
    return false;
  }
  present_ |= missing;
  if (cache_ == nullptr) return true;
  const snapshot::LinesAdded added = cache_->add(id_, present_, missing, page_->bytes);
  has_outgrown_ = has_outgrown_ || added == snapshot::LinesAdded::kOutgrown;
  return true;
}

void ColdLines::unpoison(page::LineMask lines) {
  while (lines != 0) {
    const page::LineRun run = page::take_run(&lines);
    base::unpoison(page_->bytes + run.offset(), run.bytes());
  }
}

}  // namespace foedus::occ
