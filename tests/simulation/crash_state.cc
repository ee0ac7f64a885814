#include "tests/simulation/crash_state.h"

#include <algorithm>

#include "tests/simulation/plan/transaction.h"
#include "tools/foedus/closed_database.h"
#include "tools/foedus/verify/log.h"
#include "tools/foedus/verify/snapshot.h"

namespace foedus::simulation {

using testing::FailingDevice;

namespace {

constexpr std::uint64_t kSerialsOfStates = 5'000'000'000;
constexpr std::uint32_t kSessionOfStates = 900;

std::uint64_t survival(base::Random* random) {
  const std::uint64_t how = random->below(4);
  return how == 0 ? FailingDevice::kDropAll : how == 1 ? FailingDevice::kKeepAll : random->next();
}

}  // namespace

void Counts::add(const Counts& other) {
  states += other.states;
  for (std::size_t i = 0; i < testing::kCallKinds; ++i) by_kind[i] += other.by_kind[i];
  half_writes += other.half_writes;
  recoveries += other.recoveries;
  deaths += other.deaths;
  second_crashes += other.second_crashes;
  early_opens += other.early_opens;
  continued += other.continued;
  verified += other.verified;
  corruptions += other.corruptions;
  refusals += other.refusals;
  commits += other.commits;
  conflicts += other.conflicts;
  faults += other.faults;
  pages_evicted += other.pages_evicted;
  writers_waited_us += other.writers_waited_us;
  snapshot_files_removed += other.snapshot_files_removed;
}

std::string CrashState::describe() const {
  static constexpr const char* kNames[] = {"open", "create",      "read",     "write",
                                           "sync", "preallocate", "truncate", "size",
                                           "list", "remove",      "rename",   "sync of directory"};
  return std::string(is_half ? "in the midst of " : "before ") + "call " + std::to_string(call) +
         " (" + kNames[static_cast<std::size_t>(kind)] + (name.empty() ? "" : " " + name) + ")";
}

Epoch StateCheck::match(const Reading& reading, const std::vector<Epoch>& allowed,
                        std::string* wrong) const {
  if (!reading.wrong.empty()) {
    *wrong = reading.wrong;
    return Epoch();
  }
  const std::uint64_t digest = digest_of(reading.content);
  for (auto epoch = allowed.rbegin(); epoch != allowed.rend(); ++epoch) {
    if (history_.digest_at(*epoch) == digest) return *epoch;
  }
  *wrong = "the database is at the end of none of " + std::to_string(allowed.size()) +
           " epochs from " + std::to_string(allowed.back().number()) + " to " +
           std::to_string(allowed.front().number()) + "; it differs from the first in\n" +
           difference(reading.content, history_.content_at(allowed.back())) +
           "  and from the last in\n" +
           difference(reading.content, history_.content_at(allowed.front()));
  return Epoch();
}

std::string StateCheck::compare_snapshot(const Reading& reading,
                                         const std::vector<Epoch>& allowed) const {
  if (!reading.wrong.empty()) return "a snapshot: " + reading.wrong;
  const std::string wrong = compare_content(reading.content, reading.covered);
  const Epoch oldest = *std::min_element(allowed.begin(), allowed.end());
  if (wrong.empty() || reading.covered <= oldest) return wrong;
  const bool is_one = std::any_of(allowed.begin(), allowed.end(), [&](Epoch epoch) {
    return compare_content(reading.content, epoch).empty();
  });
  return is_one ? "" : wrong;
}

std::string StateCheck::compare_content(const Content& all, Epoch epoch) const {
  Content expected = history_.content_at(epoch);
  // A storage that was created later is empty, and a dropped one is missing.
  std::erase_if(expected, [&](const auto& one) { return !all.contains(one.first); });
  Content found = all;
  std::erase_if(found, [&](const auto& one) {
    return !expected.contains(one.first) && one.second.rows.empty();
  });
  if (digest_of(found) == digest_of(expected)) return {};
  return "a snapshot of epoch " + std::to_string(epoch.number()) + " differs in\n" +
         difference(found, expected);
}

std::string StateCheck::open_early(Life* life, Options options, const std::vector<Epoch>& allowed,
                                   Status* opened) {
  options.open_until = OpenUntil::kSnapshotReadable;
  *opened = life->open(options);
  if (!opened->is_ok()) return {};
  ++counts_->early_opens;
  std::string wrong;
  Epoch newest;
  const auto read = [&] {
    if (!wrong.empty()) return;
    const Reading reading =
        life->read(keys_, {.isolation = Isolation::kSnapshot, .newest_existing = true});
    const bool is_missing = reading.status.code() == ErrorCode::kNotFound && !newest.is_valid();
    if (is_missing) return;  // no snapshot was made
    if (!reading.status.is_ok()) {
      wrong = "an early read: " + reading.status.message();
    } else if (reading.covered < newest) {
      wrong = "an early read went back";
    } else {
      wrong = compare_snapshot(reading, allowed);
    }
    newest = reading.covered;
  };
  read();
  const PlaceWatch watch([&](std::string_view place) {
    if (place.starts_with("recovery:")) read();
  });
  *opened = life->engine().wait_recovered(base::Runtime::kForever);
  return wrong;
}

std::string StateCheck::verify(const FailingDevice& device) const {
  ++counts_->verified;
  Result<cli::ClosedDatabase> database = cli::ClosedDatabase::of(device.copy());
  if (database.code() == ErrorCode::kNotFound) return {};  // power failed before the first file
  if (!database.is_ok()) return "verify: " + database.status().message();
  cli::Findings findings;
  const auto log = cli::verify_log(*database, &findings);
  if (!log.is_ok()) return "verify: " + log.status().message();
  // Older manifests are no part of the database.
  if (!database->manifests.empty()) {
    const auto manifest =
        snapshot::read_manifest(database->device.get(), database->manifests.back());
    if (!manifest.is_ok()) return "verify: " + manifest.status().message();
    cli::verify_snapshot(database->device.get(), *manifest, &findings, {});
  }
  if (findings.problems() == 0) return {};
  return "verify: " + cli::line_of(findings.kept().front());
}

// Power fails during recovery, or soon after.
std::string StateCheck::crash_again(FailingDevice* device, base::Random* random,
                                    std::vector<Epoch>* allowed) {
  ++counts_->second_crashes;
  {
    Life life(device, random->next());
    device->lose_power_after(random->below(random->below(2) == 0 ? 16 : 60));
    ++counts_->recoveries;
    const Status opened = life.open(make_options(random, 6, plan_.gleans));
    if (!opened.is_ok() && !device->has_lost_power()) {
      return "open before a second crash: " + opened.message();
    }
    if (opened.is_ok()) {
      const Reading reading = life.read(keys_, {.read_only = true});
      if (reading.status.is_ok()) {
        std::string wrong;
        const Epoch found = match(reading, *allowed, &wrong);
        if (!wrong.empty()) return "before a second crash: " + wrong;
        *allowed = {found};
      } else if (!device->has_lost_power()) {
        return "a read before a second crash: " + reading.status.message();
      }
      if (plan_.gleans && random->below(2) == 0) static_cast<void>(life.glean().is_ok());
    }
  }
  if (random->below(3) == 0) {
    device->crash_process();
  } else {
    device->crash_power(survival(random));
  }
  ++counts_->states;
  return {};
}

// Runs a few transactions, of which the last one is acknowledged.
Status StateCheck::run_some(Life* life, Content* content, base::Random* random) {
  std::uint64_t serial = kSerialsOfStates + random->below(1'000);
  Ticket last;
  const auto run_one = [&]() -> Status {
    std::vector<Operation> operations;
    for (std::uint64_t i = 0; i <= random->below(4); ++i) {
      operations.push_back(
          make_operation(random, *content, keys_, kSessionOfStates, false, false, &serial));
    }
    const auto perform_all = [&](Txn* txn) -> Status {
      for (Operation& operation : operations) {
        operation.seen = {};
        FOEDUS_CHECK(perform(txn, life->find(operation.storage), &operation));
      }
      return {};
    };
    FOEDUS_TRY(const Ticket ticket, life->transact(perform_all, {}));
    if (ticket.epoch() > last.epoch()) last = ticket;  // a reader may have an older one
    std::vector<Change> changes;
    for (const Operation& operation : operations) {
      if (expect(operation, content, &changes) != operation.seen) {
        return Status::error(ErrorCode::kCorruption, to_string(operation));
      }
    }
    return {};
  };
  for (std::uint64_t i = 0; i <= random->below(4); ++i) FOEDUS_CHECK(run_one());
  return last.wait_durable();
}

std::string StateCheck::go_on(FailingDevice* device, Life* life, Content content,
                              base::Random* random) {
  if (content.empty()) return {};
  ++counts_->continued;
  const Status ran = run_some(life, &content, random);
  if (!ran.is_ok()) return "a transaction on what was recovered: " + ran.message();
  if (plan_.gleans && random->below(3) == 0) {
    const Status gleaned = life->glean();
    if (!gleaned.is_ok()) return "a glean of what was recovered: " + gleaned.message();
  }
  std::unique_ptr<FailingDevice> left = device->copy();
  left->crash_power(survival(random));
  ++counts_->states;
  ++counts_->recoveries;
  Life next(left.get(), random->next());
  const Status opened = next.open(make_options(random, 6, plan_.gleans));
  if (!opened.is_ok()) return "open after transactions on it: " + opened.message();
  const Reading reading = next.read(keys_, {.read_only = true});
  if (!reading.status.is_ok()) return "read after transactions: " + reading.status.message();
  if (!reading.wrong.empty()) return "after transactions: " + reading.wrong;
  if (digest_of(reading.content) == digest_of(content)) return {};
  return "after transactions on it and a crash it differs in\n" +
         difference(reading.content, content);
}

std::string StateCheck::run(CrashState state) {
  base::Random random(chance_of(plan_.seed, 2, 2 * state.call + (state.is_half ? 1 : 0)));
  FailingDevice& device = *state.device;
  // If the process dies first, the files that are found later are in the system's cache only, and
  // may be lost when power fails after the recovery has relied on them.
  const bool dies = random.below(4) == 0;
  if (dies) {
    ++counts_->deaths;
    device.crash_process();
  } else {
    device.crash_power(survival(&random));
  }
  ++counts_->states;
  ++counts_->by_kind[static_cast<std::size_t>(state.kind)];
  counts_->half_writes += state.is_half ? 1 : 0;
  std::vector<Epoch> allowed = history_.ends_between(state.acknowledged, state.newest);
  const auto steps = [&]() -> std::string {
    std::string wrong;
    if (random.below(8) == 0) wrong = verify(device);
    for (int i = 0; i < 3 && wrong.empty(); ++i) {
      const bool again = i == 0 && dies ? random.below(4) != 0 : random.below(4) == 0;
      if (!again) break;
      wrong = crash_again(&device, &random, &allowed);
    }
    if (!wrong.empty()) return wrong;
    Life life(&device, random.next());
    const Options options = make_options(&random, 6, plan_.gleans);
    Status opened;
    ++counts_->recoveries;
    if (random.below(6) == 0) {
      wrong = open_early(&life, options, allowed, &opened);
    } else {
      opened = life.open(options);
    }
    if (!opened.is_ok()) return "open: " + opened.message();
    if (!wrong.empty()) return wrong;
    Reading reading = life.read(keys_, {.read_only = true});
    if (!reading.status.is_ok()) return "read: " + reading.status.message();
    match(reading, allowed, &wrong);
    if (!wrong.empty()) return wrong;
    return random.below(5) == 0 ? go_on(&device, &life, std::move(reading.content), &random) : "";
  };
  const std::string wrong = steps();
  return wrong.empty() ? wrong : "power failed " + state.describe() + ": " + wrong;
}

std::string StateCheck::corrupt(const FailingDevice& closed, std::uint64_t chance) {
  base::Random random(chance);
  const std::unique_ptr<FailingDevice> device = closed.copy();
  const std::vector<std::string> names = device->names();
  const std::string& name = names[random.below(names.size())];
  const std::vector<char> bytes = device->bytes_of(name);
  if (bytes.empty()) return {};
  // Bytes after the last one that is not zero were never written.
  std::size_t end = bytes.size();
  while (end > 1 && bytes[end - 1] == 0) --end;
  const std::uint64_t offset = random.below(end);
  const unsigned bit = static_cast<unsigned>(random.below(8));
  device->flip_bit(name, offset, bit);
  ++counts_->corruptions;
  const std::string what = "bit " + std::to_string(bit) + " of byte " + std::to_string(offset) +
                           " of " + name + " is flipped: ";
  const auto is_refusal = [&](const Status& status) {
    counts_->refusals += 1;
    return (status.code() == ErrorCode::kCorruption || status.code() == ErrorCode::kWrongVersion) &&
           status.message().find("/failing") != std::string::npos;
  };
  Life life(device.get(), random.next());
  const Status opened = life.open(make_options(&random, 6, plan_.gleans));
  if (!opened.is_ok()) return is_refusal(opened) ? "" : what + "open: " + opened.message();
  const Reading reading = life.read(keys_, {.read_only = true});
  if (!reading.status.is_ok()) {
    return is_refusal(reading.status) ? "" : what + "read: " + reading.status.message();
  }
  std::string wrong;
  match(reading, {history_.newest()}, &wrong);
  return wrong.empty() ? wrong : what + wrong;
}

}  // namespace foedus::simulation
