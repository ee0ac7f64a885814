// Keys of several parts, of foedus_c.h.
#include <cstdlib>
#include <cstring>

#include "foedus-core/c/handles.h"
#include "foedus/key_decode.h"

namespace foedus::c {

namespace {

// Reads the part at *at as a T. Moves *at by the size of its key, which is the one of the bytes
// that were read: a key has one form.
template <typename T>
Status read_part(const void* key, std::size_t key_bytes, std::size_t* at, T* part) {
  if (at == nullptr || *at > key_bytes) {
    return Status::error(ErrorCode::kInvalidArgument, "the place of the part is not in the key");
  }
  internal::KeyReader reader(view_of(key, key_bytes).substr(*at));
  if (!reader.read(part)) return std::move(reader).finish();
  *at += foedus::key(*part).size();
  return {};
}

template <typename T>
int read_number(const void* key, std::size_t key_bytes, std::size_t* at, T* part,
                foedus_error* error) noexcept {
  if (part == nullptr) return report_invalid("the place for the part is NULL", error);
  return reporting(error, [&] { return read_part(key, key_bytes, at, part); });
}

}  // namespace

}  // namespace foedus::c

using namespace foedus;     // NOLINT: the functions below are in no namespace
using namespace foedus::c;  // NOLINT: as above

foedus_key* foedus_key_new() { return new (std::nothrow) foedus_key; }

void foedus_key_free(foedus_key* key) {
  if (is_valid(key)) delete key;
}

void foedus_key_clear(foedus_key* key) {
  if (is_valid(key)) key->key = Key();
}

void foedus_key_add_signed(foedus_key* key, std::int64_t part) {
  if (is_valid(key)) key->key.append(part);
}

void foedus_key_add_unsigned(foedus_key* key, std::uint64_t part) {
  if (is_valid(key)) key->key.append(part);
}

void foedus_key_add_double(foedus_key* key, double part) {
  if (is_valid(key)) key->key.append(part);
}

void foedus_key_add_string(foedus_key* key, const void* part, std::size_t part_bytes) {
  if (is_valid(key)) key->key.append(view_of(part, part_bytes));
}

void foedus_key_add_string_prefix(foedus_key* key, const void* part, std::size_t part_bytes) {
  if (is_valid(key)) key->key.append_prefix(view_of(part, part_bytes));
}

void foedus_key_add_raw(foedus_key* key, const void* part, std::size_t part_bytes) {
  if (is_valid(key)) key->key.append_raw(part, part_bytes);
}

const void* foedus_key_bytes(const foedus_key* key, std::size_t* bytes) {
  const std::string_view view = is_valid(key) ? key->key.view() : std::string_view();
  store(view.size(), bytes);
  return view.data();
}

int foedus_key_read_signed(const void* key, std::size_t key_bytes, std::size_t* at,
                           std::int64_t* part, foedus_error* error) {
  return read_number(key, key_bytes, at, part, error);
}

int foedus_key_read_unsigned(const void* key, std::size_t key_bytes, std::size_t* at,
                             std::uint64_t* part, foedus_error* error) {
  return read_number(key, key_bytes, at, part, error);
}

int foedus_key_read_double(const void* key, std::size_t key_bytes, std::size_t* at, double* part,
                           foedus_error* error) {
  return read_number(key, key_bytes, at, part, error);
}

int foedus_key_read_string(const void* key, std::size_t key_bytes, std::size_t* at, char** part,
                           std::size_t* part_bytes, foedus_error* error) {
  if (part == nullptr) return report_invalid("the place for the part is NULL", error);
  *part = nullptr;
  return reporting(error, [&]() -> Status {
    const std::size_t begin = at == nullptr ? 0 : *at;
    std::string found;
    FOEDUS_CHECK(read_part(key, key_bytes, at, &found));
    *part = static_cast<char*>(std::malloc(found.size() + 1));
    if (*part == nullptr) {
      *at = begin;
      return ErrorCode::kOutOfMemory;
    }
    std::memcpy(*part, found.c_str(), found.size() + 1);
    store(found.size(), part_bytes);
    return {};
  });
}
