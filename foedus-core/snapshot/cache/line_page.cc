#include "foedus-core/snapshot/cache/line_page.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/system/sync_point.h"

namespace foedus::snapshot {

namespace {

using page::kLineBytes;
using page::LineMask;
using page::LineRun;

constexpr LineMask bit_of(std::uint32_t line) { return LineMask{1} << line; }

// Returns how many lines of the mask come before this one.
std::uint32_t place_in(LineMask mask, std::uint32_t line) {
  return page::count_of(mask & (bit_of(line) - 1));
}

}  // namespace

void LinePage::initialize(page::SnapshotPageId id) {
  std::memset(static_cast<void*>(this), 0, kHeaderBytes);
  page_id = id.word();
}

LineMask LinePage::read(page::SnapshotPageId id, LineMask wanted, char* to) {
  // order: acquire, pairs with the release at the end of a change: an even version comes with all
  // that was stored under it (K18).
  const std::uint32_t before = version.load_acquire();
  if ((before & 1) != 0) return 0;
  // order: relaxed from here on, what is read counts only if the version is the same after the
  // fence.
  std::uint32_t place = 0;
  std::uint32_t first = 0;
  for (;; ++place) {
    if (place == kPages) return 0;
    const std::uint64_t found = ids[place].load_relaxed();
    if (found == 0) return 0;
    if (found == id.word()) break;
    first += page::count_of(masks[place].load_relaxed());
  }
  const LineMask mask = masks[place].load_relaxed();
  const LineMask found = mask & wanted;
  for (LineMask left = found; left != 0;) {
    const LineRun run = page::take_run(&left);
    const std::uint32_t from = first + place_in(mask, run.first);
    if (from + run.count > kLines) return 0;  // the masks read are of different versions
    base::racy_read(to + run.offset(), lines[from], run.bytes());
  }
  FOEDUS_SYNC_POINT("line_page:copied");
  base::fence_reader();  // order: the copy's loads come before the second look
  if (version.load_relaxed() != before) return 0;  // order: relaxed, after the fence
  // order: relaxed twice, a hint; readers store it only once in a round of the hand.
  if (marks[place].load_relaxed() == 0) marks[place].store_relaxed(1);
  return found;
}

// A change of a line page by the holder of its lock, from an odd version to the next even one.
// order: relaxed in all of it, where nothing else is said: the lock guards the words.
class LinePage::Change {
 public:
  explicit Change(LinePage* page) : page_(page), version_(page->version.load_relaxed()) {
    while (pages_ != kPages && page->ids[pages_].load_relaxed() != 0) {
      lines_ += count_at(pages_++);
    }
  }
  ~Change() {
    if (has_begun_) page_->version.store_release(version_ + 2);  // order: pairs with read()
    page_->lock.store_release(0);  // order: pairs with the exchange in add()
  }
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;

  // Returns the place of the mini page; kPages if there is none.
  std::uint32_t place_of(std::uint64_t id) const {
    std::uint32_t place = 0;
    while (place != pages_ && page_->ids[place].load_relaxed() != id) ++place;
    return place == pages_ ? kPages : place;
  }
  LineMask mask(std::uint32_t place) const { return page_->masks[place].load_relaxed(); }

  void remove(std::uint32_t place) {
    begin();
    const std::uint32_t count = count_at(place);
    const std::uint32_t first = first_of(place);
    for (std::uint32_t to = first; to + count < lines_; ++to) copy(to, page_->lines[to + count]);
    lines_ -= count;
    --pages_;
    for (std::uint32_t i = place; i < pages_; ++i) move_words(i, i + 1);
    page_->ids[pages_].store_relaxed(0);
    page_->masks[pages_].store_relaxed(0);
  }

  // Evicts mini pages, except that of `id`, until there is space for `count` lines, and for another
  // mini page if `is_new`. Returns how many.
  std::uint32_t make_room(std::uint32_t count, std::uint64_t id, bool is_new) {
    std::uint32_t evicted = 0;
    std::uint32_t& hand = page_->hand;
    const std::uint32_t pages_max = is_new ? kPages - 1 : kPages;
    for (std::uint32_t looks = 0; lines_ + count > kLines || pages_ > pages_max; ++looks) {
      if (hand >= pages_) hand = 0;
      const bool is_own = page_->ids[hand].load_relaxed() == id;
      const bool is_used = page_->marks[hand].load_relaxed() != 0 && looks <= kPages;
      if (is_own || is_used) {
        page_->marks[hand++].store_relaxed(0);
        continue;
      }
      remove(hand);
      ++evicted;
    }
    return evicted;
  }

  // Makes a mini page right before the hand, which thus comes to it last. REQUIRES: there is space.
  void insert(std::uint64_t id, LineMask mask, const char* from) {
    begin();
    const std::uint32_t place = std::min(page_->hand, pages_);
    for (std::uint32_t i = pages_++; i > place; --i) move_words(i, i - 1);
    page_->ids[place].store_relaxed(id);
    page_->masks[place].store_relaxed(0);
    page_->marks[place].store_relaxed(0);
    merge(place, mask, from);
    page_->hand = place + 1;
  }
  // Adds these lines to the mini page. REQUIRES: there is space.
  void merge(std::uint32_t place, LineMask more, const char* from) {
    begin();
    const LineMask had = mask(place);
    const LineMask all = had | more;
    const std::uint32_t added = page::count_of(all & ~had);
    const std::uint32_t first = first_of(place);
    std::uint32_t kept = page::count_of(had);
    // The last line moves first, because each moves to the right: none is overwritten before it
    // moves.
    for (std::uint32_t i = lines_; i-- > first + kept;) copy(i + added, page_->lines[i]);
    std::uint32_t to = page::count_of(all);
    for (LineMask left = all; left != 0;) {
      const auto line = static_cast<std::uint32_t>(std::bit_width(left)) - 1;
      left &= ~bit_of(line);
      --to;
      if ((had & bit_of(line)) == 0) {
        copy(first + to, from + std::uint64_t{line} * kLineBytes);
      } else if (--kept != to) {
        copy(first + to, page_->lines[first + kept]);
      }
    }
    lines_ += added;
    FOEDUS_INVARIANT(lines_ <= kLines, lines_, added);
    page_->masks[place].store_relaxed(all);
  }

 private:
  void begin() {
    if (has_begun_) return;
    has_begun_ = true;
    page_->version.store_relaxed(version_ + 1);
    base::fence_writer();  // order: the odd version comes before all that follows (K18)
    FOEDUS_SYNC_POINT("line_page:changing");
  }
  void move_words(std::uint32_t to, std::uint32_t from) {
    page_->ids[to].store_relaxed(page_->ids[from].load_relaxed());
    page_->masks[to].store_relaxed(page_->masks[from].load_relaxed());
    page_->marks[to].store_relaxed(page_->marks[from].load_relaxed());
  }
  std::uint32_t count_at(std::uint32_t place) const { return page::count_of(mask(place)); }
  std::uint32_t first_of(std::uint32_t place) const {
    std::uint32_t first = 0;
    for (std::uint32_t i = 0; i < place; ++i) first += count_at(i);
    return first;
  }
  void copy(std::uint32_t to, const char* from) {
    base::racy_write(page_->lines[to], from, kLineBytes);
  }

  LinePage* const page_;
  const std::uint32_t version_;
  bool has_begun_ = false;
  std::uint32_t pages_ = 0;
  std::uint32_t lines_ = 0;
};

LinesAdded LinePage::add(page::SnapshotPageId id, LineMask added, const char* from,
                         std::uint32_t lines_max, std::uint32_t* evicted) {
  FOEDUS_INVARIANT(lines_max <= kLines, lines_max);
  std::uint32_t free = 0;
  // order: the exchange takes the lock: acquire, pairs with the release in ~Change().
  if (!lock.compare_exchange_acq_rel(free, 1)) return LinesAdded::kKept;  // K20
  Change change(this);
  const std::uint32_t place = change.place_of(id.word());
  const bool is_new = place == kPages;
  const LineMask had = is_new ? 0 : change.mask(place);
  const LineMask missing = added & ~had;
  if (missing == 0) return LinesAdded::kKept;
  if (page::count_of(had | missing) > lines_max) {
    if (!is_new) change.remove(place);
    return LinesAdded::kOutgrown;
  }
  *evicted += change.make_room(page::count_of(missing), id.word(), is_new);
  if (is_new) {
    change.insert(id.word(), missing, from);
  } else {
    change.merge(change.place_of(id.word()), missing, from);
  }
  return LinesAdded::kKept;
}

}  // namespace foedus::snapshot
