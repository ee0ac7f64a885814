#pragma once
// Names the owner of a line of memory, for figures and complaints.

#include <cstdint>
#include <string>
#include <vector>

#include "foedus-core/engine/engine.h"
#include "foedus-core/storage_meta/storage_control.h"
#include "foedus/database.h"
#include "tests/testing/engine_of.h"
#include "tests/txn/line_sharing/line_recorder.h"

namespace foedus::testing::lines {

class LineOwners {
 public:
  // The stacks of `threads` are known by name. The database stays open.
  LineOwners(Database& database, const std::vector<engine::EngineSession*>& sessions,
             const std::vector<occ::StorageControl*>& storages,
             const std::vector<ThreadUse>& threads);

  // Returns a name such as "page header, Master-Tree", equal for all sessions.
  std::string owner_of(std::uintptr_t line) const;

 private:
  struct Region {
    std::uintptr_t begin;
    std::uintptr_t end;
    std::string owner;
  };
  void add(const volatile void* begin, std::size_t bytes, const std::string& owner);

  std::vector<Region> regions_;  // the first that holds a line names it
  std::uintptr_t pages_begin_;
  std::uintptr_t pages_end_;
};

// Function and line of a code address, as far as the program knows them.
std::string place_of(const void* code);

}  // namespace foedus::testing::lines
