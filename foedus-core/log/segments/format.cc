#include "foedus-core/log/segments/format.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "foedus-core/base/crc32c.h"

namespace foedus::log {

namespace {

constexpr std::size_t kCrcOffset = 12;  // in both slots
static_assert(offsetof(SegmentHeader, crc) == kCrcOffset);
static_assert(offsetof(SegmentSeal, crc) == kCrcOffset);

std::uint32_t crc_of_slot(const char* slot) {
  constexpr char kZero[4] = {};
  std::uint32_t crc = base::crc32c(slot, kCrcOffset);
  crc = base::crc32c(kZero, sizeof(kZero), crc);
  return base::crc32c(slot + kCrcOffset + 4, kSlotBytes - kCrcOffset - 4, crc);
}

template <typename T>
T load(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

void seal_slot(char* slot) {
  const std::uint32_t crc = crc_of_slot(slot);
  std::memcpy(slot + kCrcOffset, &crc, sizeof(crc));
}

bool parse_number(std::string_view digits, std::uint32_t* number) {
  *number = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return false;
    *number = *number * 10 + static_cast<std::uint32_t>(c - '0');
  }
  return !digits.empty() && digits.size() <= 8;
}

}  // namespace

std::uint32_t crc_of_first_sector(const char* frame) {
  char sector[kSectorBytes];
  std::memcpy(sector, frame, sizeof(sector));
  std::memset(sector + offsetof(FrameHeader, crc), 0, sizeof(FrameHeader::crc));
  std::memset(sector + offsetof(FrameHeader, sector_crc), 0, sizeof(FrameHeader::sector_crc));
  return base::crc32c(sector, sizeof(sector));
}

std::uint32_t count_zero_sectors(const char* begin, std::size_t bytes) {
  static constexpr char kZeroes[kSectorBytes] = {};
  std::uint32_t count = 0;
  for (std::size_t at = 0; at < bytes; at += kSectorBytes) {
    if (std::memcmp(begin + at, kZeroes, kSectorBytes) == 0) ++count;
  }
  return count;
}

std::string segment_name(std::uint32_t logger, std::uint32_t number) {
  char name[40];
  std::snprintf(name, sizeof(name), "log-%u-%08u", logger, number);
  return name;
}

std::optional<SegmentName> parse_segment_name(std::string_view name) {
  constexpr std::string_view kPrefix = "log-";
  if (!name.starts_with(kPrefix)) return {};
  const std::size_t dash = name.find('-', kPrefix.size());
  if (dash == name.npos) return {};
  SegmentName parsed;
  if (!parse_number(name.substr(kPrefix.size(), dash - kPrefix.size()), &parsed.logger)) return {};
  if (!parse_number(name.substr(dash + 1), &parsed.number)) return {};
  if (segment_name(parsed.logger, parsed.number) != name) return {};
  return parsed;
}

SegmentBlock::SegmentBlock() { std::memset(bytes_, 0, sizeof(bytes_)); }

void SegmentBlock::set_header(SegmentHeader header) {
  header.magic = kSegmentMagic;
  header.version = kLogFormatVersion;
  std::memset(bytes_, 0, kSlotBytes);
  std::memcpy(bytes_, &header, sizeof(header));
  seal_slot(bytes_);
}

void SegmentBlock::set_seal(SegmentSeal seal) {
  seal.magic = kSealMagic;
  std::memset(bytes_ + kSlotBytes, 0, kSlotBytes);
  std::memcpy(bytes_ + kSlotBytes, &seal, sizeof(seal));
  seal_slot(bytes_ + kSlotBytes);
}

SegmentHeader SegmentBlock::header() const { return load<SegmentHeader>(bytes_); }
SegmentSeal SegmentBlock::seal() const { return load<SegmentSeal>(bytes_ + kSlotBytes); }

SegmentBlock::State SegmentBlock::header_state() const {
  const SegmentHeader found = header();
  if (found.magic != kSegmentMagic || found.crc != crc_of_slot(bytes_)) return State::kDamaged;
  return found.version == kLogFormatVersion ? State::kValid : State::kWrongVersion;
}

SegmentBlock::State SegmentBlock::seal_state() const {
  const char* const slot = bytes_ + kSlotBytes;
  const SegmentSeal found = seal();
  // V17: on persistent memory, a seal that was being written has no magic yet.
  if (found.magic == 0) return State::kAbsent;
  const bool is_valid = found.magic == kSealMagic && found.crc == crc_of_slot(slot);
  return is_valid ? State::kValid : State::kDamaged;
}

}  // namespace foedus::log
