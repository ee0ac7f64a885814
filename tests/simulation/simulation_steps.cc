// The steps of a simulation.
#include <algorithm>
#include <cerrno>

#include "foedus-core/base/invariant.h"
#include "tests/simulation/simulation.h"

namespace foedus::simulation {

namespace {

using testing::Call;
using testing::FailingDevice;

constexpr std::uint64_t kAfterFullUs = 3'000'000;
constexpr std::uint32_t kSessionOfProbe = 800;
constexpr std::size_t kSweptPerTxn = 12;
constexpr std::uint64_t kSweptStride = 32;       // about one record in each page
constexpr std::uint64_t kFloodBytes = 2u << 20;  // the least bound of the log
constexpr std::uint64_t kLargeRecordsMin = 10'000;
constexpr std::uint32_t kLargePayloadBytesMin = 64;  // so that its records take 256 pages

bool is_write(const Operation& operation) { return operation.kind >= Operation::Kind::kPut; }

}  // namespace

// ---- transactions

bool Simulation::begin(Open* open) {
  open->options = {};
  const std::uint64_t what = random_.below(20);
  if (what == 0) open->options.isolation = Isolation::kDirtyRead;
  if (what <= 2 && what > 0) open->options.isolation = Isolation::kSnapshot;
  open->options.newest_existing = what == 1;
  open->options.read_only = what < 4;
  if (what == 2) open->options.as_of = Epoch(1 + random_.below(open_life_->current().number()));
  return begin_with_options(open);
}

bool Simulation::begin_writes(Open* open) {
  open->options = {};
  return begin_with_options(open);
}

bool Simulation::begin_with_options(Open* open) {
  open->operations.clear();
  Result<Txn> txn = engine::begin_txn(open->session, open->options);
  // The snapshot may have expired, or not be made yet.
  const bool may_be_missing = open->options.as_of.is_valid() || open->options.newest_existing;
  if (txn.code() == ErrorCode::kNotFound && may_be_missing) return false;
  if (!is_expected(txn.status(), "begin") || !txn.is_ok()) return false;
  open->txn = std::make_unique<Txn>(std::move(*txn));
  return true;
}

bool Simulation::operate(Open* open, bool for_update) {
  if (history_.now().empty()) return true;
  const auto number = static_cast<std::uint32_t>(open - sessions_.data());
  // A snapshot transaction locks no record.
  const bool locks = for_update && open->options.isolation == Isolation::kSerializable;
  return perform_in(open, make_operation(&random_, history_.now(), keys_, number,
                                         open->options.read_only, locks, &serial_));
}

bool Simulation::perform_in(Open* open, Operation operation) {
  operation.seen = {};
  occ::StorageControl* const control = open_life_->find(operation.storage);
  if (control == nullptr) {
    fail("storage " + std::to_string(operation.storage) + " cannot be found");
    return false;
  }
  const Status status = perform(open->txn.get(), control, &operation);
  if (status.is_ok()) {
    open->operations.push_back(std::move(operation));
    return true;
  }
  if (status.code() == ErrorCode::kConflict) note_conflict(*open, status);
  is_expected(status, to_string(operation).c_str());
  open->txn.reset();
  return false;
}

// Locks that a transaction holds between operations would let others wait for ever in this one
// thread, so such transactions are made in one go.
void Simulation::step_transaction(bool in_one_go, bool for_update) {
  Open& open = sessions_[random_.below(sessions_.size())];
  if (in_one_go) open.txn.reset();
  if (open.txn == nullptr && !begin(&open)) return;
  const std::uint64_t operations = 1 + random_.below(6);
  for (std::uint64_t i = 0; i < operations; ++i) {
    if (!operate(&open, for_update)) return;
  }
  const std::uint64_t then = random_.below(10);
  if (in_one_go || then < 5) return commit(&open);
  if (then == 5) open.txn.reset();
}

void Simulation::commit(Open* open) {
  const Result<Ticket> ticket = open->txn->commit();
  open->txn.reset();
  if (!ticket.is_ok()) {
    if (ticket.code() == ErrorCode::kConflict) note_conflict(*open, ticket.status());
    const bool uses_dropped =
        std::any_of(open->operations.begin(), open->operations.end(),
                    [this](const auto& one) { return !history_.now().contains(one.storage); });
    if (ticket.code() == ErrorCode::kNotFound && uses_dropped) return;
    is_expected(ticket.status(), "commit");
    return;
  }
  ++outcome_.counts.commits;
  if (open->options.isolation == Isolation::kSnapshot) return check_snapshot(open, ticket->epoch());
  if (open->options.isolation == Isolation::kDirtyRead) return;
  last_ticket_ = *ticket;
  check_committed(open, ticket->epoch());
}

void Simulation::check_committed(Open* open, Epoch epoch) {
  Content content = history_.now();
  std::vector<Change> changes;
  for (Operation& operation : open->operations) {
    if (!content.contains(operation.storage)) {  // dropped meanwhile
      if (!is_write(operation) || operation.seen.code != ErrorCode::kOk) continue;
      return fail("a write to a dropped storage was committed: " + to_string(operation));
    }
    const Operation::Seen seen = expect(operation, &content, &changes);
    if (seen == operation.seen) continue;
    return fail("a transaction that committed saw what is not there: " + to_string(operation) +
                "; expected " + std::string(foedus::to_string(seen.code)) + ", " +
                std::to_string(seen.rows.size()) + " rows");
  }
  tell("  committed " + std::to_string(changes.size()) + " changes in epoch " +
       std::to_string(epoch.number()));
  if (!changes.empty()) history_.commit(epoch, std::move(changes));
}

void Simulation::check_snapshot(Open* open, Epoch epoch) {
  Content content = history_.content_at(epoch);
  for (Operation& operation : open->operations) {
    const auto now = history_.now().find(operation.storage);
    if (now == history_.now().end()) continue;  // dropped meanwhile
    if (!content.contains(operation.storage)) {
      StorageModel empty = now->second;  // made later
      empty.rows.clear();
      content.emplace(operation.storage, std::move(empty));
    }
    std::vector<Change> none;
    if (expect(operation, &content, &none) == operation.seen) continue;
    return fail("a snapshot of epoch " + std::to_string(epoch.number()) +
                " saw what was not there: " + to_string(operation));
  }
}

void Simulation::wait_durable() {
  const Epoch epoch = last_ticket_.epoch();
  const Status status = last_ticket_.wait_durable();
  if (!is_expected(status, "wait_durable") || !status.is_ok()) return;
  if (open_life_->durable() < epoch) fail("what was acknowledged is not durable");
}

// Makes many transactions, so that pages split, chains grow and rings wrap between two calls of the
// device.
void Simulation::step_many() {
  const std::uint64_t count = 2 + random_.below(30);
  for (std::uint64_t i = 0; i < count && !has_failed(); ++i) step_transaction(true, false);
}

// Puts or erases neighbouring keys, so that pages fill up, become thin and are joined.
void Simulation::step_sweep() {
  std::vector<const StorageModel*> keyed;
  for (const auto& [id, storage] : history_.now()) {
    if (storage.records >= kLargeRecordsMin) return sweep_array(storage);
    const bool has_keys =
        storage.kind == StorageKind::kMasstree || storage.kind == StorageKind::kHash;
    if (has_keys) keyed.push_back(&storage);
  }
  if (keyed.empty()) return;
  Operation operation;
  operation.storage = keyed[random_.below(keyed.size())]->id;
  operation.storage_kind = history_.now().at(operation.storage).kind;
  operation.kind = random_.below(2) == 0 ? Operation::Kind::kErase : Operation::Kind::kPut;
  const std::size_t begin = random_.below(keys_.size());
  const std::size_t end = begin + random_.below(keys_.size() - begin + 1);
  const std::uint64_t bytes = random_.below(4) == 0 ? 1'500 : 150;
  Open& open = sessions_[random_.below(sessions_.size())];
  sweep(&open, end - begin, kSweptPerTxn, [&](std::size_t i) {
    operation.key = keys_[begin + i];
    operation.payload.assign(random_.below(bytes), static_cast<char>('A' + step_ % 26));
    return operation;
  });
}

// Changes single records in enough pages that most pages of the files are superseded soon; or again
// and again, until the log is long enough that writers have to wait.
void Simulation::sweep_array(const StorageModel& array) {
  Operation operation;
  operation.storage = array.id;
  operation.storage_kind = array.kind;
  operation.kind = Operation::Kind::kPut;
  operation.payload.assign(array.payload_bytes, static_cast<char>('A' + step_ % 26));
  const std::uint64_t places = array.records / kSweptStride;
  std::uint64_t begin = random_.below(2) == 0 ? 0 : random_.below(places);
  std::uint64_t count = 1 + random_.below(places - begin);
  std::uint64_t rounds = 1;
  if (random_.below(4) == 0) {
    begin = 0;
    count = places;
    rounds += kFloodBytes / (count * array.payload_bytes);
  }
  Open& open = sessions_[random_.below(sessions_.size())];
  for (; rounds != 0 && !has_failed(); --rounds) {
    sweep(&open, count, kSweptPerTxn * 8, [&](std::size_t i) {
      operation.index = (begin + i) * kSweptStride;
      operation.key = index_key(operation.index);
      return operation;
    });
    if (rounds > 1) open_life_->runtime().run_for(random_.below(500));
  }
}

void Simulation::sweep(Open* open, std::size_t count, std::size_t per_txn,
                       const std::function<Operation(std::size_t i)>& make) {
  for (std::size_t at = 0; at < count && !has_failed();) {
    open->txn.reset();
    if (!begin_writes(open)) return;
    for (std::size_t i = 0; i < per_txn && at < count; ++i, ++at) {
      if (!perform_in(open, make(at))) return;
    }
    commit(open);
  }
}

// ---- looking at all

void Simulation::check_all() {
  const Reading reading = open_life_->read(keys_, {.read_only = true});
  if (!is_expected_reading(reading.status, "a read of all") || !reading.status.is_ok()) return;
  if (!reading.wrong.empty()) return fail(reading.wrong);
  if (digest_of(reading.content) == digest_of(history_.now())) return;
  fail("a read of all differs in\n" + difference(reading.content, history_.now()));
}

void Simulation::read_snapshot() {
  TxnOptions options{.isolation = Isolation::kSnapshot};
  const std::uint64_t what = random_.below(3);
  const bool can_glean = plan_.gleans && history_.newest() >= floor_;
  const bool wants_all = what == 2 && can_glean && history_.newest().number() % 2 == 0;
  if (what == 1) {
    options.as_of = Epoch(1 + random_.below(open_life_->current().number()));
  } else if (what == 2 && can_glean && !wants_all) {
    options.at_least = history_.newest();
    if (!options.at_least.is_valid()) options.at_least = Epoch(1);
  } else {
    options.newest_existing = !wants_all;
  }
  const Reading reading = open_life_->read(keys_, options);
  const bool may_be_missing = options.as_of.is_valid() || options.newest_existing;
  if (reading.status.code() == ErrorCode::kNotFound && may_be_missing) return;
  if (!is_expected_reading(reading.status, "a read of a snapshot")) return;
  if (!reading.status.is_ok()) return;
  if (options.as_of.is_valid() && reading.covered > options.as_of) fail("a snapshot is too new");
  if (reading.covered < options.at_least) fail("a snapshot is too old");
  if (wants_all && reading.covered < history_.newest()) fail("a snapshot lacks a commit");
  const std::string wrong = check_->compare_snapshot(reading, {history_.newest()});
  if (!wrong.empty()) fail(wrong);
}

// ---- catalog

void Simulation::make_storages(std::uint64_t count) {
  for (std::uint64_t i = 0; i < count && !has_failed(); ++i) create_storage();
}

void Simulation::create_storage() {
  static constexpr StorageKind kKinds[] = {StorageKind::kMasstree, StorageKind::kHash,
                                           StorageKind::kArray, StorageKind::kSequential};
  StorageModel storage;
  const std::uint64_t number = names_++;
  storage.kind = kKinds[number % 4];
  storage.name = "storage " + std::to_string(number);
  if (storage.kind == StorageKind::kArray) {
    storage.records = 1 + chance_of(plan_.seed, 7, number) % 700;
    storage.payload_bytes =
        8 * static_cast<std::uint32_t>(1 + chance_of(plan_.seed, 8, number) % 12);
    if (number == kNumberOfLarge && has_large_array(plan_)) {
      storage.records = kLargeRecordsMin + chance_of(plan_.seed, 7, number) % 20'001;
      storage.payload_bytes = std::max(storage.payload_bytes, kLargePayloadBytesMin);
    }
  }
  for (const auto& [id, other] : history_.now()) {
    // The name may be that of a dropped storage, or of one whose creation was lost.
    if (other.name == storage.name) return;
  }
  Epoch epoch;
  Result<occ::StorageControl*> created(ErrorCode::kClosed);
  {
    const PlaceWatch watch([&](std::string_view place) {
      const bool is_first = place == "engine:ddl_serialized" && !epoch.is_valid();
      if (is_first) epoch = open_life_->current();
    });
    const Status status = with_room([&] {
      created = open_life_->create(storage);
      return created.status();
    });
    FOEDUS_INVARIANT(status.code() == created.code());
  }
  if (!is_expected(created.status(), "create") || !created.is_ok()) return;
  if (!epoch.is_valid()) return fail(storage.name + " was there already");
  storage.id = static_cast<std::uint32_t>((*created)->id());
  const std::uint32_t id = storage.id;
  history_.commit(epoch, {{Change::Kind::kCreate, id, "", "", std::move(storage)}});
  if (open_life_->durable() < epoch) fail("a storage is announced that is not durable");
}

void Simulation::drop_storage() {
  auto chosen = history_.now().begin();
  std::advance(chosen, random_.below(history_.now().size()));
  const StorageModel storage = chosen->second;
  Epoch epoch;
  Status dropped;
  {
    const PlaceWatch watch([&](std::string_view place) {
      const bool is_first = place == "engine:ddl_serialized" && !epoch.is_valid();
      if (is_first) epoch = open_life_->current();
    });
    dropped = with_room([&] { return open_life_->engine().catalog().drop(storage.name); });
  }
  if (!is_expected(dropped, "drop") || !dropped.is_ok()) return;
  history_.commit(epoch, {{Change::Kind::kDrop, storage.id, "", "", {}}});
  if (open_life_->durable() < epoch) fail("a drop that returned is not durable");
  // The next storage may have the same name and another kind.
  const std::uint64_t number = std::strtoull(storage.name.c_str() + 8, nullptr, 10);
  if (random_.below(2) == 0) names_ = number;
}

void Simulation::change_catalog() {
  if (!plan_.ddl || (is_faulty_ && !is_full_)) return;
  const std::size_t count = history_.now().size();
  if (count > 1 && (count >= plan_.storages || random_.below(2) == 0)) return drop_storage();
  create_storage();
}

// A change that failed on a full device may be in the ring already; the next call finishes it.
Status Simulation::with_room(const std::function<Status()>& change) {
  Status status = change();
  if (!is_full_ || status.code() != ErrorCode::kOutOfSpace) return status;
  clear_faults();
  open_life_->runtime().run_for(kAfterFullUs);
  return change();
}

// ---- faults

void Simulation::begin_fault() {
  if (!plan_.faults || is_faulty_) return;
  ++outcome_.counts.faults;
  is_faulty_ = true;
  fault_ends_at_ = step_ + 1 + random_.below(12);
  is_full_ = random_.below(2) == 0;
  const std::uint64_t how = random_.below(4);
  device_.reread_after_failed_sync(how == 0   ? FailingDevice::kDropAll
                                   : how == 1 ? random_.next()
                                              : FailingDevice::kKeepAll);
  if (is_full_) return fill_device();
  device_.fail(static_cast<Call>(random_.below(testing::kCallKinds)), random_.below(10), EIO,
               random_.below(2) == 0);
}

// Fills the device by its size, for all calls that allocate, or for one kind of call: on a device
// that allocates late, a sync or a change of names may be the first to fail.
void Simulation::fill_device() {
  const std::uint64_t how = random_.below(3);
  if (how == 0) {
    device_.set_capacity(device_.used_bytes() + random_.below(64) * 1024);
  } else if (how == 1) {
    device_.fail(Call::kWrite, random_.below(6), ENOSPC, true);
    device_.fail(Call::kCreate, 0, ENOSPC, true);
    device_.fail(Call::kPreallocate, 0, ENOSPC, true);
  } else {
    static constexpr Call kCalls[] = {Call::kWrite,       Call::kSync,    Call::kSyncDirectory,
                                      Call::kRename,      Call::kCreate,  Call::kRemove,
                                      Call::kPreallocate, Call::kTruncate};
    device_.fail(kCalls[random_.below(std::size(kCalls))], random_.below(10), ENOSPC,
                 random_.below(2) == 0);
  }
}

void Simulation::clear_faults() {
  device_.clear_faults();
  device_.set_capacity(FailingDevice::kUnlimited);
}

// After ENOSPC all calls work again. After EIO the log may stay failed; reads go on.
void Simulation::end_fault() {
  if (!is_faulty_) return;
  clear_faults();
  open_life_->runtime().run_for(kAfterFullUs);
  const bool has_log_failed = open_life_->engine().log_has_failed();
  if (is_full_ && has_log_failed) return fail("a full device has ended the log");
  const bool was_faulty = std::exchange(is_faulty_, false);
  check_all();
  if (has_log_failed) {
    is_faulty_ = was_faulty;
    if (!has_failed()) end(End::kPowerFails);
    if (!has_failed()) open();
    return;
  }
  is_full_ = false;
  if (plan_.gleans && !has_failed()) is_expected(open_life_->glean(), "glean after a fault");
  if (has_failed() || history_.now().empty()) return;
  for (int i = 0; i < 10 && !has_failed(); ++i) {
    Open open;
    open.session = sessions_.front().session;
    sessions_.front().txn.reset();
    if (!begin(&open)) continue;
    Operation operation = make_operation(&random_, history_.now(), keys_, kSessionOfProbe,
                                         open.options.read_only, false, &serial_);
    const Status status = perform(open.txn.get(), open_life_->find(operation.storage), &operation);
    is_expected(status, "a transaction after a fault");
    if (!status.is_ok()) continue;
    open.operations.push_back(std::move(operation));
    commit(&open);
  }
  if (!has_failed()) wait_durable();
}

}  // namespace foedus::simulation
