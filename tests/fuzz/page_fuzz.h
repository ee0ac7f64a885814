#pragma once
// A snapshot page: it gets the checks of a read, and if it breaks no rule, the functions of readers
// run on it.

#include "foedus-core/page/page_bytes.h"
#include "foedus-core/page/page_header.h"
#include "foedus-core/storage/page_check.h"
#include "tests/fuzz/fuzz_input.h"

namespace foedus::fuzz {

using page::PageBytes;

inline constexpr Epoch kNewest{1'000};

// Fills *page with the input, of one of the kinds first .. last, and with a sound header if it is
// mended. Returns whether it breaks no rule; a reader checks no more of a page alone.
inline bool take_page(const Input& input, page::PageKind first, page::PageKind last,
                      PageBytes* page) {
  const std::string bytes = input.first(page::kPageBytes);
  std::memcpy(page->bytes, bytes.data(), sizeof(page->bytes));
  page::PageHeader& header = *page->header();
  const auto kinds = static_cast<std::uint8_t>(last) - static_cast<std::uint8_t>(first) + 1;
  const auto kind = static_cast<std::uint8_t>(header.kind);
  const bool is_of_kind = kind >= static_cast<std::uint8_t>(first) &&
                          kind <= static_cast<std::uint8_t>(last);
  if (!is_of_kind) {
    header.kind =
        static_cast<page::PageKind>(static_cast<std::uint8_t>(first) + kind % kinds);
  }
  if (input.is_mended()) {
    header.lock.store_relaxed(0);
    header.purged_tid = 0;
    header.version.store_relaxed(header.version.load_relaxed() & 0xffffffff);
    header.birth_version = header.version.load_relaxed();
  }
  return storage::broken_rule(header, kNewest) == nullptr;
}

// Reads all of the bytes.
inline void look_at(const char* at, std::size_t bytes) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < bytes; ++i) sum += static_cast<unsigned char>(at[i]);
  [[maybe_unused]] volatile std::uint64_t seen = sum;
}

}  // namespace foedus::fuzz
