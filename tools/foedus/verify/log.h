#pragma once
// Verifies every frame of the log up to the end of each segment, and every record in them.

#include <cstdint>
#include <optional>

#include "tools/foedus/closed_database.h"
#include "tools/foedus/finding.h"

namespace foedus::cli {

struct LogVerified {
  std::uint64_t segments = 0;
  std::uint64_t bytes = 0;  // of frames
  std::uint64_t frames = 0;
  std::uint64_t records = 0;
  // Commits up to this epoch are durable. Unless the log was closed cleanly, later epochs without a
  // commit may be durable, too (L18).
  std::uint64_t durable_epoch = 0;
  bool was_closed_cleanly = false;
  std::optional<log::FoundLog> found;  // none if the log cannot be read
};

// Verifies the log. kWrongVersion: its format is not known. All else is a finding.
Result<LogVerified> verify_log(const ClosedDatabase& database, Findings* findings);

}  // namespace foedus::cli
