#pragma once
// Population: which TPC-C database a store holds, if any, and how to make one.
//
//   empty ──populate()──► kLoading ──all rows durable──► kLoaded
//
// A load that was cut short leaves kLoading behind and is refused: its tables are neither empty nor
// full.

#include <cstdint>
#include <optional>

#include "experiments/common/backend.h"
#include "experiments/tpcc/loader.h"
#include "experiments/tpcc/tables.h"

namespace experiments::tpcc {

template <Backend B>
struct Population {
  LoadRow load;
  Tables<B> tables;
};

template <Backend B>
foedus::Status write_load_row(B& backend, typename B::Worker& worker,
                              const typename B::Table& table, const LoadRow& row) {
  const auto write = [&](typename B::Txn& txn) {
    return txn.put(table, KeyView{0, kLoadKey}, payload_of(row));
  };
  FOEDUS_CHECK(worker.transact(write));
  return backend.wait_durable();
}

// What the store holds; nothing if it is empty.
template <Backend B>
foedus::Result<std::optional<Population<B>>> find_population(B& backend) {
  FOEDUS_TRY(const typename B::Table table, open_load_table(backend));
  FOEDUS_TRY(typename B::Worker worker, backend.new_worker());
  LoadRow row;
  const foedus::Status found = worker.read_only([&](typename B::Txn& txn) {
    return txn.get(table, KeyView{0, kLoadKey}, bytes_of(row));
  });
  if (found.code() == foedus::ErrorCode::kNotFound) return std::optional<Population<B>>();
  FOEDUS_CHECK(found);
  if (row.magic != LoadRow::kMagic) {
    return failed(foedus::ErrorCode::kWrongVersion, "the database is of another TPC-C format");
  }
  if (row.state != LoadRow::kLoaded) {
    return failed(foedus::ErrorCode::kInvalidArgument,
                  "an earlier load did not come to its end: remove the directory");
  }
  FOEDUS_TRY(Tables<B> tables, open_tables(backend, row.scale, row.storage));
  return std::optional<Population<B>>(Population<B>{row, std::move(tables)});
}

// Loads a database of that scale. REQUIRES: find_population() found nothing.
template <Backend B>
foedus::Result<Population<B>> populate(B& backend, const Scale& scale, StorageChoice storage,
                                       std::uint64_t seed, std::uint64_t now,
                                       std::uint32_t threads) {
  FOEDUS_CHECK(check_scale(scale));
  FOEDUS_TRY(const typename B::Table table, open_load_table(backend));
  FOEDUS_TRY(Tables<B> tables, open_tables(backend, scale, storage));
  FOEDUS_TRY(typename B::Worker worker, backend.new_worker());
  Random random(seed, ~std::uint64_t{1});
  LoadRow row{};
  row.magic = LoadRow::kMagic;
  row.state = LoadRow::kLoading;
  row.storage = storage;
  row.last_name_constant = load_constants(random).last_name;
  row.scale = scale;
  FOEDUS_CHECK(write_load_row(backend, worker, table, row));
  FOEDUS_TRY(row.data_bytes,
             load_tables<B>(backend, tables, row.last_name_constant, seed, now, threads));
  row.state = LoadRow::kLoaded;
  FOEDUS_CHECK(write_load_row(backend, worker, table, row));
  return Population<B>{row, std::move(tables)};
}

}  // namespace experiments::tpcc
