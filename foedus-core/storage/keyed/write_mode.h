#pragma once

#include <cstdint>

namespace foedus::storage {

// What a write of a whole payload requires of its key.
enum class WriteMode : std::uint8_t {
  kPut,     // nothing: the row may be there or not, and the transaction does not remember which
  kInsert,  // that it is not there; else kAlreadyExists
  kUpdate,  // that it is there; else kNotFound
};

}  // namespace foedus::storage
