// The log record that creates a storage: a record that parses is encoded to the same bytes again,
// and has a shape that a storage can have. Input: parameters (16 bytes), then the name.
#include <cstdlib>

#include "foedus-core/page/page_id.h"
#include "foedus-core/storage/array/array_page.h"
#include "foedus-core/storage_meta/storage_meta.h"
#include "tests/fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace foedus;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const std::string parameters = bytes.substr(0, sizeof(storage_meta::StorageParameters));
  const std::string name = bytes.substr(parameters.size());
  const auto meta = storage_meta::parse(page::StorageId{1}, name, parameters);
  if (!meta.is_ok()) return 0;
  const auto again = storage_meta::parameters_of(*meta);
  if (std::memcmp(&again, parameters.data(), sizeof(again)) != 0) std::abort();
  if (meta->kind != StorageKind::kArray) return 0;
  const auto& shape = storage::array::shape_of(meta->payload_bytes);
  if (storage::array::levels_of(shape.pages_of(meta->records)) > storage::array::kLevelsMax) {
    std::abort();
  }
  return 0;
}
