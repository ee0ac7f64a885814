// A savepoint, and the examination of a directory that has nothing else.
#include "foedus-core/base/crc32c.h"
#include "foedus-core/log/log_directory.h"
#include "foedus-core/log/savepoint.h"
#include "tests/fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace foedus;
  constexpr std::size_t kSlot = 4096;
  const fuzz::Input input(data, size);
  std::string bytes = input.bytes();
  if (input.is_mended()) {
    for (std::size_t slot = 0; slot + kSlot <= bytes.size(); slot += kSlot) {
      constexpr std::size_t kCrc = offsetof(log::Savepoint, crc);
      fuzz::store(&bytes, slot + kCrc, std::uint32_t{0});
      fuzz::store(&bytes, slot + kCrc, base::crc32c(bytes.data() + slot, kSlot));
    }
  }
  fuzz::InputDevice device(std::string(log::kSavepointName), bytes);
  static_cast<void>(log::read_savepoint(&device).is_ok());
  static_cast<void>(log::examine_log(&device).is_ok());
  return 0;
}
