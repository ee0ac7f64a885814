#pragma once

#include <cstdint>

namespace foedus::storage {

// Conditions of a write of a whole payload on its key.
enum class WriteMode : std::uint8_t {
  kPut,     // nothing: the row may be there or not, and the transaction does not remember which
  kInsert,  // that it is not there; else kAlreadyExists
  kUpdate,  // that it is there; else kNotFound
};

}  // namespace foedus::storage
