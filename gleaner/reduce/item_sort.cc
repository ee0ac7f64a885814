#include "gleaner/reduce/item_sort.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/storage/masstree/layout/page.h"

namespace foedus::gleaner {

namespace {

// For few items, counting more values of a digit costs more than another pass.
constexpr unsigned kFirstDigitBits = 8;
constexpr unsigned kDigitBitsOfFew = 8;
constexpr unsigned kDigitBitsMax = 11;
constexpr std::size_t kManyItems = 2048;
// With fewer items, counting digits costs more than comparing.
constexpr std::size_t kRadixMin = 256;
constexpr std::size_t kItemsInCache = 16u << 10;  // and as many of scratch: half a MiB
constexpr std::size_t kRunMin = 24;
constexpr unsigned kSlicesMax = 8;  // longer common prefixes are compared
constexpr std::size_t kPrefetchItems = 16;

// A digit: some bits of a position.
struct Digit {
  unsigned shift;
  unsigned bits;

  std::size_t values() const { return std::size_t{1} << bits; }
  std::size_t of(std::uint64_t word) const { return (word >> shift) & (values() - 1); }
};

using Places = std::array<std::uint32_t, std::size_t{1} << kDigitBitsMax>;

// Moves all items into the order of one digit of their positions. Items with equal digits keep
// their order. Afterwards `places` has the end of each value.
void deal_out(const SortItem* from, SortItem* to, std::size_t count, Digit digit, Places* places) {
  std::fill_n(places->begin(), digit.values(), 0);
  for (std::size_t i = 0; i < count; ++i) ++(*places)[digit.of(from[i].position)];
  std::uint32_t place = 0;
  for (std::size_t i = 0; i < digit.values(); ++i) place += std::exchange((*places)[i], place);
  for (std::size_t i = 0; i < count; ++i) to[(*places)[digit.of(from[i].position)]++] = from[i];
}

// Sorts `from` by the word in `position`. `is_wanted_in_to`: the result is to be in `to`, not in
// `from`. Bits that are equal in all items cost little: indexes and slices have many. If all items
// fit into a cache, sorts from the lowest differing bits to the highest. Else sorts by the highest
// digit first, and then the items that share its value.
void radix_sort(SortItem* from, SortItem* to, std::size_t count, bool is_wanted_in_to) {
  std::uint64_t differing = 0;
  if (count < kRadixMin) {
    std::sort(from, from + count, [](const SortItem& a, const SortItem& b) {
      return a.position < b.position;
    });
  } else {
    for (std::size_t i = 0; i < count; ++i) differing |= from[i].position ^ from[0].position;
  }
  Places places;
  if (count > kItemsInCache && differing != 0) {
    const auto width = static_cast<unsigned>(std::bit_width(differing));
    const unsigned bits = std::min(width, kFirstDigitBits);
    const Digit digit{width - bits, bits};
    deal_out(from, to, count, digit, &places);
    std::uint32_t begin = 0;
    for (std::size_t i = 0; i < digit.values(); ++i) {
      const std::uint32_t end = places[i];
      if (end != begin) radix_sort(to + begin, from + begin, end - begin, !is_wanted_in_to);
      begin = end;
    }
    return;
  }
  bool is_in_to = false;
  while (differing != 0) {
    const auto shift = static_cast<unsigned>(std::countr_zero(differing));
    const auto width = static_cast<unsigned>(std::bit_width(differing)) - shift;
    const unsigned most = count < kManyItems ? kDigitBitsOfFew : kDigitBitsMax;
    const unsigned digits = (width + most - 1) / most;
    const Digit digit{shift, (width + digits - 1) / digits};
    differing &= ~((digit.values() - 1) << shift);
    deal_out(from, to, count, digit, &places);
    std::swap(from, to);
    is_in_to = !is_in_to;
  }
  if (is_in_to != is_wanted_in_to) std::memcpy(to, from, count * sizeof(SortItem));
}

struct Records {
  const char* memory;
  StorageKind kind;

  const RecordEntry* at(const SortItem& item) const { return item.entry(memory); }
  void prefetch(const SortItem* items, std::size_t index, std::size_t count) const {
    if (index + kPrefetchItems >= count) return;
    base::prefetch_lines(at(items[index + kPrefetchItems]), 2 * sizeof(RecordEntry));
  }
  // Prefetches a record that is compared only if it shares its position with the one before it.
  void prefetch_tie(const SortItem* items, std::size_t index, std::size_t count) const {
    if (index + kPrefetchItems >= count) return;
    const SortItem* const two = items + index + kPrefetchItems - 1;
    if (two[0].position != two[1].position) return;
    base::prefetch_line(at(two[0]) + 1);
    base::prefetch_line(at(two[1]) + 1);
  }
};

void compare_sort(const Records& records, SortItem* items, std::size_t count) {
  const auto less = [&records](const SortItem& a, const SortItem& b) {
    return is_before(records.at(a)->record(), records.at(b)->record());
  };
  // In most cases the records came in their order.
  if (!std::is_sorted(items, items + count, less)) std::sort(items, items + count, less);
}

bool have_one_key(const Records& records, const SortItem* items, std::size_t count) {
  if (records.kind == StorageKind::kArray || records.kind == StorageKind::kSequential) return true;
  const std::string_view first = records.at(items[0])->log()->key();
  for (std::size_t i = 1; i < count; ++i) {
    records.prefetch(items, i, count);
    if (records.at(items[i])->log()->key() != first) return false;
  }
  return true;
}

// Calls `sort` for each run of items with equal positions.
template <typename Sort>
void for_each_run(const Records& records, SortItem* items, std::size_t count, Sort&& sort) {
  std::size_t begin = 0;
  for (std::size_t i = 1; i <= count; ++i) {
    records.prefetch_tie(items, i, count);
    if (i != count && items[i].position == items[begin].position) continue;
    if (i - begin > 1) sort(items + begin, i - begin);
    begin = i;
  }
}

// Sorts items whose keys are equal up to byte 8 * slices. Leaves anything in `position`.
void sort_run(const Records& records, SortItem* items, SortItem* scratch, std::size_t count,
              unsigned slices) {
  if (count < kRunMin) return compare_sort(records, items, count);
  if (have_one_key(records, items, count)) {
    for (std::size_t i = 0; i < count; ++i) {
      records.prefetch(items, i, count);
      items[i].position = records.at(items[i])->log()->tid;
    }
    radix_sort(items, scratch, count, false);
    for_each_run(records, items, count, [&records](SortItem* run, std::size_t run_count) {
      compare_sort(records, run, run_count);
    });
    return;
  }
  if (records.kind != StorageKind::kMasstree || slices == kSlicesMax) {
    return compare_sort(records, items, count);
  }
  for (std::size_t i = 0; i < count; ++i) {
    records.prefetch(items, i, count);
    const std::string_view key = records.at(items[i])->log()->key();
    const std::size_t skipped = std::min<std::size_t>(key.size(), slices * 8);
    items[i].position = storage::masstree::slice_of(key.substr(skipped));
  }
  radix_sort(items, scratch, count, false);
  for_each_run(records, items, count, [&](SortItem* run, std::size_t run_count) {
    sort_run(records, run, scratch, run_count, slices + 1);
  });
}

}  // namespace

void sort_items(const char* memory, StorageKind kind, SortItem* items, SortItem* scratch,
                 std::size_t count) {
  const Records records{memory, kind};
  radix_sort(items, scratch, count, false);
  for_each_run(records, items, count, [&](SortItem* run, std::size_t run_count) {
    const std::uint64_t position = run[0].position;
    sort_run(records, run, scratch, run_count, 1);
    for (std::size_t i = 0; i < run_count; ++i) run[i].position = position;
  });
}

}  // namespace foedus::gleaner
