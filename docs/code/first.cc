// first.cc: counts its own runs.
#include <foedus/foedus.h>

#include <cstdio>

foedus::Result<int> count_run(const char* dir) {
  FOEDUS_TRY(auto db, foedus::Database::open({.dir = dir}));  // made if it is missing
  FOEDUS_TRY(auto runs, db.open_masstree("runs"));            // a storage: a table, if you like
  const auto count = [&](foedus::Txn& txn) -> foedus::Result<int> {
    const auto old = txn.get_as<int>(runs, foedus::key("first.cc"));
    if (!old && old.code() != foedus::ErrorCode::kNotFound) return old.status();
    const int now = old ? *old + 1 : 1;
    FOEDUS_CHECK(txn.put(runs, foedus::key("first.cc"), now));
    return now;
  };
  return db.transact(count, {.durability = foedus::Durability::kSync});  // on the device
}

int main(int argc, char** argv) {
  const auto count = count_run(argc > 1 ? argv[1] : "first_db");
  if (!count) return std::fprintf(stderr, "%s\n", count.status().message().c_str()), 1;
  std::printf("run %d in C++\n", *count);  // run 1 in C++
  return 0;
}
