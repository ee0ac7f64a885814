#include "foedus-core/device/tiers/extent_map.h"

#include <bit>
#include <string>

#include "foedus-core/base/crc32c.h"
#include "foedus-core/base/invariant.h"

namespace foedus::device {

namespace {

constexpr std::uint64_t kMapMagic = 0x5352454954444546;         // "FEDTIERS"
constexpr std::uint64_t kVersionUnit = std::uint64_t{1} << 32;  // of the second word
constexpr std::uint64_t kMapVersion = 1;
constexpr std::size_t kHeaderWords = 2;

// Returns the word as FORMAT.md has it: the bits below, their checksum above; 0 without bits.
std::uint64_t sealed(std::uint64_t index, std::uint32_t bits) {
  if (bits == 0) return 0;
  const std::uint64_t words[2] = {index, bits};
  return std::uint64_t{base::crc32c(words, sizeof(words))} << 32 | bits;
}

std::uint64_t version_word() { return kMapVersion * kVersionUnit + kExtentBytes; }

}  // namespace

std::vector<ExtentRun> runs_of(const std::vector<std::uint64_t>& extents, std::uint64_t most) {
  std::vector<ExtentRun> runs;
  for (const std::uint64_t extent : extents) {
    const bool is_next = !runs.empty() && runs.back().count < most &&
                         runs.back().first + runs.back().count == extent;
    if (is_next) {
      ++runs.back().count;
    } else {
      runs.push_back({extent, 1});
    }
  }
  return runs;
}

ExtentMap::ExtentMap(std::uint64_t file_bytes)
    : on_ssd_((extents_of(file_bytes) + kBits - 1) / kBits), was_read_(extents_of(file_bytes)) {
  for (auto& word : was_read_) word.store_relaxed(1);  // order: relaxed, no other thread has it
}

std::uint64_t ExtentMap::count_on_ssd() const {
  std::uint64_t count = 0;
  for (const auto& word : on_ssd_) {
    // order: relaxed. If the mover changes the map meanwhile, the count may be too low:
    // TieredFile then opens the part on the SSD when a read needs it.
    count += static_cast<std::uint64_t>(std::popcount(word.load_relaxed()));
  }
  return count;
}

bool ExtentMap::take_read(std::uint64_t extent) {
  // order: relaxed twice, as in note_read(). A read in between is forgotten.
  if (was_read_[extent].load_relaxed() == 0) return false;
  was_read_[extent].store_relaxed(0);
  return true;
}

void ExtentMap::set_on_ssd(std::uint64_t extent) {
  FOEDUS_INVARIANT(extent < extents(), extent, extents());
  auto& word = on_ssd_[extent / kBits];
  // order: relaxed, one thread changes it; release, pairs with is_on_ssd().
  word.store_release(word.load_relaxed() | 1u << (extent % kBits));
}

Status ExtentMap::read(const File& file) {
  std::vector<std::uint64_t> found(kHeaderWords + words());
  FOEDUS_TRY(const std::size_t bytes,
             file.read_at(0, found.data(), found.size() * sizeof(std::uint64_t)));
  static_cast<void>(bytes);  // what is missing is zero
  if (found[0] == 0) return {};
  if (found[0] != kMapMagic) {
    return Status::error(ErrorCode::kCorruption,
                         file.path() + " is damaged: it does not begin like a map of extents");
  }
  if (found[1] != version_word()) {
    const std::uint64_t version = found[1] / kVersionUnit;
    if (version == kMapVersion || version == 0) {
      return Status::error(ErrorCode::kCorruption, file.path() + " is damaged in its second word");
    }
    return Status::error(ErrorCode::kWrongVersion,
                         file.path() + " has format version " + std::to_string(version) +
                             ", this program knows " + std::to_string(kMapVersion));
  }
  for (std::size_t i = 0; i < words(); ++i) {
    const auto bits = static_cast<std::uint32_t>(found[kHeaderWords + i]);
    if (found[kHeaderWords + i] != sealed(i, bits)) {
      return Status::error(ErrorCode::kCorruption, file.path() + ": the checksum of word " +
                                                       std::to_string(kHeaderWords + i) +
                                                       " is wrong");
    }
    // The last word of an orphaned file may have bits of extents that were never written.
    const std::uint64_t left = extents() - i * kBits;
    const std::uint32_t there = left >= kBits ? ~0u : (1u << left) - 1;
    on_ssd_[i].store_relaxed(bits & there);  // order: relaxed, no other thread has the map
  }
  return {};
}

Status ExtentMap::write(File* file) const {
  std::vector<std::uint64_t> all = {kMapMagic, version_word()};
  for (std::size_t i = 0; i < words(); ++i) {
    // order: relaxed, only the caller changes it.
    all.push_back(sealed(i, on_ssd_[i].load_relaxed()));
  }
  FOEDUS_CHECK(file->write_at(0, all.data(), all.size() * sizeof(std::uint64_t)));
  return file->sync();
}

Status ExtentMap::write_with(const std::vector<std::uint64_t>& extents, File* file) const {
  for (std::size_t i = 0; i < extents.size();) {
    const std::uint64_t index = extents[i] / kBits;
    FOEDUS_INVARIANT(index < words(), extents[i]);
    std::uint32_t bits = on_ssd_[index].load_relaxed();  // order: relaxed, as in write()
    for (; i < extents.size() && extents[i] / kBits == index; ++i) {
      bits |= 1u << (extents[i] % kBits);
    }
    const std::uint64_t word = sealed(index, bits);
    const std::uint64_t offset = (kHeaderWords + index) * sizeof(word);
    FOEDUS_CHECK(file->write_at(offset, &word, sizeof(word)));
  }
  return file->sync();
}

}  // namespace foedus::device
