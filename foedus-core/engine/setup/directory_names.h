#pragma once
// DirectoryNames: the directories of a database, as the options of the same names.

#include <string>
#include <vector>

namespace foedus::engine {

struct DirectoryNames {
  std::string dir;
  std::vector<std::string> dirs = {};
  std::vector<std::string> ssd_dirs = {};
};

}  // namespace foedus::engine
