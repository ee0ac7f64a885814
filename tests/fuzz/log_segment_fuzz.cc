// Reads a segment: its header and seal, the tail of an unsealed one, all records of its frames.
#include <algorithm>

#include "foedus-core/log/segments/format.h"
#include "foedus-core/log/segments/reader.h"
#include "foedus-core/log/segments/records.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/segment_input.h"

namespace foedus::fuzz {
namespace {

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
  if (input.is_mended()) fuzz::mend_cut_segment(&bytes);
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
