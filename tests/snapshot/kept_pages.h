#pragma once
// Pages of the SSD tier that are made for NvmPages, and calls that check them.

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "foedus-core/page/page_bytes.h"
#include "foedus-core/snapshot/files/format.h"
#include "foedus-core/snapshot/nvm_pages.h"

namespace foedus::snapshot {

inline constexpr std::uint64_t kBytes = 2u << 20;
inline constexpr std::uint64_t kSlots = kBytes / page::kPageBytes;
inline constexpr std::uint64_t kName = 77;

inline page::SnapshotPageId id_of(std::uint32_t number) {
  return {page::SnapshotNumber{3}, 1, number};
}

inline page::PageBytes page_bytes_of(std::uint32_t number) {
  page::PageBytes page = {};
  std::memset(page.bytes, static_cast<int>('a' + number % 26), sizeof(page.bytes));
  page.header()->page_id = id_of(number).word();
  const std::uint32_t crc = checksum_of(page.bytes, page::kPageBytes);
  std::memcpy(page.bytes + kChecksumOffset, &crc, sizeof(crc));
  return page;
}

inline bool is_whole(const page::PageBytes& page, std::uint32_t number) {
  return std::memcmp(page.bytes, page_bytes_of(number).bytes, page::kPageBytes) == 0;
}

class KeptPagesTest : public ::testing::Test {
 protected:
  void add(std::uint32_t number) { pages->add(id_of(number), page_bytes_of(number).header()); }
  NvmPages::Found read(std::uint32_t number) {
    page::PageBytes to = {};
    const NvmPages::Found found = pages->read(id_of(number), to.header());
    if (found == NvmPages::Found::kPage) {
      EXPECT_TRUE(is_whole(to, number)) << number;
    }
    return found;
  }
  std::uint32_t count_found(std::uint32_t from, std::uint32_t to) {
    std::uint32_t count = 0;
    for (std::uint32_t i = from; i <= to; ++i) count += read(i) == NvmPages::Found::kPage ? 1 : 0;
    return count;
  }

  std::unique_ptr<NvmPages> pages;
};

}  // namespace foedus::snapshot
