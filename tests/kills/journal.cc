#include "tests/kills/journal.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "foedus-core/base/crc32c.h"

namespace kills {

using foedus::Change;
using foedus::ChangeKind;
using foedus::ErrorCode;
using foedus::Status;
using foedus::StorageInfo;

namespace {

Status wrong(const std::string& what) { return Status::error(ErrorCode::kCorruption, what); }

// Appends numbers and strings to a buffer, and takes them from it.
class Bytes {
 public:
  explicit Bytes(std::string bytes = {}) : bytes_(std::move(bytes)) {}
  void add(std::uint64_t number) {
    bytes_.append(reinterpret_cast<const char*>(&number), sizeof(number));
  }
  void add(std::string_view bytes) {
    add(bytes.size());
    bytes_.append(bytes);
  }
  std::uint64_t take() {
    std::uint64_t number = 0;
    std::memcpy(&number, bytes_.data() + at_, sizeof(number));
    at_ += sizeof(number);
    return number;
  }
  std::string_view take_bytes() {
    const std::uint64_t size = take();
    at_ += size;
    return std::string_view(bytes_).substr(at_ - size, size);
  }
  bool is_empty() const { return at_ == bytes_.size(); }
  const std::string& all() const { return bytes_; }

 private:
  std::string bytes_;
  std::size_t at_ = 0;
};

void add_change(const Change& change, Bytes* bytes) {
  bytes->add(static_cast<std::uint64_t>(change.kind));
  bytes->add(change.payload_offset);
  bytes->add(change.storage);
  bytes->add(change.key);
  bytes->add(change.payload);
  const StorageInfo none;
  const StorageInfo& created = change.created == nullptr ? none : *change.created;
  bytes->add(static_cast<std::uint64_t>(created.kind));
  bytes->add(created.payload_bytes);
}

Status apply_next(Bytes* bytes, Copy* copy) {
  Change change;
  change.kind = static_cast<ChangeKind>(bytes->take());
  change.payload_offset = static_cast<std::uint32_t>(bytes->take());
  change.storage = bytes->take_bytes();
  change.key = bytes->take_bytes();
  change.payload = bytes->take_bytes();
  StorageInfo created;
  created.kind = static_cast<foedus::StorageKind>(bytes->take());
  created.payload_bytes = static_cast<std::uint32_t>(bytes->take());
  if (change.kind == ChangeKind::kCreateStorage) change.created = &created;
  return copy->apply(change);
}

std::string framed(const Bytes& bytes) {
  Bytes frame;
  frame.add(bytes.all().size());
  frame.add(foedus::base::crc32c(bytes.all().data(), bytes.all().size()));
  return frame.all() + bytes.all();
}

Status append(int file, const std::string& bytes) {
  const ssize_t written = write(file, bytes.data(), bytes.size());
  if (written == static_cast<ssize_t>(bytes.size())) return {};
  return Status::system_error(ErrorCode::kIoError, "cannot write the journal", errno);
}

}  // namespace

Status Copy::apply(const Change& change) {
  const std::string name(change.storage);
  if (change.kind == ChangeKind::kCreateStorage) {
    Storage made{change.created->kind, change.created->payload_bytes, {}, {}};
    return storages_.emplace(name, std::move(made)).second ? Status() : wrong(name + " is there");
  }
  const auto found = storages_.find(name);
  if (found == storages_.end()) return wrong("a change of " + name + ", which is not there");
  Storage& storage = found->second;
  if (change.kind == ChangeKind::kDropStorage) {
    storages_.erase(found);
    return {};
  }
  if (change.kind == ChangeKind::kAppend) {
    storage.records.emplace_back(change.payload);
    return {};
  }
  std::string& payload = storage.rows[std::string(change.key)];
  payload.resize(std::max<std::size_t>(payload.size(), storage.payload_bytes));
  switch (change.kind) {
    case ChangeKind::kPut:
      payload = change.payload;
      return {};
    case ChangeKind::kErase:
      storage.rows.erase(std::string(change.key));
      return {};
    case ChangeKind::kWriteAt:
      if (change.payload_offset + change.payload.size() > payload.size()) break;
      payload.replace(change.payload_offset, change.payload.size(), change.payload);
      return {};
    case ChangeKind::kIncrement: {
      std::uint64_t number = 0;
      if (change.payload_offset + sizeof(number) > payload.size()) break;
      std::memcpy(&number, payload.data() + change.payload_offset, sizeof(number));
      number += change.addend();
      std::memcpy(payload.data() + change.payload_offset, &number, sizeof(number));
      return {};
    }
    default:
      break;
  }
  return wrong("a change of " + name + " does not fit to its row");
}

foedus::Result<Journal> Journal::open(const std::string& path, Copy* copy) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return Status::system_error(ErrorCode::kIoError, path, errno);
  Journal journal(path, file);
  FOEDUS_CHECK(journal.read(copy));
  return journal;
}

Journal::Journal(Journal&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      position_(other.position_),
      batches_(other.batches_) {}

Journal::~Journal() {
  if (file_ >= 0) ::close(file_);
}

Status Journal::read(Copy* copy) {
  std::ifstream in(path_, std::ios::binary);
  const std::string all((std::istreambuf_iterator<char>(in)), {});
  constexpr std::size_t kHead = 16;
  std::size_t at = 0;
  while (all.size() - at >= kHead) {
    Bytes head(all.substr(at, kHead));
    const std::uint64_t size = head.take();
    if (all.size() - at - kHead < size) break;
    Bytes bytes(all.substr(at + kHead, size));
    if (head.take() != foedus::base::crc32c(bytes.all().data(), size)) {
      return wrong("the journal is damaged");
    }
    position_ = foedus::Epoch(bytes.take());
    while (!bytes.is_empty()) FOEDUS_CHECK(apply_next(&bytes, copy));
    at += kHead + size;
  }
  if (ftruncate(file_, static_cast<off_t>(at)) == 0) return {};  // a batch that a kill has cut
  return Status::system_error(ErrorCode::kIoError, path_, errno);
}

Status Journal::add(const foedus::ChangeBatch& batch) {
  if (batch.epoch <= position_) {
    return wrong("epoch " + std::to_string(batch.epoch.number()) + " after position " +
                 std::to_string(position_.number()));
  }
  Bytes bytes;
  bytes.add(batch.position.number());
  for (const Change& change : batch.changes) add_change(change, &bytes);
  FOEDUS_CHECK(append(file_, framed(bytes)));
  position_ = batch.position;
  ++batches_;
  return {};
}

Status Journal::compact(const Copy& copy) {
  Bytes bytes;
  bytes.add(position_.number());
  for (const auto& [name, storage] : copy.storages()) {
    const StorageInfo info{0, storage.kind, name, 0, storage.payload_bytes};
    Change change;
    change.storage = name;
    change.kind = ChangeKind::kCreateStorage;
    change.created = &info;
    add_change(change, &bytes);
    change.created = nullptr;
    change.kind = ChangeKind::kPut;
    for (const auto& [key, payload] : storage.rows) {
      change.key = key;
      change.payload = payload;
      add_change(change, &bytes);
    }
    change.key = {};
    change.kind = ChangeKind::kAppend;
    for (const std::string& record : storage.records) {
      change.payload = record;
      add_change(change, &bytes);
    }
  }
  const std::string made = path_ + ".new";
  const int file = ::open(made.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return Status::system_error(ErrorCode::kIoError, made, errno);
  ::close(std::exchange(file_, file));
  FOEDUS_CHECK(append(file_, framed(bytes)));
  std::filesystem::rename(made, path_);
  return {};
}

}  // namespace kills
