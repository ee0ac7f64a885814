#include "tests/simulation/simulation.h"

#include <algorithm>
#include <thread>

#include "foedus-core/base/crc32c.h"

namespace foedus::simulation {

namespace {

using testing::Call;
using testing::FailingDevice;

// Streams of chance_of().
constexpr std::uint64_t kStreamOfSteps = 1;
constexpr std::uint64_t kStreamOfKeys = 3;
constexpr std::uint64_t kStreamOfLives = 4;
constexpr std::uint64_t kStreamOfBits = 5;

constexpr std::uint32_t kSessionsOfReaders = 2;
constexpr std::uint64_t kFlipsPerClose = 4;
constexpr std::uint64_t kLargeStride = 4;

}  // namespace

Simulation::Simulation(const Plan& plan)
    : plan_(plan),
      keys_(make_keys(chance_of(plan.seed, kStreamOfKeys, 0),
                      1 + chance_of(plan.seed, kStreamOfKeys, 1) % plan.keys)),
      check_(std::make_unique<StateCheck>(plan_, keys_, history_, &outcome_.counts)),
      random_(1) {
  device_.set_observer([this](const testing::CallSeen& call) { observe(call); });
  if (plan.planted.empty()) return;
  const bool is_directory = plan.planted.starts_with("directory:");
  const std::string number = plan.planted.substr(plan.planted.find(':') + 1);
  device_.skip_sync(is_directory ? Call::kSyncDirectory : Call::kSync,
                    std::strtoull(number.c_str(), nullptr, 10), number.ends_with('+'));
}

Simulation::~Simulation() {
  sessions_.clear();
  open_life_ = nullptr;
  device_.set_observer(nullptr);
}

void Simulation::fail(std::string what) {
  if (has_failed()) return;
  outcome_.failure = std::move(what);
  outcome_.step = step_;
}

bool Simulation::is_expected(const Status& status, const char* what) {
  const ErrorCode code = status.code();
  if (status.is_ok() || code == ErrorCode::kConflict || code == ErrorCode::kTooLarge) return true;
  const bool is_of_device = code == ErrorCode::kIoError || code == ErrorCode::kOutOfSpace;
  if (is_faulty_ && is_of_device) return true;
  fail(std::string(what) + ": " + status.message());
  return false;
}

bool Simulation::is_expected_reading(const Status& status, const char* what) {
  if (status.code() != ErrorCode::kConflict) return is_expected(status, what);
  fail(std::string(what) + ": " + status.message());
  return false;
}

void Simulation::note_conflict(const Open& open, const Status& status) {
  ++outcome_.counts.conflicts;
  if (open.options.isolation == Isolation::kSnapshot) fail("a snapshot: " + status.message());
}

Outcome Simulation::run(const Trace& trace) {
  open();
  settle();
  for (step_ = 0; step_ < plan_.steps && !has_failed(); ++step_) {
    random_ = base::Random(chance_of(plan_.seed, kStreamOfSteps, step_));
    if (!plan_.omitted.contains(step_)) step();
    settle();
    if (trace) trace(step_, outcome_.digest, device_.digest());
  }
  if (!has_failed()) {
    end_fault();
    end(End::kClose);
    settle();
  }
  if (!has_failed()) open();
  settle();
  return outcome_;
}

void Simulation::step() {
  if (is_faulty_ && step_ >= fault_ends_at_) end_fault();
  if (has_failed()) return;
  const std::uint64_t what = random_.below(100);
  tell("step " + std::to_string(step_) + ": " + std::to_string(what) + ", epoch " +
       std::to_string(open_life_->current().number()) + ", durable " +
       std::to_string(open_life_->durable().number()));
  if (what < 6) {
    step_many();
  } else if (what < (has_large_array(plan_) ? 14 : 9)) {
    step_sweep();
  } else if (what < 56) {
    step_transaction(false, false);
  } else if (what < 64) {
    step_transaction(true, random_.below(2) == 0);
  } else if (what < 71) {
    open_life_->runtime().run_for(random_.below(4) == 0 ? 60'000 : random_.below(3'000));
  } else if (what < 79) {
    wait_durable();
  } else if (what < 84) {
    if (plan_.gleans) is_expected(open_life_->glean(), "glean");
  } else if (what < 87) {
    read_snapshot();
  } else if (what < 89) {
    check_all();
  } else if (what < 92) {
    change_catalog();
  } else if (what < 94) {
    if (plan_.restarts) end(End::kClose);
  } else if (what < 96) {
    if (plan_.crashes) end(random_.below(2) == 0 ? End::kDie : End::kPowerFails);
  } else if (what == 96) {
    if (plan_.crashes) lose_power_soon();
  } else {
    begin_fault();
  }
  if (!has_failed() && open_life_ == nullptr) open();
}

// ---- states of crashes

void Simulation::observe(const testing::CallSeen& call) {
  std::uint64_t sum = static_cast<std::uint64_t>(call.kind) + 31 * call.offset;
  for (const char c : call.name) sum = sum * 131 + static_cast<unsigned char>(c);
  if (call.bytes != nullptr) sum = sum * 131 + base::crc32c(call.bytes->data(), call.bytes->size());
  outcome_.digest = (outcome_.digest ^ sum) * 0x2545f4914f6cdd1du + 1;
  if (!testing::is_changing(call.kind)) return;
  ++calls_;
  const bool removes = call.kind == Call::kRemove && call.name.starts_with("snapshot-");
  if (removes && open_life_ != nullptr) ++outcome_.counts.snapshot_files_removed;
  if (narration_ != nullptr) {
    CrashState state;
    state.kind = call.kind;
    state.name = call.name;
    state.call = calls_;
    tell("  " + state.describe());
  }
  if (device_.has_lost_power() || plan_.stride == 0 || step_ < plan_.states_from_step) return;
  const auto is_one_in = [this](std::uint64_t n) { return calls_ % n == plan_.seed % n; };
  // A state with a large array takes as long as several others.
  const std::uint64_t stride = plan_.stride * (has_large_array(plan_) ? kLargeStride : 1);
  const bool is_rare = call.kind != Call::kWrite && call.kind != Call::kSync;
  const bool is_chosen = plan_.only_call != 0 ? calls_ == plan_.only_call
                                              : is_one_in(is_rare ? 1 + stride / 8 : stride);
  if (!is_chosen) return;
  take_state(call, false);
  if (call.kind == Call::kWrite) take_state(call, true);
}

void Simulation::take_state(const testing::CallSeen& call, bool is_half) {
  CrashState state;
  state.device = device_.copy();
  if (is_half) {
    const std::uint64_t sectors = call.bytes->size() / 512;
    const std::uint64_t whole = chance_of(plan_.seed, 6, calls_) % (sectors + 1);
    state.device->begin_write(call, whole * 512);
  }
  state.kind = call.kind;
  state.name = call.name;
  state.call = calls_;
  state.is_half = is_half;
  state.acknowledged = floor_;
  state.newest = std::max(floor_, ceiling_);
  if (open_life_ != nullptr) {
    state.acknowledged = std::max(floor_, open_life_->durable());
    state.newest = std::max(floor_, open_life_->current().previous());
  }
  taken_.push_back(std::move(state));
}

void Simulation::settle() {
  std::vector<CrashState> taken = std::move(taken_);
  taken_.clear();
  for (CrashState& state : taken) {
    if (has_failed() || outcome_.counts.states >= plan_.states_max) return;
    const std::uint64_t call = state.call;
    std::string wrong;
    std::thread([&] { wrong = check_->run(std::move(state)); }).join();  // Z2
    if (wrong.empty()) continue;
    fail(wrong);
    outcome_.call = call;
  }
}

// ---- lives

void Simulation::open() {
  base::Random random(chance_of(plan_.seed, kStreamOfLives, lives_++));
  life_ = std::make_unique<Life>(&device_, random.next());
  const Options options = make_options(
      &random, static_cast<std::uint32_t>(plan_.sessions) + kSessionsOfReaders, plan_.gleans);
  if (plan_.faults && random.below(10) == 0) {
    // An error during the open is reported, or the open did not need the call.
    ++outcome_.counts.faults;
    device_.fail(static_cast<Call>(random.below(testing::kCallKinds)), random.below(12),
                 random.below(2) == 0 ? EIO : ENOSPC);
    const Status failed = life_->open(options);
    is_faulty_ = true;
    is_expected(failed, "open of a failing device");
    is_faulty_ = false;
    life_ = nullptr;
    device_.crash_process();
    life_ = std::make_unique<Life>(&device_, random.next());
  }
  Status opened;
  ++outcome_.counts.recoveries;
  if (random.below(4) == 0) {
    const std::vector<Epoch> allowed = history_.ends_between(floor_, std::max(floor_, ceiling_));
    const std::string wrong = check_->open_early(life_.get(), options, allowed, &opened);
    if (!wrong.empty()) fail(wrong);
  } else {
    opened = life_->open(options);
  }
  if (!opened.is_ok()) return fail("open: " + opened.message());
  settle();  // the states of recovery, before the history is cut
  if (!has_failed()) look_at_recovered();
}

void Simulation::look_at_recovered() {
  const Reading reading = life_->read(keys_, {.read_only = true});
  if (!reading.status.is_ok()) return fail("read: " + reading.status.message());
  std::string wrong;
  const Epoch last = std::max(floor_, ceiling_);
  std::vector<Epoch> allowed = history_.ends_between(floor_, last);
  // Two epochs may end with the same state: then the engine's own epoch counts.
  allowed.push_back(std::clamp(
      std::max(life_->engine().log()->durable_epoch_found(), life_->engine().snapshots().covered()),
      floor_, last));
  const Epoch found = check_->match(reading, allowed, &wrong);
  if (!wrong.empty()) return fail("after open: " + wrong);
  tell("opened: floor " + std::to_string(floor_.number()) + ", ceiling " +
       std::to_string(ceiling_.number()) + ", found " + std::to_string(found.number()));
  history_.cut(found);
  floor_ = history_.last_commit(found);
  open_life_ = life_.get();
  last_ticket_ = Ticket();
  const std::uint64_t count = 1 + chance_of(plan_.seed, kStreamOfLives, ~lives_) % plan_.sessions;
  sessions_.clear();
  sessions_.resize(count);
  for (Open& open : sessions_) {
    Result<engine::EngineSession*> session = open_life_->engine().take_session();
    if (!session.is_ok()) return fail("session: " + session.status().message());
    open.session = *session;
  }
  if (history_.now().empty()) {
    const std::uint64_t some = 1 + chance_of(plan_.seed, kStreamOfLives, 1'000) % plan_.storages;
    make_storages(has_large_array(plan_) ? std::max(some, kNumberOfLarge + 1) : some);
  }
}

void Simulation::count_life() {
  engine::Engine& engine = open_life_->engine();
  outcome_.counts.writers_waited_us += engine.stats().writers_waited_us;
  if (engine.cache() == nullptr) return;
  outcome_.counts.pages_evicted += engine.cache()->statistics().evictions;
}

void Simulation::end(End how) {
  Status closed;
  count_life();
  for (Open& open : sessions_) open.txn.reset();
  if (how == End::kClose) closed = open_life_->engine().close();
  if (how == End::kClose && !is_expected(closed, "close")) return;
  floor_ = history_.last_commit(std::max(floor_, open_life_->durable()));
  ceiling_ = std::max(floor_, history_.newest());
  if (how == End::kClose && closed.is_ok()) floor_ = ceiling_;
  tell("end " + std::to_string(static_cast<int>(how)) + ": floor " +
       std::to_string(floor_.number()) + ", ceiling " + std::to_string(ceiling_.number()));
  sessions_.clear();
  open_life_ = nullptr;
  if (how != End::kClose) {
    // Power fails first, so the destructor of the life does not change the device.
    device_.lose_power_after(0);
    life_.reset();
    if (how == End::kDie) {
      device_.crash_process();
    } else {
      const std::uint64_t survival = random_.below(3);
      device_.crash_power(survival == 0   ? FailingDevice::kDropAll
                          : survival == 1 ? FailingDevice::kKeepAll
                                          : random_.next());
    }
  }
  life_.reset();
  if (!closed.is_ok()) device_.crash_process();
  clear_faults();  // a fault may not have happened yet
  is_faulty_ = false;
  is_full_ = false;
  if (how != End::kClose || !closed.is_ok() || !plan_.corrupts || has_failed()) return;
  for (std::uint64_t i = 0; i < kFlipsPerClose && !has_failed(); ++i) {
    std::string wrong;
    const std::uint64_t chance = chance_of(plan_.seed, kStreamOfBits, lives_ * 100 + i);
    std::thread([&] { wrong = check_->corrupt(device_, chance); }).join();  // Z2
    if (!wrong.empty()) fail(wrong);
  }
}

void Simulation::lose_power_soon() {
  device_.lose_power_after(random_.below(40));
  is_faulty_ = true;
  for (int i = 0; i < 30 && !device_.has_lost_power() && !has_failed(); ++i) {
    step_transaction(true, false);
    if (random_.below(4) == 0) wait_durable();
    if (plan_.gleans && random_.below(8) == 0) is_expected(open_life_->glean(), "glean");
  }
  end(End::kPowerFails);
}

}  // namespace foedus::simulation
