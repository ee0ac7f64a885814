#pragma once
// DirectoryNames: the paths of a database's directories. The fields have the names and meanings of
// the options.

#include <string>
#include <vector>

namespace foedus::engine {

struct DirectoryNames {
  std::string dir;
  std::vector<std::string> dirs = {};
  std::vector<std::string> ssd_dirs = {};
};

}  // namespace foedus::engine
