#include "tests/kills/keeper.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <thread>

#include "foedus-core/base/system/clock.h"
#include "tests/isolation/tape.h"
#include "tests/kills/ledger.h"
#include "tests/kills/victim.h"

namespace foedus::kills {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kEndedOutOfSpace = 4;
constexpr std::uint64_t kRoomLeftBytesMax = 6u << 20;
constexpr std::uint64_t kNever = ~std::uint64_t{0};
constexpr std::uint64_t kFullMsMin = 200;  // until space comes back, at most
constexpr std::uint64_t kPassesMax = 2'000;
constexpr std::uint64_t kLifeMaxMs = 300'000;  // a process that takes longer hangs

// A file that fills the file system.
class Filler {
 public:
  explicit Filler(std::string path) : path_(std::move(path)) { remove(); }
  ~Filler() { remove(); }
  void leave(std::uint64_t bytes) const {
    const std::uint64_t free = free_bytes();
    if (free <= bytes) return;
    const int file = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) return;
    static_cast<void>(posix_fallocate(file, 0, static_cast<off_t>(free - bytes)));
    ::close(file);
  }
  void remove() const { static_cast<void>(::unlink(path_.c_str())); }
  std::uint64_t free_bytes() const {
    struct statvfs room {};
    const std::string folder = std::filesystem::path(path_).parent_path();
    if (statvfs(folder.c_str(), &room) != 0) return 0;
    return std::uint64_t{room.f_bavail} * room.f_frsize;
  }

 private:
  const std::string path_;
};

// The planned end of one process. Times are of its work, or of its life if it is to be killed
// during recovery, or if the file system is full before it opens.
struct Fate {
  bool is_killed = true;
  bool counts_recovery = false;
  std::uint64_t life_ms = 0;
  std::uint64_t fills_ms = kNever;  // time of filling the file system; 0: before the open
  std::uint64_t room_ms = kNever;   // time of new space; the process has to go on before it ends
  std::uint64_t room_left_bytes = 0;

  bool fills() const { return fills_ms != kNever; }
  bool gets_room() const { return room_ms != kNever; }
};

class Keeper {
 public:
  explicit Keeper(const KillOptions& options)
      : options_(options),
        memory_(sizeof(Ledger)),
        ledger_(*new (memory_.data()) Ledger()),
        random_(options.seed * 7919 + 1),
        filler_(options.dir + "/filler"),
        begin_(Clock::now()) {}

  Result<KillReport> run() {
    while (report_.kills < options_.kills) {
      Fate fate = fate_of_next();
      FOEDUS_CHECK(live(fate));
      show_progress();
      if (lives_ + 1 == options_.damage_behind) FOEDUS_CHECK(keep_files(db_dir()));
      if (lives_ == options_.damage_behind) FOEDUS_CHECK(do_damage(options_.damage, db_dir()));
    }
    ledger_.places.target = Places::kNone;
    FOEDUS_CHECK(live({.is_killed = false, .life_ms = 1}));  // checks all again
    for (std::uint32_t t = 0; t < options_.tellers; ++t) report_.transfers += model_.transfers[t];
    report_.orders_acknowledged = ledger_.acks_verified;
    report_.snapshots = ledger_.snapshot;
    report_.out_of_space = ledger_.out_of_space.load(std::memory_order_relaxed);
    report_.places.assign(places_.begin(), places_.end());
    return report_;
  }

 private:
  // The first process closes the database, so that a load of TPC-C is whole.
  Fate fate_of_next() {
    ledger_.places.target = Places::kNone;
    // A process whose files are damaged has done some work.
    const bool is_damaged = lives_ + 1 == options_.damage_behind;
    if (lives_ == 0 || is_damaged) return {.is_killed = false, .life_ms = 200};
    Fate fate;
    // A fourth of the processes die during recovery, or soon afterwards.
    fate.counts_recovery = random_.below(4) == 0;
    const std::uint64_t parts = fate.counts_recovery ? 10 : 1;
    fate.life_ms = 1 + random_.below(options_.life_ms_max / parts + 1);
    if (random_.below(20) == 0) fate.is_killed = false;
    if (fate.is_killed && random_.below(2) == 0) aim();
    if (options_.fills && random_.below(2) == 0) fill_in(&fate);
    return fate;
  }

  // Fills the file system, half of the times before the open, half during the work; half of both
  // get space again.
  void fill_in(Fate* fate) {
    fate->fills_ms = random_.below(2) == 0 ? 0 : random_.below(fate->life_ms);
    const std::uint64_t end_ms = std::max(fate->life_ms, fate->fills_ms + kFullMsMin);
    if (random_.below(2) == 0) {
      fate->room_ms = fate->fills_ms + random_.below(end_ms - fate->fills_ms);
    }
    // The remaining space is small, with equal chances for each power of two.
    fate->room_left_bytes = random_.below(kRoomLeftBytesMax >> random_.below(12));
  }

  // Chooses a place of earlier processes, where the process dies at a random pass, or else at its
  // time.
  void aim() {
    Places& places = ledger_.places;
    const std::uint32_t count = places.count.load(std::memory_order_relaxed);
    if (count == 0) return;
    places.target = static_cast<std::uint32_t>(random_.below(count));
    places.target_passes = 1 + random_.below(1 + random_.below(kPassesMax)) % kPassesMax;
    if (random_.below(2) == 0) places.target_passes = 1 + random_.below(3);
  }

  Status live(const Fate& fate) {
    ++lives_;
    ledger_.stage.store(Stage::kOpening, std::memory_order_relaxed);
    for (Places::Place& place : ledger_.places.places) {
      place.passes.store(0, std::memory_order_relaxed);
    }
    was_filled_ = false;
    if (fate.fills_ms == 0) fill(fate);
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child < 0) return Status::system_error(ErrorCode::kIoError, "fork", errno);
    if (child == 0) _exit(be_victim(fate));
    int ended = 0;
    const Status status = watch(child, fate, &ended);
    filler_.remove();
    FOEDUS_CHECK(status);
    return judge(fate, ended);
  }

  std::string db_dir() const { return options_.dir + "/db"; }

  int be_victim(const Fate& fate) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // the process does not outlive a stopped keeper
    VictimPlan plan;
    plan.dir = db_dir();
    plan.ack_file = options_.ack_file.empty() ? options_.dir + "/acks" : options_.ack_file;
    plan.seed = options_.seed;
    plan.number = lives_;
    plan.tellers = options_.tellers;
    plan.tpcc_sessions = options_.tpcc_sessions;
    plan.socs = options_.socs;
    plan.is_spread = options_.is_spread;
    plan.is_tiered = options_.is_tiered;
    plan.device = options_.device;
    plan.memory_bytes = options_.memory_bytes;
    plan.checks_all = !fate.is_killed || lives_ % options_.check_every == 0;
    plan.seconds = fate.is_killed ? 1e6 : static_cast<double>(fate.life_ms) / 1e3;
    const Status status = run_victim(plan, &ledger_);
    if (status.is_ok()) return 0;
    if (status.code() == ErrorCode::kOutOfSpace && fate.fills()) return kEndedOutOfSpace;
    std::fprintf(stderr, "process %u: %s\n", lives_, status.message().c_str());
    return 1;
  }

  void fill(const Fate& fate) {
    ++report_.lives_full;
    was_filled_ = true;
    filler_.leave(fate.room_left_bytes);
  }

  // Waits until the process has ended, by a kill or by itself.
  Status watch(pid_t child, const Fate& fate, int* ended) {
    const auto begin = Clock::now();
    std::optional<Clock::time_point> begin_of_work;
    if (fate.counts_recovery) begin_of_work = begin;
    const auto has_lived = [&](std::uint64_t ms) {
      return Clock::now() - begin >= std::chrono::milliseconds(ms);
    };
    const auto has_worked = [&](std::uint64_t ms) {
      return begin_of_work && Clock::now() - *begin_of_work >= std::chrono::milliseconds(ms);
    };
    Status status;
    bool was_killed = false;
    bool has_room = false;           // there is space again
    std::uint64_t acknowledged = 0;  // at that time
    while (waitpid(child, ended, WNOHANG) == 0) {
      // order: acquire, pairs with the victim's release.
      const Stage stage = ledger_.stage.load(std::memory_order_acquire);
      if (stage == Stage::kAudited && status.is_ok()) {
        status = compare();
        ledger_.stage.store(Stage::kAtWork, std::memory_order_release);
      }
      if (stage == Stage::kAtWork && !begin_of_work) begin_of_work = Clock::now();
      if (fate.fills() && !was_filled_ && has_worked(fate.fills_ms)) fill(fate);
      const auto has_passed = [&](std::uint64_t ms) {
        return fate.fills_ms == 0 ? has_lived(ms) : has_worked(ms);
      };
      if (was_filled_ && !has_room && fate.gets_room() && has_passed(fate.room_ms)) {
        has_room = true;
        filler_.remove();
        acknowledged = acknowledged_transfers();
      }
      const bool hangs = has_lived(kLifeMaxMs);
      if (hangs && status.is_ok()) {
        status = wrong(behind() + (has_room ? "the process does not go on where there is room again"
                                            : "the process hangs"));
      }
      const bool goes_on = !has_room || stage != Stage::kAtWork || options_.tellers == 0 ||
                           acknowledged_transfers() > acknowledged;
      const bool is_over = fate.is_killed && has_worked(life_ms_of(fate)) && goes_on;
      if (!was_killed && (is_over || !status.is_ok())) {
        was_killed = true;
        kill(child, SIGKILL);
      }
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    is_full_ = was_filled_ && !has_room;
    return status;
  }
  std::uint64_t acknowledged_transfers() const {
    std::uint64_t sum = 0;
    for (const Ledger::Teller& teller : ledger_.tellers) {
      sum += teller.acknowledged.load(std::memory_order_relaxed);  // order: a count
    }
    return sum;
  }
  // A process that is to die at a place has more time to reach it.
  std::uint64_t life_ms_of(const Fate& fate) const {
    return ledger_.places.target == Places::kNone ? fate.life_ms : 3 * options_.life_ms_max;
  }

  Status judge(const Fate& fate, int ended) {
    const Stage stage = ledger_.stage.load(std::memory_order_relaxed);
    if (WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL) {
      ++report_.kills;
      if (stage == Stage::kOpening) ++report_.kills_in_open;
      if (is_full_) ++report_.kills_full;
      const Places& places = ledger_.places;
      const bool was_at_place =
          places.target != Places::kNone &&
          places.places[places.target].passes.load(std::memory_order_relaxed) >=
              places.target_passes;
      last_ = "behind kill " + std::to_string(report_.kills);
      if (was_at_place) {
        ++report_.kills_at_places;
        places_.insert(places.places[places.target].name);
        last_ += std::string(" at ") + places.places[places.target].name;
      }
      last_ += ", process " + std::to_string(lives_) + ": ";
      return {};
    }
    if (WIFEXITED(ended) && WEXITSTATUS(ended) == 0 && !fate.is_killed) {
      ++report_.clean_ends;
      last_ = "behind the clean end of process " + std::to_string(lives_) + ": ";
      return {};
    }
    if (WIFEXITED(ended) && WEXITSTATUS(ended) == kEndedOutOfSpace && was_filled_) {
      ++(stage == Stage::kOpening ? report_.opens_refused : report_.lives_refused);
      return {};
    }
    return Status::error(ErrorCode::kIoError, behind() + "process " + std::to_string(lives_) +
                                                  " ended with status " + std::to_string(ended) +
                                                  ", with " + std::to_string(filler_.free_bytes()) +
                                                  " bytes of room; its message is above");
  }
  std::string behind() const { return last_; }

  // Checks that acknowledged transfers are there, that unbegun ones are not, and that the rows are
  // those of that many transfers.
  Status compare() {
    for (std::uint32_t t = 0; t < options_.tellers; ++t) {
      Ledger::Teller& teller = ledger_.tellers[t];
      const std::uint64_t begun = teller.begun.load(std::memory_order_relaxed);
      const std::uint64_t acknowledged = teller.acknowledged.load(std::memory_order_relaxed);
      const std::uint64_t found = ledger_.found.transfers[t];
      const std::string counts = std::to_string(found) + " transfers of teller " +
                                 std::to_string(t) + " are there, " + std::to_string(acknowledged) +
                                 " were acknowledged, " + std::to_string(begun) + " begun, and " +
                                 std::to_string(model_.transfers[t]) + " there before";
      if (found < acknowledged || found < model_.transfers[t]) {
        return wrong(behind() + "lost: " + counts);
      }
      if (found > begun) return wrong(behind() + "never made: " + counts);
      report_.acknowledged = std::max(report_.acknowledged, acknowledged);
      while (model_.transfers[t] < found) apply_next(options_.seed, t, &model_);
      // The found transfers are durable, so they count as acknowledged from now on.
      teller.acknowledged.store(found, std::memory_order_relaxed);
    }
    const std::string differs = difference(ledger_.found, model_);
    if (!differs.empty()) return wrong(behind() + differs);
    return {};
  }

  void show_progress() {
    if (!options_.shows_progress || lives_ % 50 != 0) return;
    std::fprintf(stderr, "%llu kills, %llu of them in open, %zu places, snapshot %u, %.0f s\n",
                 static_cast<unsigned long long>(report_.kills),
                 static_cast<unsigned long long>(report_.kills_in_open), places_.size(),
                 ledger_.snapshot, std::chrono::duration<double>(Clock::now() - begin_).count());
  }

  const KillOptions& options_;
  isolation::SharedMemory memory_;
  Ledger& ledger_;
  base::Random random_;
  const Filler filler_;
  const Clock::time_point begin_;
  BankRows model_;
  KillReport report_;
  std::set<std::string> places_;
  std::string last_;  // the end of the process before
  std::uint32_t lives_ = 0;
  bool was_filled_ = false;  // the file system, in the current life
  bool is_full_ = false;     // the file system, at the end of the life
};

}  // namespace

Result<KillReport> run_kills(const KillOptions& options) {
  std::error_code failure;
  std::filesystem::create_directories(options.dir, failure);
  if (failure) return Status::system_error(ErrorCode::kIoError, options.dir, failure.value());
  if (options.tellers > kTellersMax || options.check_every == 0) {
    return Status::error(ErrorCode::kInvalidArgument, "at most " + std::to_string(kTellersMax) +
                                                          " tellers, check_every above 0");
  }
  return Keeper(options).run();
}

}  // namespace foedus::kills
