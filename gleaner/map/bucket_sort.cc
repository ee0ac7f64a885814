#include "gleaner/map/bucket_sort.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/storage/masstree/masstree_page.h"

namespace foedus::gleaner {

namespace {

constexpr unsigned kDigitBits = 8;
constexpr unsigned kDigits = 64 / kDigitBits;
constexpr std::size_t kDigitValues = std::size_t{1} << kDigitBits;
// Below, counting digits costs more than comparing.
constexpr std::size_t kRadixMin = 256;
constexpr std::size_t kRunMin = 24;
constexpr unsigned kSlicesMax = 8;  // longer common prefixes are compared
constexpr std::size_t kPrefetchEntries = 16;

unsigned digit_of(std::uint64_t word, unsigned digit) {
  return static_cast<unsigned>(word >> (digit * kDigitBits)) & (kDigitValues - 1);
}

// Sorts by `position`, whatever it holds at the time. Digits that are the same everywhere cost
// nothing: indexes and slices have many.
void radix_sort(SortEntry* entries, SortEntry* scratch, std::size_t count) {
  if (count < kRadixMin) {
    std::sort(entries, entries + count, [](const SortEntry& a, const SortEntry& b) {
      return a.position < b.position;
    });
    return;
  }
  std::uint32_t counts[kDigits][kDigitValues] = {};
  for (std::size_t i = 0; i < count; ++i) {
    for (unsigned digit = 0; digit < kDigits; ++digit) {
      ++counts[digit][digit_of(entries[i].position, digit)];
    }
  }
  SortEntry* from = entries;
  SortEntry* to = scratch;
  for (unsigned digit = 0; digit < kDigits; ++digit) {
    std::uint32_t* const places = counts[digit];
    if (places[digit_of(from[0].position, digit)] == count) continue;
    std::uint32_t place = 0;
    for (std::size_t value = 0; value < kDigitValues; ++value) {
      place += std::exchange(places[value], place);
    }
    for (std::size_t i = 0; i < count; ++i) {
      to[places[digit_of(from[i].position, digit)]++] = from[i];
    }
    std::swap(from, to);
  }
  if (from != entries) std::memcpy(entries, from, count * sizeof(SortEntry));
}

struct Bucket {
  const char* memory;
  StorageKind kind;

  const RecordEntry* at(const SortEntry& entry) const { return entry_of(memory, entry); }
  void prefetch(const SortEntry* entries, std::size_t index, std::size_t count) const {
    if (index + kPrefetchEntries >= count) return;
    base::prefetch_lines(at(entries[index + kPrefetchEntries]), 2 * sizeof(RecordEntry));
  }
};

void compare_sort(const Bucket& bucket, SortEntry* entries, std::size_t count) {
  const auto less = [&bucket](const SortEntry& a, const SortEntry& b) {
    return is_before(bucket.at(a)->record(), bucket.at(b)->record());
  };
  // Mostly they came in their order.
  if (!std::is_sorted(entries, entries + count, less)) std::sort(entries, entries + count, less);
}

bool have_one_key(const Bucket& bucket, const SortEntry* entries, std::size_t count) {
  if (bucket.kind == StorageKind::kArray || bucket.kind == StorageKind::kSequential) return true;
  const std::string_view first = bucket.at(entries[0])->log()->key();
  for (std::size_t i = 1; i < count; ++i) {
    bucket.prefetch(entries, i, count);
    if (bucket.at(entries[i])->log()->key() != first) return false;
  }
  return true;
}

// Calls `sort` for each run of entries with equal positions.
template <typename Sort>
void for_each_run(SortEntry* entries, std::size_t count, Sort&& sort) {
  std::size_t begin = 0;
  for (std::size_t i = 1; i <= count; ++i) {
    if (i != count && entries[i].position == entries[begin].position) continue;
    if (i - begin > 1) sort(entries + begin, i - begin);
    begin = i;
  }
}

// Sorts entries whose keys are equal up to byte 8 * slices. Leaves anything in `position`.
void sort_run(const Bucket& bucket, SortEntry* entries, SortEntry* scratch, std::size_t count,
              unsigned slices) {
  if (count < kRunMin) return compare_sort(bucket, entries, count);
  if (have_one_key(bucket, entries, count)) {
    for (std::size_t i = 0; i < count; ++i) {
      bucket.prefetch(entries, i, count);
      entries[i].position = bucket.at(entries[i])->log()->tid;
    }
    radix_sort(entries, scratch, count);
    for_each_run(entries, count, [&bucket](SortEntry* run, std::size_t run_count) {
      compare_sort(bucket, run, run_count);
    });
    return;
  }
  if (bucket.kind != StorageKind::kMasstree || slices == kSlicesMax) {
    return compare_sort(bucket, entries, count);
  }
  for (std::size_t i = 0; i < count; ++i) {
    bucket.prefetch(entries, i, count);
    const std::string_view key = bucket.at(entries[i])->log()->key();
    const std::size_t skipped = std::min<std::size_t>(key.size(), slices * 8);
    entries[i].position = storage::masstree::slice_of(key.substr(skipped));
  }
  radix_sort(entries, scratch, count);
  for_each_run(entries, count, [&](SortEntry* run, std::size_t run_count) {
    sort_run(bucket, run, scratch, run_count, slices + 1);
  });
}

}  // namespace

void sort_bucket(const char* memory, StorageKind kind, SortEntry* entries, SortEntry* scratch,
                 std::size_t count) {
  const Bucket bucket{memory, kind};
  radix_sort(entries, scratch, count);
  for_each_run(entries, count, [&](SortEntry* run, std::size_t run_count) {
    const std::uint64_t position = run[0].position;
    sort_run(bucket, run, scratch, run_count, 1);
    for (std::size_t i = 0; i < run_count; ++i) run[i].position = position;
  });
}

}  // namespace foedus::gleaner
