// Reads a savepoint, of which the input has two slots, and examines a directory that has it. If the
// input goes on after the slots, the directory also has the first segment of the first logger.
#include <cstring>

#include "foedus-core/base/crc32c.h"
#include "foedus-core/log/log_directory.h"
#include "foedus-core/log/savepoint.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/segment_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace foedus;
  constexpr std::size_t kSlot = 4096;
  const fuzz::Input input(data, size);
  std::string bytes = input.bytes().substr(0, 2 * kSlot);
  std::string segment = input.bytes().substr(bytes.size());
  if (input.is_mended()) {
    for (std::size_t slot = 0; slot + kSlot <= bytes.size(); slot += kSlot) {
      constexpr std::size_t kCrc = offsetof(log::Savepoint, crc);
      fuzz::store(&bytes, slot + kCrc, std::uint32_t{0});
      fuzz::store(&bytes, slot + kCrc, base::crc32c(bytes.data() + slot, kSlot));
    }
    fuzz::mend_cut_segment(&segment);
  }
  std::string savepoint(log::kSavepointSlots * kSlot, '\0');
  for (std::size_t slot = 0; slot < bytes.size(); slot += kSlot) {
    const std::string one = bytes.substr(slot, kSlot);
    std::uint64_t sequence = slot / kSlot;
    if (one.size() == kSlot) {
      std::memcpy(&sequence, one.data() + offsetof(log::Savepoint, sequence), sizeof(sequence));
    }
    savepoint.replace(sequence % log::kSavepointSlots * kSlot, one.size(), one);
  }
  std::map<std::string, std::string, std::less<>> files;
  files.emplace(log::kSavepointName, std::move(savepoint));
  if (!segment.empty()) files.emplace(log::segment_name(0, 1), std::move(segment));
  fuzz::InputDevice device(std::move(files));
  static_cast<void>(log::read_savepoint(&device).is_ok());
  static_cast<void>(log::examine_log(&device).is_ok());
  return 0;
}
