#include "experiments/peers/rocksdb_backend.h"

#include <rocksdb/cache.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>

#include <cstdlib>
#include <map>
#include <utility>

namespace experiments {

namespace {

rocksdb::Slice to_slice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
std::string_view to_view(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

foedus::Status to_plain_status(const rocksdb::Status& status, const char* call) {
  if (status.ok()) return {};
  if (status.IsNotFound()) return foedus::ErrorCode::kNotFound;
  const auto code = status.IsNoSpace() ? foedus::ErrorCode::kOutOfSpace
                                       : foedus::ErrorCode::kIoError;
  return foedus::Status::error(code, std::string(call) + ": " + status.ToString());
}

// Bloom filters and the hash index in data blocks make point reads cheaper and cost ranges nothing;
// no compression, since all blocks fit into the cache.
rocksdb::ColumnFamilyOptions family_options(const RocksdbBackend::Options& options) {
  rocksdb::BlockBasedTableOptions blocks;
  blocks.block_cache = rocksdb::NewLRUCache(options.cache_bytes);
  blocks.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  blocks.data_block_index_type = rocksdb::BlockBasedTableOptions::kDataBlockBinaryAndHash;
  rocksdb::ColumnFamilyOptions family;
  family.table_factory.reset(rocksdb::NewBlockBasedTableFactory(blocks));
  family.compression = rocksdb::kNoCompression;
  family.write_buffer_size = options.memtable_bytes;
  family.max_write_buffer_number = 4;
  family.memtable_whole_key_filtering = true;
  family.memtable_prefix_bloom_size_ratio = 0.02;
  // Conflicts are found in memtables, so one that was flushed stays until no transaction needs it.
  family.max_write_buffer_size_to_maintain = -1;
  return family;
}

}  // namespace

rocksdb::Transaction* RocksdbHandle::begin(rocksdb::Transaction* reuse) const {
  if (pessimistic != nullptr) {
    rocksdb::TransactionOptions options;
    options.set_snapshot = true;
    options.deadlock_detect = true;
    return pessimistic->BeginTransaction(write_options, options, reuse);
  }
  rocksdb::OptimisticTransactionOptions options;
  options.set_snapshot = true;
  return optimistic->BeginTransaction(write_options, options, reuse);
}

RocksdbScan::RocksdbScan(rocksdb::DB* db, rocksdb::Transaction* txn,
                         const rocksdb::Snapshot* snapshot, const RocksdbTable& table,
                         const ScanRange& range)
    : range_(range), low_(to_slice(range.low)), high_(to_slice(range.high)) {
  rocksdb::ReadOptions options;
  options.snapshot = snapshot;
  if (!range_.low.empty()) options.iterate_lower_bound = &low_;
  if (!range_.high.empty()) options.iterate_upper_bound = &high_;
  rows_.reset(txn == nullptr ? db->NewIterator(options, table.family)
                             : txn->GetIterator(options, table.family));
}

void RocksdbScan::position() {
  if (range_.reverse) {
    if (range_.high.empty()) {
      rows_->SeekToLast();
    } else {
      rows_->SeekForPrev(high_);
      if (rows_->Valid() && rows_->key() == high_) rows_->Prev();
    }
  } else if (range_.low.empty()) {
    rows_->SeekToFirst();
  } else {
    rows_->Seek(low_);
  }
}

bool RocksdbScan::next(std::string_view* key, std::string_view* row) {
  if (!started_) {
    started_ = true;
    position();
  } else if (range_.reverse) {
    rows_->Prev();
  } else {
    rows_->Next();
  }
  if (!rows_->Valid()) return false;
  *key = to_view(rows_->key());
  *row = to_view(rows_->value());
  return range_.reverse ? *key >= range_.low : range_.high.empty() || *key < range_.high;
}

foedus::Status RocksdbScan::status() const { return to_plain_status(rows_->status(), "Iterator"); }

// What a transaction may meet and be run again for, by RocksDB's names.
foedus::Status RocksdbTxn::to_status(const rocksdb::Status& status, const char* call) {
  if (status.IsBusy()) {
    conflict_name_ = status.IsDeadlock() ? "deadlock" : "busy";
  } else if (status.IsTryAgain()) {
    conflict_name_ = "try_again";
  } else if (status.IsTimedOut()) {
    conflict_name_ = "timed_out";
  } else {
    return to_plain_status(status, call);
  }
  return foedus::Status::conflict(foedus::ConflictReason::kRecordChanged);
}

foedus::Status RocksdbTxn::begin(bool read_only) {
  running_ = true;
  read_only_ = read_only;
  if (read_only) {
    read_options_.snapshot = handle_->db->GetSnapshot();
    return {};
  }
  // begin() hands back the transaction it is given, begun anew.
  txn_.reset(handle_->begin(txn_.release()));
  read_options_.snapshot = txn_->GetSnapshot();
  return {};
}

void RocksdbTxn::release_snapshot() {
  row_.Reset();
  if (read_only_) handle_->db->ReleaseSnapshot(read_options_.snapshot);
  read_options_.snapshot = nullptr;
  running_ = false;
}

foedus::Status RocksdbTxn::commit() {
  rocksdb::Status status;
  if (!read_only_) {
    status = txn_->Commit();
    if (!status.ok()) txn_->Rollback().PermitUncheckedError();
    txn_->ClearSnapshot();
  }
  release_snapshot();
  return to_status(status, "Transaction::Commit");
}

void RocksdbTxn::rollback() {
  if (!read_only_) {
    txn_->Rollback().PermitUncheckedError();
    txn_->ClearSnapshot();
  }
  release_snapshot();
}

foedus::Status RocksdbTxn::find(const RocksdbTable& table, const KeyView& key, Read read) {
  const IndexKey index_key(key.index);
  const rocksdb::Slice slice = to_slice(stored_key(table.kind, key, index_key));
  row_.Reset();
  rocksdb::Status status;
  if (read_only_) {
    status = handle_->db->Get(read_options_, table.family, slice, &row_);
  } else if (read == Read::kForUpdate) {
    status = txn_->GetForUpdate(read_options_, table.family, slice, &row_);
  } else {
    status = txn_->Get(read_options_, table.family, slice, &row_);
  }
  if (status.IsNotFound() && table.kind == TableKind::kArray && key.index < table.records) {
    row_.GetSelf()->assign(table.row_bytes, '\0');
    row_.PinSelf();
    return {};
  }
  return to_status(status, "Get");
}

foedus::Status RocksdbTxn::get_for_update(const RocksdbTable& table, const KeyView& key,
                                          std::span<std::byte> out) {
  FOEDUS_CHECK(find(table, key, Read::kForUpdate));
  return copy_row(to_view(row_), 0, out);
}

foedus::Status RocksdbTxn::read_at(const RocksdbTable& table, const KeyView& key,
                                   std::uint32_t offset, std::span<std::byte> out) {
  FOEDUS_CHECK(find(table, key, Read::kPlain));
  return copy_row(to_view(row_), offset, out);
}

foedus::Status RocksdbTxn::store(const RocksdbTable& table, std::string_view key,
                                 std::string_view row) {
  if (read_only_) return foedus::ErrorCode::kInvalidArgument;
  return to_status(txn_->Put(table.family, to_slice(key), to_slice(row)), "Transaction::Put");
}

// Locked or tracked, so that of two who insert the same key one meets the other.
foedus::Status RocksdbTxn::insert(const RocksdbTable& table, const KeyView& key,
                                  std::string_view row) {
  if (table.kind == TableKind::kArray) return put(table, key, row);  // always there
  if (read_only_) return foedus::ErrorCode::kInvalidArgument;
  foedus::Status found = find(table, key, Read::kForUpdate);
  if (found.is_ok()) return foedus::ErrorCode::kAlreadyExists;
  if (found.code() != foedus::ErrorCode::kNotFound) return found;
  return put(table, key, row);
}

foedus::Status RocksdbTxn::put(const RocksdbTable& table, const KeyView& key,
                               std::string_view row) {
  const IndexKey index_key(key.index);
  return store(table, stored_key(table.kind, key, index_key), row);
}

// A plain read will do: Put() refuses a key that was written after the snapshot that was read.
foedus::Status RocksdbTxn::write_at(const RocksdbTable& table, const KeyView& key,
                                    std::uint32_t offset, std::string_view part) {
  FOEDUS_CHECK(find(table, key, Read::kPlain));
  overlaid_.assign(row_.data(), row_.size());
  FOEDUS_CHECK(overlay(&overlaid_, offset, part));
  return put(table, key, overlaid_);
}

foedus::Status RocksdbTxn::erase(const RocksdbTable& table, const KeyView& key) {
  if (read_only_) return foedus::ErrorCode::kInvalidArgument;
  FOEDUS_CHECK(find(table, key, Read::kPlain));
  const IndexKey index_key(key.index);
  const rocksdb::Slice slice = to_slice(stored_key(table.kind, key, index_key));
  return to_status(txn_->Delete(table.family, slice), "Transaction::Delete");
}

// Nobody else writes these keys: no lock and no check.
foedus::Status RocksdbTxn::append(const RocksdbTable& table, std::string_view row) {
  if (read_only_) return foedus::ErrorCode::kInvalidArgument;
  const AppendKey key(worker_, appended_++);
  return to_status(txn_->PutUntracked(table.family, to_slice(key.view()), to_slice(row)),
                   "Transaction::PutUntracked");
}

RocksdbBackend::RocksdbBackend(const Options& options)
    : options_(options), family_options_(family_options(options)) {
  handle_.write_options.sync = options.sync;
}

RocksdbBackend::~RocksdbBackend() {
  if (flusher_.joinable()) {
    {
      const std::lock_guard guard(flusher_mutex_);
      is_closing_ = true;
    }
    flusher_wakes_.notify_all();
    flusher_.join();
  }
  for (rocksdb::ColumnFamilyHandle* const family : families_) {
    handle_.db->DestroyColumnFamilyHandle(family).PermitUncheckedError();
  }
}

rocksdb::Status RocksdbBackend::open_handle(const rocksdb::Options& options) {
  if (options_.concurrency == RocksdbConcurrency::kPessimistic) {
    rocksdb::Status status = rocksdb::TransactionDB::Open(
        options, rocksdb::TransactionDBOptions(), options_.dir, &handle_.pessimistic);
    handle_.db.reset(handle_.pessimistic);
    return status;
  }
  rocksdb::Status status =
      rocksdb::OptimisticTransactionDB::Open(options, options_.dir, &handle_.optimistic);
  handle_.db.reset(handle_.optimistic);
  return status;
}

foedus::Result<std::unique_ptr<RocksdbBackend>> RocksdbBackend::open(const Options& options) {
  std::unique_ptr<RocksdbBackend> backend(new RocksdbBackend(options));
  rocksdb::DBOptions db;
  db.create_if_missing = true;
  db.max_background_jobs = 2;
  db.max_open_files = -1;
  db.manual_wal_flush = !options.sync;
  FOEDUS_CHECK(to_plain_status(
      backend->open_handle(rocksdb::Options(db, backend->family_options_)), "Open"));
  if (!options.sync) backend->flusher_ = std::thread([raw = backend.get()] { raw->flush_wal(); });
  return backend;
}

// An error is of the device and comes back with the next flush or wait_durable().
void RocksdbBackend::flush_wal() {
  std::unique_lock guard(flusher_mutex_);
  while (!flusher_wakes_.wait_for(guard, kFlushInterval, [this] { return is_closing_; })) {
    handle_.db->FlushWAL(false).PermitUncheckedError();
  }
}

foedus::Result<RocksdbTable> RocksdbBackend::open_table(const TableSpec& spec) {
  RocksdbTable table{.kind = spec.kind, .records = spec.records, .row_bytes = spec.row_bytes};
  for (rocksdb::ColumnFamilyHandle* const family : families_) {
    if (family->GetName() == spec.name) table.family = family;
  }
  if (table.family == nullptr) {
    FOEDUS_CHECK(to_plain_status(
        handle_.db->CreateColumnFamily(family_options_, spec.name, &table.family),
        "CreateColumnFamily"));
    families_.push_back(table.family);
  }
  return table;
}

foedus::Result<RocksdbBackend::Worker> RocksdbBackend::new_worker() {
  return Worker(std::make_unique<RocksdbTxn>(&handle_, workers_.fetch_add(1)));
}

foedus::Status RocksdbBackend::wait_durable() {
  return to_plain_status(handle_.db->FlushWAL(true), "FlushWAL");
}

foedus::Status RocksdbBackend::settle() {
  for (rocksdb::ColumnFamilyHandle* const family : families_) {
    FOEDUS_CHECK(to_plain_status(
        handle_.db->CompactRange(rocksdb::CompactRangeOptions(), family, nullptr, nullptr),
        "CompactRange"));
  }
  return {};
}

void RocksdbBackend::fill_stats(StatsLine& line) const {
  std::map<std::string, std::string> facts;
  if (handle_.db->GetMapProperty(rocksdb::DB::Properties::kDBStats, &facts)) {
    line.log_bytes = std::strtoull(facts["db.wal_bytes_written"].c_str(), nullptr, 10);
  }
}

}  // namespace experiments
