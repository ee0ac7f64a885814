#include "foedus-core/device/device.h"

#include "foedus-core/base/invariant.h"

namespace foedus::device {

Result<std::size_t> File::read_parts_at(std::uint64_t offset, const Bytes* parts,
                                        std::size_t count) const {
  FOEDUS_INVARIANT(count <= kReadPartsMax, count);
  std::size_t done = 0;
  for (std::size_t i = 0; i < count; ++i) {
    FOEDUS_TRY(const std::size_t read, read_at(offset + done, parts[i].data, parts[i].bytes));
    done += read;
    if (read < parts[i].bytes) break;
  }
  return done;
}

}  // namespace foedus::device
