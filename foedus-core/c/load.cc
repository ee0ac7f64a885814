// Bulk loads of foedus_c.h.
#include "foedus-core/c/handles.h"
#include "foedus-core/c/rows.h"

using namespace foedus;     // NOLINT: the functions below are in no namespace
using namespace foedus::c;  // NOLINT: as above

int foedus_load_begin(foedus_db* db, const char* name, std::size_t name_bytes, foedus_load** load,
                      foedus_error* error) {
  if (load == nullptr) return report_invalid("the place for the load is NULL", error);
  *load = nullptr;
  if (!is_valid(db)) return report_no_handle("db", error);
  return reporting(error, [&]() -> Status {
    FOEDUS_TRY(BulkLoad begun, db->database->load_masstree(view_of(name, name_bytes)));
    *load = new foedus_load(std::move(begun));
    return {};
  });
}

int foedus_load_rows(foedus_load* load, const void* rows, std::size_t rows_bytes, std::size_t* done,
                     foedus_error* error) {
  store(std::size_t{0}, done);
  if (!is_valid(load)) return report_no_handle("load", error);
  if (!are_rows(view_of(rows, rows_bytes))) {
    return report_invalid("the bytes do not end with a row", error);
  }
  return reporting(error, [&]() -> Status {
    std::size_t added = 0;
    for (std::string_view left = view_of(rows, rows_bytes); !left.empty();) {
      const Row row = take_row(&left);
      FOEDUS_CHECK(load->load.add(row.key, row.payload));
      store(++added, done);
    }
    return {};
  });
}

int foedus_load_finish(foedus_load* load, foedus_storage** storage, foedus_error* error) {
  if (storage == nullptr) return report_invalid("the place for the storage is NULL", error);
  *storage = nullptr;
  if (!is_valid(load)) return report_no_handle("load", error);
  return reporting(error, [&]() -> Status {
    FOEDUS_TRY(const Masstree made, load->load.finish());
    *storage = new foedus_storage{{}, made};
    return {};
  });
}

void foedus_load_free(foedus_load* load) {
  if (is_valid(load)) delete load;
}
