// The operations of a session's transactions, and their entries on the tape.
#include <array>
#include <cstring>

#include "tests/isolation/session_worker.h"

namespace foedus::isolation {

namespace {

bool is_missing(const Status& status) { return status.code() == ErrorCode::kNotFound; }

std::span<std::byte> bytes_of(std::array<char, kRowBytesMax>& row) {
  return std::as_writable_bytes(std::span(row));
}

}  // namespace

void SessionWorker::note_read(const Store& store, std::uint64_t key, bool present,
                              const Words& state) {
  line_.ops.push_back(op_word(OpKind::kRead, store.number(), present,
                              static_cast<std::uint32_t>(present ? state.size() : 0)));
  line_.ops.push_back(key);
  if (present) line_.ops.insert(line_.ops.end(), state.begin(), state.end());
}

Status SessionWorker::read(Txn& txn, const Store& store, std::uint64_t key, bool locks,
                           Words* state, bool* present) {
  std::array<char, kRowBytesMax> row;
  std::size_t bytes = store.is_array() ? store.array().payload_bytes() : 0;
  Status status;
  if (store.is_array()) {
    const auto out = bytes_of(row).first(bytes);
    status = locks ? txn.get_for_update(store.array(), key, out) : txn.get(store.array(), key, out);
  } else {
    const Result<std::size_t> got =
        locks ? txn.get_for_update(store.keyed(), store.key(key), bytes_of(row))
              : txn.get(store.keyed(), store.key(key), bytes_of(row));
    status = got.status();
    if (got.is_ok()) bytes = *got;
  }
  state->clear();
  *present = status.is_ok();
  if (!status.is_ok() && !is_missing(status)) return status;
  if (*present) append_state(store, key, {row.data(), std::min(bytes, row.size())}, state);
  note_read(store, key, *present, *state);
  return {};
}

Status SessionWorker::read_many(Txn& txn, const Store& store) {
  constexpr std::size_t kMany = 3;
  std::array<std::array<char, kRowBytesMax>, kMany> rows;
  std::array<std::uint64_t, kMany> numbers{};
  std::array<Key, kMany> keys;
  std::array<ReadRequest, kMany> requests;
  for (std::size_t i = 0; i < kMany; ++i) {
    numbers[i] = random_key(store);
    keys[i] = store.key(numbers[i]);
    requests[i] = {keys[i].view(), bytes_of(rows[i])};
  }
  FOEDUS_CHECK(txn.get_many(store.keyed(), requests));
  for (std::size_t i = 0; i < kMany; ++i) {
    Words state;
    if (requests[i].found) {
      const std::size_t bytes = std::min(requests[i].payload_bytes, rows[i].size());
      append_state(store, numbers[i], {rows[i].data(), bytes}, &state);
    }
    note_read(store, numbers[i], requests[i].found, state);
  }
  return {};
}

Status SessionWorker::contains(Txn& txn, const Store& store, std::uint64_t key) {
  FOEDUS_TRY(const bool present, txn.contains(store.keyed(), store.key(key)));
  line_.ops.push_back(op_word(OpKind::kExists, store.number(), present, 0));
  line_.ops.push_back(key);
  return {};
}

Status SessionWorker::range(Txn& txn, const Store& store, std::uint64_t low, std::uint64_t high,
                            bool reverse, std::uint64_t limit) {
  const std::size_t head = line_.ops.size();
  line_.ops.insert(line_.ops.end(), {0, low, high, limit});
  const Key low_key = store.key(low);
  const Key high_key = store.key(high);
  Scan rows = txn.scan(store.tree(), low_key, high_key, {.limit = limit, .reverse = reverse});
  std::uint32_t count = 0;
  Words state;
  for (const Row& row : rows) {
    const std::uint64_t key = store.number_of(row.key);
    state.clear();
    append_state(store, key, row.payload, &state);
    line_.ops.insert(line_.ops.end(), {key, state.size()});
    line_.ops.insert(line_.ops.end(), state.begin(), state.end());
    ++count;
  }
  line_.ops[head] = op_word(OpKind::kRange, store.number(), reverse, count);
  if (auto failure = rows.failure()) {
    line_.ops.resize(head);
    return *failure;
  }
  return {};
}

Status SessionWorker::scan(Txn& txn, std::uint64_t limit) {
  const std::size_t head = line_.ops.size();
  line_.ops.insert(line_.ops.end(), {0, limit});
  Scan rows = txn.scan(*space_.sequence, {.limit = limit});
  std::uint32_t count = 0;
  for (const Row& row : rows) {
    // A row is a value, a filling that depends on it, and the value again.
    std::uint64_t value = 0;
    std::uint64_t again = 0;
    if (row.payload.size() >= 16) {
      std::memcpy(&value, row.payload.data(), 8);
      std::memcpy(&again, row.payload.data() + row.payload.size() - 8, 8);
    }
    line_.ops.push_back(value == again ? value : ~std::uint64_t{0} >> 12);
    ++count;
  }
  line_.ops[head] = op_word(OpKind::kScan, space_.sequence_number, false, count);
  if (auto failure = rows.failure()) {
    line_.ops.resize(head);
    return *failure;
  }
  return {};
}

// Notes a write whose precondition held; of one whose precondition failed, the presence or absence
// that it saw.
Status SessionWorker::note_write(const Status& status, OpKind kind, const Store& store,
                                 std::uint64_t key, bool flag, std::uint64_t value) {
  if (is_missing(status) || status.code() == ErrorCode::kAlreadyExists) {
    line_.ops.push_back(op_word(OpKind::kExists, store.number(), !is_missing(status), 0));
    line_.ops.push_back(key);
    return {};
  }
  FOEDUS_CHECK(status);
  line_.ops.push_back(op_word(kind, store.number(), flag, 0));
  line_.ops.push_back(key);
  if (kind != OpKind::kErase) line_.ops.push_back(value);
  return {};
}

Status SessionWorker::put(Txn& txn, const Store& store, std::uint64_t key, OpKind kind) {
  const std::uint64_t value = new_value();
  const std::string row = register_row(store, key, value);
  Status status;
  if (store.is_array()) {
    kind = OpKind::kPut;
    status = txn.put(store.array(), key, row);
  } else if (kind == OpKind::kPut) {
    status = txn.put(store.keyed(), store.key(key), row);
  } else if (kind == OpKind::kInsert) {
    status = txn.insert(store.keyed(), store.key(key), row);
  } else {
    status = txn.update(store.keyed(), store.key(key), row);
  }
  return note_write(status, kind, store, key, false, value);
}

Status SessionWorker::write_part(Txn& txn, const Store& store, std::uint64_t key, bool second) {
  const std::uint64_t value = new_value();
  const std::string_view part = as_payload(value);
  const std::uint32_t offset = kPartOffset[second ? 1 : 0];
  const Status status = store.is_array()
                            ? txn.write_at(store.array(), key, offset, part)
                            : txn.write_at(store.keyed(), store.key(key), offset, part);
  return note_write(status, OpKind::kWrite, store, key, second, value);
}

Status SessionWorker::add(Txn& txn, const Store& store, std::uint64_t key) {
  // Sums of different sets of random deltas differ.
  const std::uint64_t delta = random_.next() >> 12 | 1;
  const auto change = static_cast<std::int64_t>(delta);
  const Status status = store.is_array()
                            ? txn.increment(store.array(), key, kCounterOffset, change)
                            : txn.increment(store.keyed(), store.key(key), kCounterOffset, change);
  return note_write(status, OpKind::kAdd, store, key, false, delta);
}

Status SessionWorker::erase(Txn& txn, const Store& store, std::uint64_t key) {
  return note_write(txn.erase(store.keyed(), store.key(key)), OpKind::kErase, store, key, false, 0);
}

// Reads the list, and writes it with one more value; a full one is left for the slot's next key.
Status SessionWorker::append(Txn& txn, const Store& store, std::uint64_t slot) {
  auto& current = space_.shared->current[store.number()][slot];
  // order: relaxed, a hint: the list itself tells whether it is full.
  const std::uint64_t turn = current.load(std::memory_order_relaxed);
  const std::uint64_t key = slot * kListsPerSlot + turn;
  Words values;
  bool present = false;
  FOEDUS_CHECK(read(txn, store, key, wants_lock(), &values, &present));
  if (values.size() >= kListMax) {
    std::uint64_t expected = turn;
    if (turn + 1 < kListsPerSlot) current.compare_exchange_strong(expected, turn + 1);
    return {};
  }
  values.push_back(new_value());
  const std::string row = list_row(store, key, values);
  FOEDUS_CHECK(store.is_array() ? txn.put(store.array(), key, row)
                                : txn.put(store.keyed(), store.key(key), row));
  line_.ops.insert(line_.ops.end(),
                   {op_word(OpKind::kAppend, store.number(), false, 0), key, values.back()});
  return {};
}

Status SessionWorker::push(Txn& txn) {
  const std::uint64_t value = new_value();
  std::string row(as_payload(value));
  row.append(value % 5 * 8, 'p');
  row.append(as_payload(value));
  FOEDUS_CHECK(txn.append(*space_.sequence, row));
  line_.ops.insert(line_.ops.end(),
                   {op_word(OpKind::kPush, space_.sequence_number, false, 0), value});
  // order: relaxed, a count.
  space_.shared->sequence_values.fetch_add(1, std::memory_order_relaxed);
  return {};
}

}  // namespace foedus::isolation
