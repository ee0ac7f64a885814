#pragma once
// Which segments the log of a damaged database has, and what bounds its whole epoch.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "foedus-core/log/segments/format.h"
#include "foedus/epoch.h"
#include "foedus/status.h"
#include "tools/foedus/closed_database.h"
#include "tools/foedus/salvage/losses.h"

namespace foedus::cli {

// A segment, or the place of one that cannot be read.
struct SalvageSegment {
  std::uint32_t logger = 0;
  std::uint32_t number = 0;
  bool is_readable = false;  // if not, a loss says why
  bool is_whole = true;      // its end and its cut are known; if not, a loss says why
  log::SegmentHeader header{};
  std::optional<std::uint64_t> end_bytes;  // none: at the first frame that does not check out
  Epoch cut{Epoch::kMax};                  // records of later epochs do not exist
  std::optional<log::SegmentSeal> seal;    // of frames that are not read yet

  std::string name() const { return log::segment_name(logger, number); }
};

struct SalvageLog {
  std::vector<SalvageSegment> segments;  // by logger and number
  Epoch limit{Epoch::kMax};              // the whole epoch is not above it
  // Loggers whose last mark bounds the whole epoch: those of an incarnation that was not closed.
  std::uint32_t marking_loggers = 0;
};

// Finds the segments of a log. `covered`: the epoch that the snapshot covers. Fails as
// read_log_tail() does.
Result<SalvageLog> find_segments(const ClosedDatabase& database, Epoch covered, Losses* losses);

}  // namespace foedus::cli
