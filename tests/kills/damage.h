#pragma once
// Damage: what a keeper has to notice, done on purpose to a database between two processes, for the
// tests of the keeper.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "foedus/status.h"

namespace foedus::kills {

enum class Damage : std::uint8_t {
  kNone,
  kOldFiles,  // those of one process earlier: all that the last one committed is lost
  kTeller,    // a teller's number of transfers, one too small: a transaction kept in part
  kMoney,     // a cent more in an account of the array
  kSlip,      // a slip that is not there, or one more
  kReceipt,   // the last one twice; found where all is checked
};

// By its name: none, old-files, teller, money, slip, receipt.
std::optional<Damage> damage_of(std::string_view name);

// Does it to the closed database in `dir`. kOldFiles: puts back what keep_files() kept. In a
// process of its own. REQUIRES: no other thread.
Status do_damage(Damage damage, const std::string& dir);
// Keeps the files of `dir` as they are.
Status keep_files(const std::string& dir);

}  // namespace foedus::kills
