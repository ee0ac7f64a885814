#include "experiments/peers/wiredtiger_backend.h"

#include <utility>

namespace experiments {

namespace {

foedus::Status to_plain_status(int error, const char* call) {
  if (error == 0) return {};
  if (error == WT_NOTFOUND) return foedus::ErrorCode::kNotFound;
  if (error == WT_DUPLICATE_KEY) return foedus::ErrorCode::kAlreadyExists;
  return foedus::Status::error(foedus::ErrorCode::kIoError,
                               std::string(call) + ": " + wiredtiger_strerror(error));
}

WT_ITEM to_item(std::string_view bytes) {
  WT_ITEM item{};
  item.data = bytes.data();
  item.size = bytes.size();
  return item;
}

std::string_view to_view(const WT_ITEM& item) {
  return {static_cast<const char*>(item.data), item.size};
}

std::string_view row_of(WT_CURSOR* cursor, int* error) {
  WT_ITEM item{};
  *error = cursor->get_value(cursor, &item);
  return to_view(item);
}

}  // namespace

// The first row of the range. search_near() may end on either side of the key it is given.
int WiredtigerScan::position() {
  const std::string_view from = range_.reverse ? range_.high : range_.low;
  if (from.empty()) return range_.reverse ? cursor_->prev(cursor_) : cursor_->next(cursor_);
  const WT_ITEM item = to_item(from);
  cursor_->set_key(cursor_, &item);
  int side = 0;
  const int error = cursor_->search_near(cursor_, &side);
  if (error != 0) return error;
  if (range_.reverse) return side >= 0 ? cursor_->prev(cursor_) : 0;
  return side < 0 ? cursor_->next(cursor_) : 0;
}

bool WiredtigerScan::next(std::string_view* key, std::string_view* row) {
  if (!started_) {
    started_ = true;
    error_ = position();
  } else {
    error_ = range_.reverse ? cursor_->prev(cursor_) : cursor_->next(cursor_);
  }
  if (error_ == WT_NOTFOUND) {
    error_ = 0;
    return false;
  }
  WT_ITEM item{};
  if (error_ == 0) error_ = cursor_->get_key(cursor_, &item);
  if (error_ != 0) return false;
  *key = to_view(item);
  *row = row_of(cursor_, &error_);
  if (error_ != 0) return false;
  return range_.reverse ? *key >= range_.low : range_.high.empty() || *key < range_.high;
}

// Cursors are closed with their session.
WiredtigerTxn::~WiredtigerTxn() {
  if (running_) rollback();
  session_->close(session_, nullptr);
}

foedus::Status WiredtigerTxn::to_status(int error, const char* call) const {
  if (error != WT_ROLLBACK) return to_plain_status(error, call);
  return foedus::Status::conflict(foedus::ConflictReason::kRecordChanged);
}

// Writers and readers begin alike; a transaction that wrote nothing commits without a log record.
foedus::Status WiredtigerTxn::begin(bool) {
  FOEDUS_CHECK(to_status(session_->begin_transaction(session_, nullptr), "begin_transaction"));
  running_ = true;
  return {};
}

foedus::Status WiredtigerTxn::commit() {
  running_ = false;  // if it fails, WiredTiger has rolled back
  return to_status(session_->commit_transaction(session_, nullptr), "commit_transaction");
}

void WiredtigerTxn::rollback() {
  running_ = false;
  static_cast<void>(session_->rollback_transaction(session_, nullptr));
}

WiredtigerTxn::Cursors& WiredtigerTxn::cursors_of(const WiredtigerTable& table) {
  if (table.number >= cursors_.size()) cursors_.resize(uris_->size());
  return cursors_[table.number];
}

foedus::Status WiredtigerTxn::open_cursor(const WiredtigerTable& table, const char* config,
                                          WT_CURSOR** cursor) {
  const std::string& uri = (*uris_)[table.number];
  return to_status(session_->open_cursor(session_, uri.c_str(), nullptr, config, cursor),
                   "open_cursor");
}

foedus::Status WiredtigerTxn::take_scan_cursor(const WiredtigerTable& table, WT_CURSOR** cursor) {
  std::vector<WT_CURSOR*>& free = cursors_of(table).free_for_scans;
  if (free.empty()) return open_cursor(table, nullptr, cursor);
  *cursor = free.back();
  free.pop_back();
  return {};
}

void WiredtigerTxn::give_back(const WiredtigerTable& table, WT_CURSOR* cursor) {
  static_cast<void>(cursor->reset(cursor));
  cursors_of(table).free_for_scans.push_back(cursor);
}

foedus::Status WiredtigerTxn::at_key(const WiredtigerTable& table, std::string_view key,
                                     bool overwrite, WT_CURSOR** cursor) {
  Cursors& cursors = cursors_of(table);
  WT_CURSOR*& kept = overwrite ? cursors.overwrite : cursors.strict;
  if (kept == nullptr) {
    FOEDUS_CHECK(open_cursor(table, overwrite ? nullptr : "overwrite=false", &kept));
  }
  const WT_ITEM item = to_item(key);
  kept->set_key(kept, &item);
  *cursor = kept;
  return {};
}

foedus::Status WiredtigerTxn::read_at(const WiredtigerTable& table, const KeyView& key,
                                      std::uint32_t offset, std::span<std::byte> out) {
  const IndexKey index_key(key.index);
  WT_CURSOR* cursor = nullptr;
  FOEDUS_CHECK(at_key(table, stored_key(table.kind, key, index_key), true, &cursor));
  int error = cursor->search(cursor);
  if (error == WT_NOTFOUND && table.kind == TableKind::kArray && key.index < table.records) {
    overlaid_.assign(table.row_bytes, '\0');
    return copy_row(overlaid_, offset, out);
  }
  FOEDUS_CHECK(to_status(error, "WT_CURSOR::search"));
  const std::string_view row = row_of(cursor, &error);
  FOEDUS_CHECK(to_status(error, "WT_CURSOR::get_value"));
  return copy_row(row, offset, out);
}

foedus::Status WiredtigerTxn::store(const WiredtigerTable& table, std::string_view key,
                                    std::string_view row, bool overwrite) {
  WT_CURSOR* cursor = nullptr;
  FOEDUS_CHECK(at_key(table, key, overwrite, &cursor));
  const WT_ITEM item = to_item(row);
  cursor->set_value(cursor, &item);
  return to_status(cursor->insert(cursor), "WT_CURSOR::insert");
}

foedus::Status WiredtigerTxn::insert(const WiredtigerTable& table, const KeyView& key,
                                     std::string_view row) {
  if (table.kind == TableKind::kArray) return put(table, key, row);  // always there
  const IndexKey index_key(key.index);
  return store(table, stored_key(table.kind, key, index_key), row, false);
}

foedus::Status WiredtigerTxn::put(const WiredtigerTable& table, const KeyView& key,
                                  std::string_view row) {
  const IndexKey index_key(key.index);
  return store(table, stored_key(table.kind, key, index_key), row, true);
}

foedus::Status WiredtigerTxn::write_at(const WiredtigerTable& table, const KeyView& key,
                                       std::uint32_t offset, std::string_view part) {
  const IndexKey index_key(key.index);
  const std::string_view stored = stored_key(table.kind, key, index_key);
  WT_CURSOR* cursor = nullptr;
  FOEDUS_CHECK(at_key(table, stored, true, &cursor));
  int error = cursor->search(cursor);
  if (error == WT_NOTFOUND && table.kind == TableKind::kArray && key.index < table.records) {
    std::string row(table.row_bytes, '\0');
    FOEDUS_CHECK(overlay(&row, offset, part));
    return store(table, stored, row, true);
  }
  FOEDUS_CHECK(to_status(error, "WT_CURSOR::search"));
  const std::string_view row = row_of(cursor, &error);
  FOEDUS_CHECK(to_status(error, "WT_CURSOR::get_value"));
  overlaid_.assign(row);
  FOEDUS_CHECK(overlay(&overlaid_, offset, part));
  const WT_ITEM item = to_item(overlaid_);
  cursor->set_value(cursor, &item);
  return to_status(cursor->update(cursor), "WT_CURSOR::update");
}

foedus::Status WiredtigerTxn::erase(const WiredtigerTable& table, const KeyView& key) {
  const IndexKey index_key(key.index);
  WT_CURSOR* cursor = nullptr;
  FOEDUS_CHECK(at_key(table, stored_key(table.kind, key, index_key), false, &cursor));
  return to_status(cursor->remove(cursor), "WT_CURSOR::remove");
}

foedus::Status WiredtigerTxn::append(const WiredtigerTable& table, std::string_view row) {
  const AppendKey key(worker_, appended_++);
  return store(table, key.view(), row, true);
}

foedus::Result<std::unique_ptr<WiredtigerBackend>> WiredtigerBackend::open(
    const Options& options) {
  std::unique_ptr<WiredtigerBackend> backend(new WiredtigerBackend());
  const std::string config =
      "create,cache_size=" + std::to_string(options.cache_bytes) +
      ",session_max=1100,statistics=(fast)"
      ",log=(enabled=true,archive=true,prealloc=true,file_max=512MB)"
      ",checkpoint=(log_size=2GB)"
      ",transaction_sync=(enabled=" + (options.sync ? "true" : "false") + ",method=fsync)";
  FOEDUS_CHECK(to_plain_status(wiredtiger_open(options.dir.c_str(), nullptr, config.c_str(),
                                               &backend->connection_),
                               "wiredtiger_open"));
  FOEDUS_CHECK(to_plain_status(
      backend->connection_->open_session(backend->connection_, nullptr, nullptr,
                                         &backend->session_),
      "open_session"));
  return backend;
}

WiredtigerBackend::~WiredtigerBackend() {
  if (connection_ != nullptr) static_cast<void>(connection_->close(connection_, nullptr));
}

foedus::Result<WiredtigerTable> WiredtigerBackend::open_table(const TableSpec& spec) {
  const std::string uri = "table:" + spec.name;
  WiredtigerTable table{
      .kind = spec.kind, .records = spec.records, .row_bytes = spec.row_bytes};
  for (; table.number < uris_.size(); ++table.number) {
    if (uris_[table.number] == uri) return table;
  }
  FOEDUS_CHECK(to_plain_status(
      session_->create(session_, uri.c_str(),
                       "key_format=u,value_format=u,access_pattern_hint=random"),
      "create"));
  uris_.push_back(uri);
  return table;
}

foedus::Result<WiredtigerBackend::Worker> WiredtigerBackend::new_worker() {
  WT_SESSION* session = nullptr;
  FOEDUS_CHECK(to_plain_status(
      connection_->open_session(connection_, nullptr, "isolation=snapshot", &session),
      "open_session"));
  return Worker(std::make_unique<WiredtigerTxn>(session, &uris_, workers_.fetch_add(1)));
}

foedus::Status WiredtigerBackend::wait_durable() {
  return to_plain_status(session_->log_flush(session_, "sync=on"), "log_flush");
}

foedus::Status WiredtigerBackend::settle() {
  return to_plain_status(session_->checkpoint(session_, nullptr), "checkpoint");
}

void WiredtigerBackend::fill_stats(StatsLine& line) const {
  WT_CURSOR* cursor = nullptr;
  if (session_->open_cursor(session_, "statistics:", nullptr, "statistics=(fast)", &cursor) != 0) {
    return;
  }
  cursor->set_key(cursor, WT_STAT_CONN_LOG_BYTES_WRITTEN);
  const char* description = nullptr;
  const char* printed = nullptr;
  std::int64_t value = 0;
  if (cursor->search(cursor) == 0 &&
      cursor->get_value(cursor, &description, &printed, &value) == 0) {
    line.log_bytes = static_cast<std::uint64_t>(value);
  }
  static_cast<void>(cursor->close(cursor));
}

}  // namespace experiments
