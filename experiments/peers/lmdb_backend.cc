#include "experiments/peers/lmdb_backend.h"

#include <cerrno>
#include <utility>

namespace experiments {

namespace {

foedus::Status to_status(int error, const char* call) {
  switch (error) {
    case MDB_SUCCESS:
      return {};
    case MDB_NOTFOUND:
      return foedus::ErrorCode::kNotFound;
    case MDB_KEYEXIST:
      return foedus::ErrorCode::kAlreadyExists;
    case MDB_MAP_FULL:
    case ENOSPC:
      return foedus::Status::error(foedus::ErrorCode::kOutOfSpace, call);
    default:
      return foedus::Status::error(foedus::ErrorCode::kIoError,
                                   std::string(call) + ": " + mdb_strerror(error));
  }
}

MDB_val to_val(std::string_view bytes) {
  return {bytes.size(), const_cast<char*>(bytes.data())};
}

std::string_view to_view(const MDB_val& val) {
  return {static_cast<const char*>(val.mv_data), val.mv_size};
}

}  // namespace

LmdbScan::LmdbScan(MDB_txn* txn, const LmdbTable& table, const ScanRange& range) : range_(range) {
  status_ = to_status(mdb_cursor_open(txn, table.dbi, &cursor_), "mdb_cursor_open");
}

LmdbScan::~LmdbScan() {
  if (cursor_ != nullptr) mdb_cursor_close(cursor_);
}

// The first row of the range. In reverse it is the one before the first that is not below `high`.
int LmdbScan::position(MDB_val* key, MDB_val* row) {
  if (!range_.reverse) {
    if (range_.low.empty()) return mdb_cursor_get(cursor_, key, row, MDB_FIRST);
    *key = to_val(range_.low);
    return mdb_cursor_get(cursor_, key, row, MDB_SET_RANGE);
  }
  if (range_.high.empty()) return mdb_cursor_get(cursor_, key, row, MDB_LAST);
  *key = to_val(range_.high);
  const int error = mdb_cursor_get(cursor_, key, row, MDB_SET_RANGE);
  if (error == MDB_NOTFOUND) return mdb_cursor_get(cursor_, key, row, MDB_LAST);
  return error != 0 ? error : mdb_cursor_get(cursor_, key, row, MDB_PREV);
}

bool LmdbScan::next(std::string_view* key, std::string_view* row) {
  if (!status_.is_ok()) return false;
  MDB_val found_key, found_row;
  const int error =
      started_ ? mdb_cursor_get(cursor_, &found_key, &found_row,
                                range_.reverse ? MDB_PREV : MDB_NEXT)
               : position(&found_key, &found_row);
  started_ = true;
  if (error == MDB_NOTFOUND) return false;
  if (error != 0) {
    status_ = to_status(error, "mdb_cursor_get");
    return false;
  }
  *key = to_view(found_key);
  *row = to_view(found_row);
  return range_.reverse ? *key >= range_.low : range_.high.empty() || *key < range_.high;
}

LmdbTxn::~LmdbTxn() {
  if (txn_ != nullptr) rollback();
  if (reader_ != nullptr) mdb_txn_abort(reader_);
}

foedus::Status LmdbTxn::begin(bool read_only) {
  if (!read_only) return to_status(mdb_txn_begin(env_, nullptr, 0, &txn_), "mdb_txn_begin");
  if (reader_ == nullptr) {
    FOEDUS_CHECK(to_status(mdb_txn_begin(env_, nullptr, MDB_RDONLY, &reader_), "mdb_txn_begin"));
  } else {
    FOEDUS_CHECK(to_status(mdb_txn_renew(reader_), "mdb_txn_renew"));
  }
  txn_ = reader_;
  return {};
}

foedus::Status LmdbTxn::commit() {
  MDB_txn* const txn = std::exchange(txn_, nullptr);
  if (txn == reader_) {
    mdb_txn_reset(txn);
    return {};
  }
  return to_status(mdb_txn_commit(txn), "mdb_txn_commit");
}

void LmdbTxn::rollback() {
  MDB_txn* const txn = std::exchange(txn_, nullptr);
  if (txn == reader_) {
    mdb_txn_reset(txn);
  } else {
    mdb_txn_abort(txn);
  }
}

foedus::Status LmdbTxn::find(const LmdbTable& table, const KeyView& key, std::string_view* row) {
  const IndexKey index_key(key.index);
  MDB_val key_val = to_val(stored_key(table.kind, key, index_key));
  MDB_val row_val;
  const int error = mdb_get(txn_, table.dbi, &key_val, &row_val);
  if (error == MDB_NOTFOUND && table.kind == TableKind::kArray && key.index < table.records) {
    zeros_.assign(table.row_bytes, '\0');
    *row = zeros_;
    return {};
  }
  FOEDUS_CHECK(to_status(error, "mdb_get"));
  *row = to_view(row_val);
  return {};
}

foedus::Status LmdbTxn::read_at(const LmdbTable& table, const KeyView& key, std::uint32_t offset,
                                std::span<std::byte> out) {
  std::string_view row;
  FOEDUS_CHECK(find(table, key, &row));
  return copy_row(row, offset, out);
}

foedus::Status LmdbTxn::store(const LmdbTable& table, std::string_view key, std::string_view row,
                              unsigned flags) {
  MDB_val key_val = to_val(key);
  MDB_val row_val = to_val(row);
  return to_status(mdb_put(txn_, table.dbi, &key_val, &row_val, flags), "mdb_put");
}

foedus::Status LmdbTxn::insert(const LmdbTable& table, const KeyView& key, std::string_view row) {
  if (table.kind == TableKind::kArray) return put(table, key, row);  // always there
  const IndexKey index_key(key.index);
  return store(table, stored_key(table.kind, key, index_key), row, MDB_NOOVERWRITE);
}

foedus::Status LmdbTxn::put(const LmdbTable& table, const KeyView& key, std::string_view row) {
  const IndexKey index_key(key.index);
  return store(table, stored_key(table.kind, key, index_key), row, 0);
}

foedus::Status LmdbTxn::write_at(const LmdbTable& table, const KeyView& key, std::uint32_t offset,
                                 std::string_view part) {
  std::string_view row;
  FOEDUS_CHECK(find(table, key, &row));
  row_.assign(row);
  FOEDUS_CHECK(overlay(&row_, offset, part));
  return put(table, key, row_);
}

foedus::Status LmdbTxn::erase(const LmdbTable& table, const KeyView& key) {
  const IndexKey index_key(key.index);
  MDB_val key_val = to_val(stored_key(table.kind, key, index_key));
  return to_status(mdb_del(txn_, table.dbi, &key_val, nullptr), "mdb_del");
}

foedus::Status LmdbTxn::append(const LmdbTable& table, std::string_view row) {
  return store(table, AppendKey(worker_, appended_++).view(), row, 0);
}

foedus::Result<std::unique_ptr<LmdbBackend>> LmdbBackend::open(const Options& options) {
  MDB_env* env = nullptr;
  FOEDUS_CHECK(to_status(mdb_env_create(&env), "mdb_env_create"));
  std::unique_ptr<LmdbBackend> backend(new LmdbBackend(env));
  FOEDUS_CHECK(to_status(mdb_env_set_mapsize(env, options.map_bytes), "mdb_env_set_mapsize"));
  FOEDUS_CHECK(to_status(mdb_env_set_maxdbs(env, 64), "mdb_env_set_maxdbs"));
  FOEDUS_CHECK(to_status(mdb_env_set_maxreaders(env, 1024), "mdb_env_set_maxreaders"));
  unsigned flags = MDB_NOTLS | MDB_NOMEMINIT | MDB_WRITEMAP;
  if (!options.sync) flags |= MDB_NOSYNC | MDB_NOMETASYNC;
  FOEDUS_CHECK(to_status(mdb_env_open(env, options.dir.c_str(), flags, 0644), "mdb_env_open"));
  return backend;
}

foedus::Result<LmdbTable> LmdbBackend::open_table(const TableSpec& spec) {
  MDB_txn* txn = nullptr;
  FOEDUS_CHECK(to_status(mdb_txn_begin(env_, nullptr, 0, &txn), "mdb_txn_begin"));
  LmdbTable table{.kind = spec.kind, .records = spec.records, .row_bytes = spec.row_bytes};
  const int error = mdb_dbi_open(txn, spec.name.c_str(), MDB_CREATE, &table.dbi);
  if (error != 0) {
    mdb_txn_abort(txn);
    return to_status(error, "mdb_dbi_open");
  }
  FOEDUS_CHECK(to_status(mdb_txn_commit(txn), "mdb_txn_commit"));
  return table;
}

foedus::Result<LmdbBackend::Worker> LmdbBackend::new_worker() {
  return Worker(std::make_unique<LmdbTxn>(env_, workers_.fetch_add(1)));
}

foedus::Status LmdbBackend::wait_durable() {
  return to_status(mdb_env_sync(env_, 1), "mdb_env_sync");
}

// LMDB has no log: what a commit costs is pages written, which it does not count.
void LmdbBackend::fill_stats(StatsLine& line) const { line.log_bytes = 0; }

}  // namespace experiments
