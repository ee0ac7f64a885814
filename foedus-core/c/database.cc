// Databases and storages of foedus_c.h.
#include "foedus-core/c/handles.h"

namespace foedus::c {

namespace {

template <typename Opened>
int give_storage(Result<Opened> opened, foedus_storage** storage, foedus_error* error) noexcept {
  return reporting(error, [&]() -> Status {
    FOEDUS_CHECK(opened);
    *storage = new foedus_storage{{}, *std::move(opened)};
    return {};
  });
}

// Returns FOEDUS_OK if a call that opens a storage has what it needs.
int check_storage_call(const foedus_db* db, foedus_storage** storage,
                       foedus_error* error) noexcept {
  if (storage == nullptr) return report_invalid("the place for the storage is NULL", error);
  *storage = nullptr;
  return is_valid(db) ? FOEDUS_OK : report_no_handle("db", error);
}

}  // namespace

}  // namespace foedus::c

using namespace foedus;     // NOLINT: the functions below are in no namespace
using namespace foedus::c;  // NOLINT: as above

int foedus_open(const char* dir, const foedus_options* options, foedus_db** db,
                foedus_error* error) {
  if (db == nullptr) return report_invalid("the place for the database is NULL", error);
  *db = nullptr;
  if (dir == nullptr) return report_invalid("the directory is NULL", error);
  if (options != nullptr && !is_valid(options)) return report_no_handle("options", error);
  return reporting(error, [&]() -> Status {
    Options chosen;
    if (options != nullptr) chosen = options->options;
    chosen.dir = dir;
    FOEDUS_TRY(Database opened, Database::open(std::move(chosen)));
    *db = new foedus_db{{}, std::make_shared<Database>(std::move(opened))};
    return {};
  });
}

int foedus_close(foedus_db* db, foedus_error* error) {
  if (!is_valid(db)) return report_no_handle("db", error);
  return reporting(error, [&] { return db->database->close(); });
}

int foedus_db_free(foedus_db* db, foedus_error* error) {
  if (db == nullptr) return FOEDUS_OK;
  if (!is_valid(db)) return report_no_handle("db", error);
  const int code = reporting(error, [&]() -> Status {
    Status closed = db->database->close();
    if (closed.code() == ErrorCode::kClosed) return {};
    // A child of fork() frees its copy of the handle, and changes nothing else.
    if (closed.code() == ErrorCode::kForked) return {};
    return closed;
  });
  if (code == FOEDUS_BUSY) return code;
  delete db;
  return code;
}

int foedus_wait_recovered(foedus_db* db, std::uint64_t timeout_us, foedus_error* error) {
  if (!is_valid(db)) return report_no_handle("db", error);
  return reporting(error, [&] { return db->database->wait_recovered(timeout_us); });
}

std::uint64_t foedus_reserve_memory(foedus_db* db, std::uint64_t bytes) {
  return is_valid(db) ? db->database->reserve_memory(bytes) : 0;
}

std::uint64_t foedus_durable_epoch(const foedus_db* db) {
  return is_valid(db) ? db->database->durable_epoch().number() : 0;
}

int foedus_wait_durable(foedus_db* db, std::uint64_t timeout_us, foedus_error* error) {
  if (!is_valid(db)) return report_no_handle("db", error);
  return reporting(error, [&] { return db->database->wait_durable(timeout_us); });
}

int foedus_open_masstree(foedus_db* db, const char* name, std::size_t name_bytes,
                         foedus_storage** storage, foedus_error* error) {
  if (const int code = check_storage_call(db, storage, error); code != FOEDUS_OK) return code;
  return give_storage(db->database->open_masstree(view_of(name, name_bytes)), storage, error);
}

int foedus_open_hash(foedus_db* db, const char* name, std::size_t name_bytes,
                     std::uint64_t records_expected, foedus_storage** storage,
                     foedus_error* error) {
  if (const int code = check_storage_call(db, storage, error); code != FOEDUS_OK) return code;
  HashOptions options;
  if (records_expected != 0) options.records_expected = records_expected;
  return give_storage(db->database->open_hash(view_of(name, name_bytes), options), storage, error);
}

int foedus_open_array(foedus_db* db, const char* name, std::size_t name_bytes,
                      std::uint64_t records, std::uint32_t payload_bytes, foedus_storage** storage,
                      foedus_error* error) {
  if (const int code = check_storage_call(db, storage, error); code != FOEDUS_OK) return code;
  return give_storage(db->database->open_array(view_of(name, name_bytes), records, payload_bytes),
                      storage, error);
}

int foedus_open_sequential(foedus_db* db, const char* name, std::size_t name_bytes,
                           foedus_storage** storage, foedus_error* error) {
  if (const int code = check_storage_call(db, storage, error); code != FOEDUS_OK) return code;
  return give_storage(db->database->open_sequential(view_of(name, name_bytes)), storage, error);
}

void foedus_storage_free(foedus_storage* storage) {
  if (is_valid(storage)) delete storage;
}

int foedus_drop_storage(foedus_db* db, const char* name, std::size_t name_bytes,
                        foedus_error* error) {
  if (!is_valid(db)) return report_no_handle("db", error);
  return reporting(error, [&] { return db->database->drop_storage(view_of(name, name_bytes)); });
}

int foedus_storage_kind(const foedus_storage* storage) {
  return is_valid(storage) ? static_cast<int>(storage->base().kind()) : 0;
}

const char* foedus_storage_name(const foedus_storage* storage, std::size_t* bytes) {
  const std::string_view name = is_valid(storage) ? storage->base().name() : std::string_view();
  store(name.size(), bytes);
  return name.empty() ? "" : name.data();
}

std::uint32_t foedus_storage_id(const foedus_storage* storage) {
  return is_valid(storage) ? storage->base().id() : 0;
}

std::uint64_t foedus_storage_records(const foedus_storage* storage) {
  const Array* const array = is_valid(storage) ? std::get_if<Array>(&storage->handle) : nullptr;
  return array == nullptr ? 0 : array->records();
}

std::uint32_t foedus_storage_payload_bytes(const foedus_storage* storage) {
  const Array* const array = is_valid(storage) ? std::get_if<Array>(&storage->handle) : nullptr;
  return array == nullptr ? 0 : array->payload_bytes();
}
