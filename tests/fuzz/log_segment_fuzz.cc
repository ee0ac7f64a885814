// A segment: its header and seal, the tail of one that is not sealed, all records of its frames.
#include <algorithm>
#include <cstddef>

#include "foedus-core/base/crc32c.h"
#include "foedus-core/log/log_file.h"
#include "foedus-core/log/segment_reader.h"
#include "foedus-core/log/segment_records.h"
#include "tests/fuzz/fuzz_input.h"

namespace foedus::fuzz {
namespace {

using log::FrameHeader;
using log::kBlockBytes;

void mend(std::string* bytes, std::size_t begin, std::size_t count, std::size_t crc_offset) {
  store(bytes, begin + crc_offset, std::uint32_t{0});
  store(bytes, begin + crc_offset, base::crc32c(bytes->data() + begin, count));
}

// Slots, and frames as far as their lengths lead, each with the checksum of the one before. What a
// growth says is mended, too: inputs are cut.
void mend_all(std::string* bytes) {
  if (bytes->size() < kBlockBytes) return;
  mend(bytes, 0, log::kSlotBytes, offsetof(log::SegmentHeader, crc));
  mend(bytes, log::kSlotBytes, log::kSlotBytes, offsetof(log::SegmentSeal, crc));
  auto before = load<std::uint32_t>(*bytes, offsetof(log::SegmentHeader, crc));
  for (std::size_t at = kBlockBytes; at + kBlockBytes <= bytes->size();) {
    const auto count = load<std::uint32_t>(*bytes, at + offsetof(FrameHeader, frame_bytes));
    if (count < kBlockBytes || count % kBlockBytes != 0 || count > bytes->size() - at) return;
    if (load<log::FrameLayout>(*bytes, at + offsetof(FrameHeader, layout)) ==
        log::FrameLayout::kGrowth) {
      const auto said = load<std::uint64_t>(*bytes, at + sizeof(FrameHeader));
      store(bytes, at + sizeof(FrameHeader), std::min<std::uint64_t>(said, bytes->size()));
    }
    store(bytes, at + offsetof(FrameHeader, previous_crc), before);
    store(bytes, at + offsetof(FrameHeader, sector_crc),
          log::crc_of_first_sector(bytes->data() + at));
    mend(bytes, at, count, offsetof(FrameHeader, crc));
    before = load<std::uint32_t>(*bytes, at + offsetof(FrameHeader, crc));
    at += count;
  }
}

void read_all(const std::string& bytes, const log::SegmentHeader& header,
              std::uint64_t valid_bytes, Epoch cut) {
  log::SegmentRecords records(std::make_unique<InputFile>(bytes), header, valid_bytes, cut);
  std::uint64_t sum = 0;
  for (;;) {
    std::uint32_t session = 0;
    const auto record = records.next(&session);
    if (!record.is_ok() || *record == nullptr) break;
    for (const char c : (*record)->key()) sum += static_cast<unsigned char>(c);
    for (const char c : (*record)->payload()) sum += static_cast<unsigned char>(c);
  }
  [[maybe_unused]] volatile std::uint64_t seen = sum;
}

}  // namespace
}  // namespace foedus::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace foedus;
  const fuzz::Input input(data, size);
  std::string bytes = input.bytes();
  if (input.is_mended()) fuzz::mend_all(&bytes);
  if (bytes.size() < log::kBlockBytes) return 0;
  log::SegmentBlock block;
  std::memcpy(block.bytes(), bytes.data(), log::kBlockBytes);
  if (block.header_state() != log::SegmentBlock::State::kValid) return 0;
  log::SegmentHeader header = block.header();
  if (block.seal_state() == log::SegmentBlock::State::kValid) {
    const log::SegmentSeal seal = block.seal();
    fuzz::read_all(bytes, header, seal.valid_bytes, Epoch(seal.cut_epoch));
  }
  header.file_bytes = std::min<std::uint64_t>(header.file_bytes, bytes.size());  // inputs are cut
  const fuzz::InputFile file(bytes);
  for (const std::uint64_t anchor : {log::kBlockBytes, bytes.size()}) {
    const auto tail = log::scan_tail(file, header, anchor, 0);
    if (tail.is_ok()) fuzz::read_all(bytes, header, tail->valid_bytes, Epoch(Epoch::kMax));
  }
  return 0;
}
