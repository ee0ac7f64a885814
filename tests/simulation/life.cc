#include "tests/simulation/life.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>

#include "foedus-core/base/system/sync_point.h"

namespace foedus::simulation {

namespace {

constexpr std::size_t kSerialDigits = 10;
constexpr std::size_t kSessionDigits = 3;

thread_local const PlaceWatch* watch = nullptr;

void report_place(const char* place) {
  if (watch != nullptr) watch->report(place);
}

}  // namespace

PlaceWatch::PlaceWatch(Function function) : function_(std::move(function)), outer_(watch) {
  watch = this;
  base::set_sync_point_hook(report_place);
}

PlaceWatch::~PlaceWatch() { watch = outer_; }

std::vector<std::string> make_keys(std::uint64_t seed, std::uint64_t count) {
  base::Random random(seed);
  std::set<std::string> keys;
  const std::string prefix = "prefix-8";
  while (keys.size() < count) {
    std::string key;
    for (std::uint64_t i = random.below(4); i > 1; --i) key += prefix;  // none, or one, or two
    const std::uint64_t bytes = random.below(8) == 0 ? random.below(180) : random.below(14);
    for (std::uint64_t i = 0; i <= bytes; ++i) {
      key += random.below(16) == 0 ? '\0' : static_cast<char>('a' + random.below(6));
    }
    keys.insert(key);
  }
  return {keys.begin(), keys.end()};
}

Options make_options(base::Random* random, std::uint32_t sessions_max, bool gleans) {
  Options options;
  options.dir = "/failing";
  options.socs = static_cast<std::uint32_t>(1 + random->below(4));
  options.memory_bytes = (96u + 32u * random->below(3)) << 20;
  options.log.buffer_bytes = (64u << 10) << random->below(2);
  options.log.segment_bytes = (1u + random->below(2)) << 20;
  options.sessions_max = sessions_max;
  options.epoch_interval_us = 200 + random->below(3) * 1'500;
  options.snapshots_kept = static_cast<std::uint32_t>(1 + random->below(3));
  options.pages.huge_pages = Facility::kOff;
  options.pages.numa_binding = Facility::kOff;
  options.glean.log_bytes = 1u << 20;
  // The least bound, so that writers have to wait.
  options.glean.log_bytes_max = 2u << 20;
  options.glean.interval_us = gleans ? 5'000 + random->below(20) * 10'000 : 0;
  options.pages.volatile_percent = static_cast<std::uint32_t>(random->below(2) * 60);
  if (!gleans) options.pages.volatile_percent = 90;
  options.glean.memory_bytes = (16u + 16u * random->below(2)) << 20;
  options.glean.mappers = static_cast<std::uint32_t>(random->below(4));
  options.glean.reducers = static_cast<std::uint32_t>(random->below(4));
  options.glean.installers = options.glean.reducers;
  options.pages.cache_bytes = (512u << 10) * options.socs;
  if (random->below(2) == 0) options.glean.touch_bytes = 0;
  options.glean.close_us = gleans ? random->below(2) * 1'000'000 : 0;
  return options;
}

Status Life::open(const Options& options) {
  FOEDUS_TRY(engine_, engine::Engine::open(options, {.runtime = &runtime_, .device = device_}));
  return {};
}

occ::StorageControl* Life::find(std::uint32_t id) {
  return engine_->catalog().find(page::StorageId{id});
}

Result<occ::StorageControl*> Life::create(const StorageModel& storage) {
  storage_meta::StorageMeta meta;
  meta.kind = storage.kind;
  meta.name = storage.name;
  meta.records = storage.records;
  meta.payload_bytes = storage.payload_bytes;
  if (meta.kind == StorageKind::kHash) meta.fan_out_bits = 1;
  return engine_->catalog().open(meta);
}

Result<Ticket> Life::transact(const Function& function, const TxnOptions& options) {
  FOEDUS_TRY(engine::EngineSession* const session, engine_->take_session());
  const bool is_of_snapshot = options.isolation == Isolation::kSnapshot;
  Result<Ticket> ticket(ErrorCode::kClosed);
  for (std::uint32_t tries = 1;; ++tries) {
    ticket = transact_once(session, function, options, tries > 1);
    const bool is_last = is_of_snapshot || tries == kTriesMax;
    if (ticket.code() != ErrorCode::kConflict || is_last) break;
    session->back_off(tries);
  }
  engine_->give_session(session);
  return ticket;
}

Result<Ticket> Life::transact_once(engine::EngineSession* session, const Function& function,
                                   const TxnOptions& options, bool is_retry) {
  FOEDUS_TRY(Txn txn, engine::begin_txn(session, options, is_retry));
  Status status = function(&txn);
  if (status.is_ok()) return txn.commit();
  // An error that depends on reads which no longer hold is a conflict of the reads.
  FOEDUS_CHECK(txn.verify());
  return status;
}

Reading Life::read(const std::vector<std::string>& keys, const TxnOptions& options) {
  Reading reading;
  const auto read_all = [&](Txn* txn) {
    reading = {};
    return read_storages(txn, keys, &reading);
  };
  const Result<Ticket> ticket = transact(read_all, options);
  reading.status = ticket.status();
  if (ticket.is_ok()) reading.covered = ticket->epoch();
  return reading;
}

Status Life::read_storages(Txn* txn, const std::vector<std::string>& keys, Reading* reading) {
  for (const StorageInfo& info : engine_->catalog().list()) {
    StorageModel storage{info.id, info.kind, info.name, info.records, info.payload_bytes, {}};
    // A storage of an early snapshot may be dropped at the end of recovery, which runs in a wait of
    // this reading.
    occ::StorageControl* const control = find(info.id);
    if (control == nullptr) continue;
    const Status read = read_storage(txn, keys, control, &storage, &reading->wrong);
    if (read.code() == ErrorCode::kNotFound && find(info.id) == nullptr) continue;
    if (!read.is_ok()) return Status(read).at_storage(info.name);
    reading->content.emplace(info.id, std::move(storage));
  }
  return {};
}

Status Life::read_storage(Txn* txn, const std::vector<std::string>& keys,
                          occ::StorageControl* control, StorageModel* storage, std::string* wrong) {
  Rows& rows = storage->rows;
  switch (storage->kind) {
    case StorageKind::kMasstree: {
      Scan scan = txn->scan(handle_of<Masstree>(control), "", "");
      std::string last;
      for (const Row& row : scan) {
        if (!rows.empty() && row.key <= last) *wrong = "keys of a scan do not ascend";
        last = row.key;
        rows.emplace(row.key, row.payload);
      }
      return scan.failure().value_or(Status());
    }
    case StorageKind::kHash:
      for (const std::string& key : keys) {
        Result<std::string> payload = txn->get(handle_of<Hash>(control), key);
        if (payload.code() == ErrorCode::kNotFound) continue;
        if (!payload.is_ok()) return payload.status();
        rows.emplace(key, std::move(*payload));
      }
      return {};
    case StorageKind::kArray:
      for (std::uint64_t i = 0; i < storage->records; ++i) {
        std::string payload(storage->payload_bytes, '\0');
        FOEDUS_CHECK(txn->get(handle_of<Array>(control), i,
                              std::as_writable_bytes(std::span<char>(payload))));
        if (!is_zero(payload)) rows.emplace(index_key(i), std::move(payload));
      }
      return {};
    case StorageKind::kSequential: {
      std::vector<std::string> payloads;
      Scan scan = txn->scan(handle_of<Sequential>(control));
      for (const Row& row : scan) payloads.emplace_back(row.payload);
      if (std::string order = wrong_order(payloads); !order.empty()) *wrong = order;
      for (std::string& payload : payloads) {
        if (!rows.emplace(std::move(payload), "").second) *wrong = "a record twice";
      }
      return scan.failure().value_or(Status());
    }
  }
  return {};
}

std::string sequential_payload(std::uint64_t serial, std::uint32_t session, std::size_t bytes) {
  char head[32];
  std::snprintf(head, sizeof(head), "%010llu.%03u.", static_cast<unsigned long long>(serial),
                session);
  std::string payload = head;
  payload.resize(std::clamp<std::size_t>(bytes, payload.size(), kMaxSequentialPayloadBytes), 's');
  return payload;
}

std::string wrong_order(const std::vector<std::string>& payloads) {
  std::map<std::string, std::string> last;  // serial number by session
  for (const std::string& payload : payloads) {
    if (payload.size() < kSerialDigits + kSessionDigits + 2) return "a record was cut";
    const std::string serial = payload.substr(0, kSerialDigits);
    std::string& before = last[payload.substr(kSerialDigits + 1, kSessionDigits)];
    if (before >= serial) return "record " + serial + " comes behind " + before;
    before = serial;
  }
  return {};
}

}  // namespace foedus::simulation
