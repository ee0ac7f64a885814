#include "tests/simulation/plan/transaction.h"

#include <algorithm>
#include <cstring>

namespace foedus::simulation {

namespace {

using Kind = Operation::Kind;

constexpr std::size_t kHotKeys = 4;  // so that transactions meet

std::string random_payload(base::Random* random, std::size_t bytes_max) {
  const std::uint64_t how = random->below(40);
  std::size_t bytes = how == 0  ? random->below(10'000)
                      : how < 6 ? random->below(1'500)
                                : random->below(120);
  std::string payload(std::min(bytes, bytes_max), static_cast<char>('a' + random->below(26)));
  for (std::size_t i = 0; i + 8 <= payload.size(); i += 256) {
    const std::uint64_t word = random->next();
    std::memcpy(payload.data() + i, &word, sizeof(word));
  }
  return payload;
}

Kind choose_keyed(base::Random* random, bool read_only) {
  static constexpr Kind kReads[] = {Kind::kGet, Kind::kGet, Kind::kReadAt, Kind::kContains};
  static constexpr Kind kWrites[] = {Kind::kPut,     Kind::kPut,      Kind::kPut,   Kind::kInsert,
                                     Kind::kInsert,  Kind::kErase,    Kind::kErase, Kind::kUpdate,
                                     Kind::kWriteAt, Kind::kIncrement};
  if (read_only || random->below(3) == 0) return kReads[random->below(std::size(kReads))];
  return kWrites[random->below(std::size(kWrites))];
}

Kind choose_array(base::Random* random, bool read_only) {
  static constexpr Kind kKinds[] = {Kind::kGet, Kind::kReadAt, Kind::kPut, Kind::kWriteAt,
                                    Kind::kIncrement};
  return kKinds[random->below(read_only ? 2 : std::size(kKinds))];
}

template <typename Storage, typename Key>
Status perform_at(Txn* txn, const Storage& storage, const Key& key, Operation* operation) {
  Operation& op = *operation;
  switch (op.kind) {
    case Kind::kReadAt: {
      std::string part(op.bytes, '\0');
      FOEDUS_CHECK(
          txn->read_at(storage, key, op.offset, std::as_writable_bytes(std::span<char>(part))));
      op.seen.rows.emplace_back("", std::move(part));
      return {};
    }
    case Kind::kPut:
      return txn->put(storage, key, std::string_view(op.payload));
    case Kind::kWriteAt:
      return txn->write_at(storage, key, op.offset, op.payload);
    default:
      return txn->increment(storage, key, op.offset, op.delta);
  }
}

Status perform_keyed(Txn* txn, const KeyedStorage& storage, Operation* operation) {
  Operation& op = *operation;
  switch (op.kind) {
    case Kind::kGet: {
      FOEDUS_TRY(std::string payload, txn->get(storage, op.key));
      op.seen.rows.emplace_back("", std::move(payload));
      return {};
    }
    case Kind::kGetForUpdate: {
      std::string payload(1u << 17, '\0');
      FOEDUS_TRY(
          const std::size_t bytes,
          txn->get_for_update(storage, op.key, std::as_writable_bytes(std::span<char>(payload))));
      op.seen.rows.emplace_back("", payload.substr(0, bytes));
      return {};
    }
    case Kind::kContains: {
      FOEDUS_TRY(const bool is_there, txn->contains(storage, op.key));
      op.seen.rows.emplace_back("", is_there ? "yes" : "no");
      return {};
    }
    case Kind::kInsert:
      return txn->insert(storage, op.key, op.payload);
    case Kind::kUpdate:
      return txn->update(storage, op.key, op.payload);
    case Kind::kErase:
      return txn->erase(storage, op.key);
    default:
      return perform_at(txn, storage, std::string_view(op.key), operation);
  }
}

Status perform_array(Txn* txn, const Array& storage, Operation* operation) {
  Operation& op = *operation;
  if (op.kind != Kind::kGet && op.kind != Kind::kGetForUpdate) {
    return perform_at(txn, storage, op.index, operation);
  }
  std::string payload(storage.payload_bytes(), '\0');
  const auto out = std::as_writable_bytes(std::span<char>(payload));
  FOEDUS_CHECK(op.kind == Kind::kGet ? txn->get(storage, op.index, out)
                                     : txn->get_for_update(storage, op.index, out));
  op.seen.rows.emplace_back("", std::move(payload));
  return {};
}

Status take_rows(Scan scan, Operation* operation) {
  for (const Row& row : scan) {
    operation->seen.rows.emplace_back(std::string(row.key), std::string(row.payload));
  }
  return scan.failure().value_or(Status());
}

Status perform_any(Txn* txn, occ::StorageControl* control, Operation* operation) {
  Operation& op = *operation;
  switch (op.storage_kind) {
    case StorageKind::kMasstree:
      if (op.kind == Kind::kScan) {
        return take_rows(txn->scan(handle_of<Masstree>(control), op.key, op.high,
                                   {.limit = op.limit, .reverse = op.reverse}),
                         operation);
      }
      return perform_keyed(txn, handle_of<Masstree>(control), operation);
    case StorageKind::kHash:
      return perform_keyed(txn, handle_of<Hash>(control), operation);
    case StorageKind::kArray:
      return perform_array(txn, handle_of<Array>(control), operation);
    case StorageKind::kSequential:
      if (op.kind == Kind::kAppend) {
        return txn->append(handle_of<Sequential>(control), op.payload);
      }
      FOEDUS_CHECK(take_rows(txn->scan(handle_of<Sequential>(control)), operation));
      break;
  }
  for (auto& [key, payload] : op.seen.rows) std::swap(key, payload);
  std::sort(op.seen.rows.begin(), op.seen.rows.end());
  return {};
}

}  // namespace

Operation make_operation(base::Random* random, const Content& content,
                         const std::vector<std::string>& keys, std::uint32_t session,
                         bool read_only, bool for_update, std::uint64_t* serial) {
  auto chosen = content.begin();
  std::advance(chosen, random->below(content.size()));
  const StorageModel& storage = chosen->second;
  Operation op;
  op.storage = storage.id;
  op.storage_kind = storage.kind;
  const bool is_hot = random->below(3) == 0;
  op.key = keys[random->below(is_hot ? std::min(keys.size(), kHotKeys) : keys.size())];
  op.offset = static_cast<std::uint32_t>(random->below(24));
  op.bytes = static_cast<std::uint32_t>(1 + random->below(12));
  op.delta = static_cast<std::int64_t>(random->below(1000)) - 500;
  if (storage.kind == StorageKind::kSequential) {
    op.kind = read_only || random->below(8) == 0 ? Kind::kScan : Kind::kAppend;
    op.payload = sequential_payload(++*serial, session, random->below(120));
    if (random->below(20) == 0) op.payload.resize(kMaxSequentialPayloadBytes, 'x');
    return op;
  }
  if (storage.kind == StorageKind::kArray) {
    op.kind = choose_array(random, read_only);
    op.index = random->below(is_hot ? std::min<std::uint64_t>(storage.records, kHotKeys)
                                    : storage.records);
    op.key = index_key(op.index);
    op.offset = static_cast<std::uint32_t>(random->below(storage.payload_bytes));
    op.payload = random_payload(random, storage.payload_bytes);
    op.payload.resize(storage.payload_bytes, '\0');
    if (op.kind == Kind::kWriteAt) op.payload.resize(1 + random->below(8));
  } else if (storage.kind == StorageKind::kMasstree && random->below(8) == 0) {
    op.kind = Kind::kScan;
    op.high = random->below(4) == 0 ? "" : keys[random->below(keys.size())];
    if (!op.high.empty() && op.high < op.key) std::swap(op.key, op.high);
    if (random->below(2) == 0) op.limit = random->below(10);
    op.reverse = random->below(2) == 0;
    return op;
  } else {
    op.kind = choose_keyed(random, read_only);
    op.payload = random_payload(random, 10'000);
    if (op.kind == Kind::kWriteAt) op.payload.resize(1 + random->below(8), 'w');
  }
  if (for_update && op.kind == Kind::kGet) op.kind = Kind::kGetForUpdate;
  return op;
}

Status perform(Txn* txn, occ::StorageControl* control, Operation* operation) {
  Status status = perform_any(txn, control, operation);
  const ErrorCode code = status.code();
  if (code != ErrorCode::kOk && code != ErrorCode::kNotFound && code != ErrorCode::kAlreadyExists &&
      code != ErrorCode::kInvalidArgument) {
    return status;
  }
  operation->seen.code = code;
  if (!status.is_ok()) operation->seen.rows.clear();
  return {};
}

namespace {

class Expectation {
 public:
  Expectation(const Operation& operation, Content* content, std::vector<Change>* changes)
      : op_(operation),
        content_(content),
        storage_(content->at(operation.storage)),
        changes_(changes) {}

  Operation::Seen run() {
    if (op_.kind == Kind::kScan) {
      scan();
    } else if (op_.kind == Kind::kAppend) {
      change(Change::Kind::kPut, op_.payload, "");
    } else {
      at_key();
    }
    return std::move(seen_);
  }

 private:
  void change(Change::Kind kind, const std::string& key, std::string payload) {
    changes_->push_back({kind, op_.storage, key, std::move(payload), {}});
    apply_change(changes_->back(), content_);
  }
  void put(std::string payload) { change(Change::Kind::kPut, op_.key, std::move(payload)); }
  void fail(ErrorCode code) { seen_.code = code; }

  void at_key() {
    const auto row = storage_.rows.find(op_.key);
    const bool is_array = storage_.kind == StorageKind::kArray;
    const bool is_there = is_array || row != storage_.rows.end();
    std::string payload(is_array ? storage_.payload_bytes : 0, '\0');
    if (row != storage_.rows.end()) payload = row->second;
    if (op_.kind == Kind::kContains) {
      seen_.rows.emplace_back("", is_there ? "yes" : "no");
    } else if (op_.kind == Kind::kInsert) {
      if (is_there) return fail(ErrorCode::kAlreadyExists);
      put(op_.payload);
    } else if (op_.kind == Kind::kPut) {
      put(op_.payload);
    } else if (!is_there) {
      fail(ErrorCode::kNotFound);
    } else {
      on_payload(std::move(payload));
    }
  }
  void on_payload(std::string payload) {
    const std::size_t end = op_.offset + (op_.kind == Kind::kReadAt    ? op_.bytes
                                          : op_.kind == Kind::kWriteAt ? op_.payload.size()
                                                                       : sizeof(op_.delta));
    const bool fits = end <= payload.size();
    switch (op_.kind) {
      case Kind::kGet:
      case Kind::kGetForUpdate:
        seen_.rows.emplace_back("", std::move(payload));
        break;
      case Kind::kReadAt:
        if (!fits) return fail(ErrorCode::kInvalidArgument);
        seen_.rows.emplace_back("", payload.substr(op_.offset, op_.bytes));
        break;
      case Kind::kUpdate:
        put(op_.payload);
        break;
      case Kind::kErase:
        change(Change::Kind::kErase, op_.key, "");
        break;
      case Kind::kWriteAt:
        if (!fits) return fail(ErrorCode::kInvalidArgument);
        put(payload.replace(op_.offset, op_.payload.size(), op_.payload));
        break;
      default: {
        if (!fits) return fail(ErrorCode::kInvalidArgument);
        std::uint64_t value;
        std::memcpy(&value, payload.data() + op_.offset, sizeof(value));
        value += static_cast<std::uint64_t>(op_.delta);
        std::memcpy(payload.data() + op_.offset, &value, sizeof(value));
        put(std::move(payload));
        break;
      }
    }
  }
  void scan() {
    const bool is_sequential = storage_.kind == StorageKind::kSequential;
    const auto low = is_sequential ? storage_.rows.begin() : storage_.rows.lower_bound(op_.key);
    const auto high = is_sequential || op_.high.empty() ? storage_.rows.end()
                                                        : storage_.rows.lower_bound(op_.high);
    seen_.rows.assign(low, high);
    if (op_.reverse) std::reverse(seen_.rows.begin(), seen_.rows.end());
    if (seen_.rows.size() > op_.limit) seen_.rows.resize(op_.limit);
  }

  const Operation& op_;
  Content* const content_;
  const StorageModel& storage_;
  std::vector<Change>* const changes_;
  Operation::Seen seen_;
};

}  // namespace

Operation::Seen expect(const Operation& operation, Content* content, std::vector<Change>* changes) {
  if (!content->contains(operation.storage)) {
    Operation::Seen seen;
    seen.code = ErrorCode::kNotFound;
    return seen;
  }
  return Expectation(operation, content, changes).run();
}

std::string to_string(const Operation& operation) {
  static constexpr const char* kNames[] = {"get",   "read_at",  "contains",  "get_for_update",
                                           "scan",  "put",      "insert",    "update",
                                           "erase", "write_at", "increment", "append"};
  std::string text = kNames[static_cast<std::size_t>(operation.kind)];
  text += " of storage " + std::to_string(operation.storage) + " returned ";
  text += foedus::to_string(operation.seen.code);
  text += ", " + std::to_string(operation.seen.rows.size()) + " rows";
  return text;
}

}  // namespace foedus::simulation
