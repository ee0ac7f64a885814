#pragma once
// The code of the pages, a function for each. Each one makes a database in the directory `dir`,
// which is missing, and returns an error if the engine does not do as the page says.

#include <foedus/foedus.h>

#include <string>

namespace docs {

foedus::Status modelling(const std::string& dir);
foedus::Status tables(const std::string& dir);
foedus::Status isolation(const std::string& dir);
foedus::Status durability(const std::string& dir);
foedus::Status errors(const std::string& dir);
foedus::Status operations(const std::string& dir);
foedus::Status changes(const std::string& dir);
foedus::Status porting(const std::string& dir);

// Returns success if `holds`, otherwise an error that names what does not hold.
inline foedus::Status expect(bool holds, const char* what) {
  if (holds) return {};
  return foedus::Status::error(foedus::ErrorCode::kInvalidArgument,
                               std::string("the page is wrong: ") + what);
}

// Opens the database of a page: a small one.
inline foedus::Result<foedus::Database> open_small(const std::string& dir) {
  return foedus::Database::open({.dir = dir, .memory_bytes = 128u << 20});
}

}  // namespace docs
