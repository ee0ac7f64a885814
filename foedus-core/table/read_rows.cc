// Reading rows of a table, by their keys or by an index.
#include <span>
#include <utility>

#include "foedus-core/base/out_of_memory.h"
#include "foedus/table_storages.h"

namespace foedus::internal {

namespace {

// Returns the bytes that the first part of a key takes, or npos if it has none of this kind.
// foedus/key.h states the bytes of each kind.
std::size_t part_bytes(std::string_view key, char kind) {
  if (key.empty()) return std::string_view::npos;
  switch (kind) {
    case 'i': {
      const int tag = static_cast<unsigned char>(key.front());
      return 1 + static_cast<std::size_t>(tag < 0x80 ? 0x80 - tag : tag - 0x80);
    }
    case 'f':
      return 8;
    case 's': {
      std::size_t at = key.find('\0');
      while (at != std::string_view::npos && key.substr(at + 1, 1) == "\xff") {
        at = key.find('\0', at + 2);
      }
      return at == std::string_view::npos ? at : at + 2;
    }
    default:
      return static_cast<std::size_t>(kind - '0');
  }
}

}  // namespace

std::string_view TableStorages::key_in(std::size_t index, const Row& entry) const {
  if (definition_of(index).is_unique) return entry.payload;
  std::string_view rest = entry.key;
  for (const char kind : definition_of(index).kinds) {
    const std::size_t bytes = part_bytes(rest, kind);
    if (bytes > rest.size()) return {};
    rest.remove_prefix(bytes);
  }
  return rest;
}

Status TableStorages::dangling(Txn& txn, std::size_t index, std::string_view key) const {
  return base::catching([&] { return corrupt(txn, index, key, "has an entry without its row"); });
}

Result<std::string> TableStorages::key_by(Txn& txn, std::size_t index,
                                          std::string_view columns) const {
  return base::catching([&]() -> Result<std::string> {
    FOEDUS_CHECK(check_readable(txn, index));
    return txn.get(indexes_[index].storage, columns);
  });
}

Result<std::uint64_t> TableStorages::count(Txn& txn, std::size_t index, std::string_view low,
                                           std::string_view high) const {
  return base::catching([&]() -> Result<std::uint64_t> {
    FOEDUS_CHECK(check_readable(txn, index));
    std::uint64_t entries = 0;
    Scan scan = txn.scan(indexes_[index].storage, low, high);
    for (auto at = scan.begin(); at != scan.end(); ++at) ++entries;
    if (auto failure = scan.failure()) return *std::move(failure);
    return entries;
  });
}

RowCursor::RowCursor(Txn& txn, std::shared_ptr<const TableStorages> storages, std::size_t index,
                     std::string_view low, std::string_view high, const ScanOptions& options)
    : txn_(&txn), storages_(std::move(storages)), index_(index) {
  if (index != kByKey) {
    failure_ = base::catching([&] { return storages_->check_readable(txn, index); });
    if (!failure_.is_ok()) return;
  }
  const Masstree& storage =
      index == kByKey ? storages_->rows() : storages_->indexes_[index].storage;
  scan_.emplace(txn.scan(storage, low, high, options));
}

bool RowCursor::next() {
  if (!failure_.is_ok() || !scan_.has_value()) return false;
  Scan::iterator at = scan_->begin();  // where it is, after the first call
  if (is_begun_) ++at;
  is_begun_ = true;
  if (at == scan_->end()) {
    if (auto failure = scan_->failure()) failure_ = *std::move(failure);
    scan_.reset();
    return false;
  }
  key_ = at->key;
  payload_ = at->payload;
  if (index_ == kByKey) return true;
  key_ = storages_->key_in(index_, *at);
  Status status = base::catching([this] { return read_row(); });
  if (status.is_ok()) return true;
  fail(std::move(status));
  return false;
}

// Reads the payload of the row to which an entry leads.
Status RowCursor::read_row() {
  constexpr std::size_t kBytesAtFirst = 240;
  if (buffer_.empty()) buffer_.resize(kBytesAtFirst);
  for (;;) {
    const Result<std::size_t> bytes =
        txn_->get(storages_->rows(), key_, std::as_writable_bytes(std::span(buffer_)));
    if (bytes.code() == ErrorCode::kNotFound) return storages_->dangling(*txn_, index_, key_);
    if (!bytes.is_ok()) return bytes.status();
    payload_ = std::string_view(buffer_).substr(0, *bytes);
    if (*bytes <= buffer_.size()) return {};
    buffer_.resize(*bytes);
  }
}

void RowCursor::fail(Status status) {
  failure_ = storages_->at_row(std::move(status), key_);
  scan_.reset();
}

}  // namespace foedus::internal
