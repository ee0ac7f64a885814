// A manifest that parses is encoded to the same bytes again.
#include <cstdlib>

#include "foedus-core/snapshot/files/format.h"
#include "foedus-core/snapshot/files/manifest.h"
#include "tests/fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace foedus;
  const fuzz::Input input(data, size);
  std::string bytes = input.bytes();
  if (input.is_mended() && bytes.size() >= 24) {
    fuzz::store<std::uint64_t>(&bytes, 16, bytes.size());
    fuzz::store(&bytes, snapshot::kChecksumOffset,
                snapshot::checksum_of(bytes.data(), bytes.size()));
  }
  const auto manifest = snapshot::parse_manifest(bytes, "input");
  if (!manifest.is_ok()) return 0;
  const auto again = snapshot::encode_manifest(*manifest);
  if (!again.is_ok() || *again != bytes) std::abort();
  return 0;
}
