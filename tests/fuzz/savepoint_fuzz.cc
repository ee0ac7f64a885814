// A savepoint, and the examination of a directory that has it and, if the input goes on behind it,
// one segment: the first one of the first logger.
#include "foedus-core/base/crc32c.h"
#include "foedus-core/log/log_directory.h"
#include "foedus-core/log/savepoint.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/segment_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace foedus;
  constexpr std::size_t kSlot = 4096;
  constexpr std::size_t kSavepointBytes = 2 * kSlot;
  const fuzz::Input input(data, size);
  std::string bytes = input.bytes().substr(0, kSavepointBytes);
  std::string segment = input.bytes().substr(bytes.size());
  if (input.is_mended()) {
    for (std::size_t slot = 0; slot + kSlot <= bytes.size(); slot += kSlot) {
      constexpr std::size_t kCrc = offsetof(log::Savepoint, crc);
      fuzz::store(&bytes, slot + kCrc, std::uint32_t{0});
      fuzz::store(&bytes, slot + kCrc, base::crc32c(bytes.data() + slot, kSlot));
    }
    fuzz::mend_cut_segment(&segment);
  }
  std::map<std::string, std::string, std::less<>> files;
  files.emplace(log::kSavepointName, std::move(bytes));
  if (!segment.empty()) files.emplace(log::segment_name(0, 1), std::move(segment));
  fuzz::InputDevice device(std::move(files));
  static_cast<void>(log::read_savepoint(&device).is_ok());
  static_cast<void>(log::examine_log(&device).is_ok());
  return 0;
}
