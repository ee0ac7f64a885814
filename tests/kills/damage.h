#pragma once
// Damage: faults that a keeper has to notice, made on purpose in a database between two processes,
// for the tests of the keeper.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "foedus/status.h"

namespace foedus::kills {

enum class Damage : std::uint8_t {
  kNone,
  kOldFiles,  // the files of one process earlier: all commits of the last one are lost
  kTeller,    // a teller's number of transfers, one too small: a transaction kept in part
  kMoney,     // one more cent in an account of the array
  kSlip,      // a missing slip, or one more
  kReceipt,   // the last one twice; found when all is checked
};

// Returns the damage of a name: none, old-files, teller, money, slip, receipt.
std::optional<Damage> damage_of(std::string_view name);

// Damages the closed database in `dir`, in a process of its own. kOldFiles restores the files of
// keep_files(). REQUIRES: no other thread.
Status do_damage(Damage damage, const std::string& dir);
// Copies the files of `dir`.
Status keep_files(const std::string& dir);

}  // namespace foedus::kills
