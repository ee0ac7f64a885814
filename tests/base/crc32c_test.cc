#include "foedus-core/base/crc32c.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <string>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "tests/base/test_seed.h"

namespace foedus::base::crc32c_test {
namespace {

// Computes the checksum by its definition, one bit at a time.
std::uint32_t crc32c_by_bits(const unsigned char* data, std::size_t bytes) {
  std::uint32_t crc = 0xffffffffu;
  for (std::size_t i = 0; i < bytes; ++i) {
    crc ^= data[i];
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0u);
  }
  return ~crc;
}

// Vectors of RFC 3720, appendix B.4, and the check value of the catalogue of CRCs.
TEST(Crc32cTest, matches_published_vectors) {
  EXPECT_EQ(crc32c("123456789", 9), 0xe3069283u);
  EXPECT_EQ(crc32c("", 0), 0u);
  EXPECT_EQ(crc32c(std::string(32, '\0').data(), 32), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff').data(), 32), 0x62a8ab43u);
  std::string ascending(32, '\0');
  for (std::size_t i = 0; i < ascending.size(); ++i) ascending[i] = static_cast<char>(i);
  EXPECT_EQ(crc32c(ascending.data(), 32), 0x46dd794eu);
}

TEST(Crc32cTest, matches_the_definition_at_every_length_and_alignment) {
  Random random(testing::test_seed(1));
  std::vector<unsigned char> data(5000);
  for (unsigned char& byte : data) byte = static_cast<unsigned char>(random.next());
  for (std::size_t bytes = 0; bytes <= 2000; ++bytes) {
    const std::size_t begin = bytes % 17;
    ASSERT_EQ(crc32c(data.data() + begin, bytes), crc32c_by_bits(data.data() + begin, bytes))
        << bytes;
  }
  ASSERT_EQ(crc32c(data.data(), data.size()), crc32c_by_bits(data.data(), data.size()));
}

// Every length up to 2000 is split at its ends, at the length from which the fast method is used,
// and at random.
TEST(Crc32cTest, continues_from_any_split) {
  Random random(testing::test_seed(2));
  std::vector<unsigned char> data(2000);
  for (unsigned char& byte : data) byte = static_cast<unsigned char>(random.next());
  for (std::size_t bytes = 0; bytes <= data.size(); ++bytes) {
    const std::uint32_t whole = crc32c(data.data(), bytes);
    for (const std::size_t cut :
         {std::size_t{0}, std::min<std::size_t>(bytes, 160), bytes - bytes / 3, bytes,
          static_cast<std::size_t>(random.below(bytes + 1))}) {
      const std::uint32_t first = crc32c(data.data(), cut);
      ASSERT_EQ(crc32c(data.data() + cut, bytes - cut, first), whole) << bytes << " cut at " << cut;
    }
  }
}

// Every length up to 2000 lies at the end of a page, and at the begin of one, with no memory beside
// it.
TEST(Crc32cTest, looks_at_nothing_beside_its_bytes) {
  constexpr std::size_t kPage = 4096;
  void* const mapped =
      mmap(nullptr, 3 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  auto* const begin = static_cast<unsigned char*>(mapped) + kPage;
  ASSERT_EQ(mprotect(begin, kPage, PROT_READ | PROT_WRITE), 0);
  Random random(testing::test_seed(3));
  for (std::size_t i = 0; i < kPage; ++i) begin[i] = static_cast<unsigned char>(random.next());
  for (std::size_t bytes = 0; bytes <= 2000; ++bytes) {
    const unsigned char* const last = begin + kPage - bytes;
    ASSERT_EQ(crc32c(begin, bytes), crc32c_by_bits(begin, bytes)) << bytes;
    ASSERT_EQ(crc32c(last, bytes), crc32c_by_bits(last, bytes)) << bytes;
  }
  munmap(mapped, 3 * kPage);
}

}  // namespace
}  // namespace foedus::base::crc32c_test
