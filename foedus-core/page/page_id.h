#pragma once
// Names of pages. A volatile page is named by its SOC and its place in that SOC's pool. A snapshot
// page is named by snapshot, SOC and place in that SOC's file. Both are 64 bits, and 0 is "no
// page".

#include <cstdint>

namespace foedus::page {

inline constexpr std::size_t kPageBytes = 4096;

enum class StorageId : std::uint32_t {};  // 0: no storage; never used again after a drop

// The high byte is the SOC. Below it is the page's number, which counts through the pools of all
// SOCs. So an id becomes an address by one shift and one addition (PagePool::resolve()), without a
// look at the SOC.
class VolatilePageId {
 public:
  static constexpr unsigned kSocShift = 56;
  static constexpr std::uint64_t kNumberMask = (std::uint64_t{1} << kSocShift) - 1;

  constexpr VolatilePageId() = default;
  constexpr explicit VolatilePageId(std::uint64_t word) : word_(word) {}
  constexpr VolatilePageId(std::uint32_t soc, std::uint64_t number)
      : word_((static_cast<std::uint64_t>(soc) << kSocShift) | number) {}

  constexpr std::uint64_t word() const { return word_; }
  constexpr bool is_null() const { return word_ == 0; }
  constexpr std::uint32_t soc() const { return static_cast<std::uint32_t>(word_ >> kSocShift); }
  constexpr std::uint64_t number() const { return word_ & kNumberMask; }
  constexpr bool operator==(const VolatilePageId&) const = default;

 private:
  std::uint64_t word_ = 0;
};

// A part of a page that its reader will look at, besides the first line.
struct PagePart {
  std::uint32_t offset = 0;
  std::uint32_t bytes = 0;
  // Names the lines (page_lines.h) that the reader looks at before it asks ColdPages::load() for
  // others. Then the rest of the page need not be loaded. 0: the whole page is loaded.
  std::uint64_t lines = 0;
};

// The number of a snapshot: 1, 2, 3, … in the order of their epochs; 0: none.
enum class SnapshotNumber : std::uint32_t {};

// 28 bits snapshot, 8 bits SOC, 28 bits page in that SOC's file of that snapshot.
class SnapshotPageId {
 public:
  static constexpr unsigned kPageBits = 28;
  static constexpr unsigned kSocBits = 8;
  static constexpr unsigned kSnapshotBits = 28;

  static constexpr std::uint32_t kSnapshotMax = (1u << kSnapshotBits) - 1;
  static constexpr std::uint32_t kSocMax = (1u << kSocBits) - 1;
  static constexpr std::uint32_t kPageMax = (1u << kPageBits) - 1;

  constexpr SnapshotPageId() = default;
  constexpr explicit SnapshotPageId(std::uint64_t word) : word_(word) {}
  // REQUIRES: each part within its bits; snapshot is not 0.
  constexpr SnapshotPageId(SnapshotNumber snapshot, std::uint32_t soc, std::uint32_t page)
      : word_((static_cast<std::uint64_t>(snapshot) << (kSocBits + kPageBits)) |
              (static_cast<std::uint64_t>(soc) << kPageBits) | page) {}

  constexpr std::uint64_t word() const { return word_; }
  constexpr SnapshotNumber snapshot() const {
    return SnapshotNumber{static_cast<std::uint32_t>(word_ >> (kSocBits + kPageBits))};
  }
  constexpr std::uint32_t soc() const {
    return static_cast<std::uint32_t>(word_ >> kPageBits) & kSocMax;
  }
  constexpr std::uint32_t page() const { return static_cast<std::uint32_t>(word_) & kPageMax; }
  // Returns the id of the page `pages` further on in the same file.
  constexpr SnapshotPageId plus(std::uint32_t pages) const { return SnapshotPageId(word_ + pages); }
  constexpr bool is_null() const { return word_ == 0; }
  constexpr bool operator==(const SnapshotPageId&) const = default;

 private:
  std::uint64_t word_ = 0;
};

}  // namespace foedus::page
