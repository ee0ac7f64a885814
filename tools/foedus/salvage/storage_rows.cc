#include "tools/foedus/salvage/storage_rows.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "foedus-core/base/increment.h"
#include "foedus-core/storage/hash/layout/function.h"
#include "foedus/options.h"
#include "tools/foedus/preview.h"

namespace foedus::cli {

namespace {

using log::LogRecordType;

// Returns the place of a key in the order of its storage, before its bytes.
std::uint64_t position_of(StorageKind kind, std::string_view key) {
  if (kind == StorageKind::kHash) return storage::hash::hash_of(key);
  if (kind != StorageKind::kArray) return 0;
  std::uint64_t index = 0;
  std::memcpy(&index, key.data(), std::min(key.size(), sizeof(index)));
  return index;
}

// Returns true if such a storage can have logged the record.
bool can_be_of(const storage_meta::StorageMeta& meta, const TailRecord& record) {
  if (meta.kind == StorageKind::kSequential) return record.type == LogRecordType::kAppend;
  if (record.type > LogRecordType::kIncrement || record.key.size() > kMaxKeyBytes) return false;
  return meta.kind != StorageKind::kArray ||
         (record.key.size() == 8 && position_of(meta.kind, record.key) < meta.records);
}

}  // namespace

StorageRows::StorageRows(const storage_meta::StorageMeta& meta, std::vector<TailRecord> tail,
                         Epoch whole, DumpWriter* writer, Losses* losses)
    : meta_(meta),
      whole_(whole),
      writer_(writer),
      losses_(losses),
      tail_(std::move(tail)),
      zeroes_(meta.kind == StorageKind::kArray ? meta.payload_bytes : 0, '\0') {
  const std::size_t foreign =
      std::erase_if(tail_, [&meta](const TailRecord& record) { return !can_be_of(meta, record); });
  if (foreign != 0) {
    losses_->row(meta_.name, count_of(foreign, "log record") + " that it cannot have logged");
  }
  std::sort(tail_.begin(), tail_.end(), [this](const TailRecord& a, const TailRecord& b) {
    if (const auto order = key_of(a) <=> key_of(b); order != 0) return order < 0;
    return std::tuple(a.tid.word(), a.session, a.order) <
           std::tuple(b.tid.word(), b.session, b.order);
  });
}

StorageRows::Key StorageRows::key_of(const TailRecord& record) const {
  return {position_of(meta_.kind, record.key), is_array() ? std::string_view() : record.key};
}

void StorageRows::row(const PageRow& row) {
  switch (meta_.kind) {
    case StorageKind::kSequential:
      return write({}, row.payload);
    case StorageKind::kArray:
      write_zeroes_before(row.index);
      next_index_ = row.index + 1;
      return base({row.index, {}}, row.payload);
    default:
      return base({position_of(meta_.kind, row.key), row.key}, row.payload);
  }
}

void StorageRows::lost(const LostRows& rows) {
  losses_->rows(meta_.name, rows.what);
  if (!is_array()) return;
  write_zeroes_before(rows.begin);
  write_before({rows.end, {}});
  next_index_ = std::max(next_index_, rows.end);
}

void StorageRows::finish() {
  losses_->settle();
  if (meta_.kind == StorageKind::kSequential) return write_appended();
  if (is_array()) write_zeroes_before(meta_.records);
  while (next_ != tail_.size()) base(key_of(tail_[next_]), std::nullopt);
}

void StorageRows::write_appended() {
  for (const TailRecord& record : tail_) write({}, record.payload);
}

void StorageRows::base(const Key& key, std::optional<std::string_view> payload) {
  if (payload.has_value()) write_before(key);
  std::size_t end = next_;
  while (end != tail_.size() && key_of(tail_[end]) == key) ++end;
  apply(key, end, payload);
}

// Writes the rows before `key` of which only the log tells.
void StorageRows::write_before(const Key& key) {
  while (next_ != tail_.size() && key_of(tail_[next_]) < key) {
    base(key_of(tail_[next_]), std::nullopt);
  }
}

// The records of an array that are on no page were never written to.
void StorageRows::write_zeroes_before(std::uint64_t index) {
  for (; next_index_ < index; ++next_index_) base({next_index_, {}}, zeroes_);
}

void StorageRows::apply(const Key& key, std::size_t end, std::optional<std::string_view> payload) {
  if (next_ == end) {
    if (payload.has_value()) write(key, *payload);
    return;
  }
  std::optional<std::string> now;
  if (payload.has_value()) now = std::string(*payload);
  bool is_known = true;
  bool has_later_parts = false;
  const std::string name = name_of(key);
  // `key` may lie in the tail, which stays as it is.
  for (; next_ != end; ++next_) {
    const TailRecord& record = tail_[next_];
    const bool is_part =
        record.type == LogRecordType::kWriteAt || record.type == LogRecordType::kIncrement;
    const bool is_whole_row = record.type == LogRecordType::kWriteAt && is_array() &&
                              record.payload.size() == meta_.payload_bytes;
    if (is_part && !is_whole_row) {
      if (record.tid.epoch() > whole_) {
        has_later_parts = true;
        continue;
      }
      if (!is_known) continue;
    }
    is_known = change(record, &now);
  }
  if (has_later_parts) losses_->row(meta_.name, name + ": changes of its parts");
  if (!is_known) {
    losses_->row(meta_.name, name + ": the log has parts of it, and the rest is lost");
  } else if (now.has_value()) {
    write(key, *now);
  }
}

// Applies a record. Returns false if the row that it leaves is not known (J6).
bool StorageRows::change(const TailRecord& record, std::optional<std::string>* payload) const {
  const std::uint64_t end = record.payload_offset + std::uint64_t{record.payload.size()};
  switch (record.type) {
    case LogRecordType::kPut:
      *payload = record.payload;
      return !is_array() || record.payload.size() == meta_.payload_bytes;
    case LogRecordType::kErase:
      payload->reset();
      return !is_array();
    case LogRecordType::kWriteAt:
      if (is_array() && !payload->has_value() && end == meta_.payload_bytes &&
          record.payload_offset == 0) {
        *payload = record.payload;
      }
      if (!payload->has_value() || end > (*payload)->size()) return false;
      (*payload)->replace(record.payload_offset, record.payload.size(), record.payload);
      return true;
    case LogRecordType::kIncrement:
      if (!payload->has_value() || end > (*payload)->size() || record.payload.size() != 8) {
        return false;
      }
      base::increment((*payload)->data() + record.payload_offset, record.payload.data());
      return true;
    default:
      return false;
  }
}

void StorageRows::write(const Key& key, std::string_view payload) {
  writer_->row({key.second, key.first, payload});
  rows_ += 1;
}

std::string StorageRows::name_of(const Key& key) const {
  return is_array() ? "index " + std::to_string(key.first) : "key \"" + preview(key.second) + '"';
}

}  // namespace foedus::cli
