// ctest-labels: concurrency
// ctest-timeout: 300
// Random transactions of several sessions, interleaved by one thread, on few keys of crowded slices
// and layers, with payloads that change between inline and chains all the time. The results of a
// transaction that commits are those of a model that runs all of it at once, at its commit, also
// what it undid by going back to a savepoint.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "tests/testing/test_database.h"

namespace foedus::replay_test {
namespace {

using testing::must;
using testing::small_options;
using testing::TestDatabase;
using Rows = std::map<std::string, std::string>;

enum class What {
  kGet,
  kPart,
  kPut,
  kInsert,
  kUpdate,
  kErase,
  kWriteAt,
  kIncrement,
  kSavepoint,
  kRollbackTo,
  kScan,
};
constexpr std::uint64_t kWhats = 11;

struct Call {
  What what = What::kGet;
  std::string key;
  std::string payload;  // or the part that is written, or where a scan ends
  std::uint32_t offset = 0;
  bool reverse = false;
  // The result of the call.
  ErrorCode code = ErrorCode::kOk;
  std::string seen;
};

std::string payload_of(base::Random* random) {
  constexpr std::uint64_t kMost[] = {0, 8, 30, 200, 700, 1399, 1401, 5000};
  const std::uint64_t most = kMost[random->below(std::size(kMost))];
  const std::uint64_t bytes = most - random->below(most / 4 + 1);
  return std::string(bytes, static_cast<char>('a' + random->below(26)));
}

std::string key_of(base::Random* random) {
  switch (random->below(4)) {
    case 0: return std::string("abc") + std::string(random->below(9), '\0');
    case 1: return std::string("abcdefgh") + static_cast<char>('a' + random->below(4));
    case 2: return std::string("abcdefghijklmnop") + std::string(random->below(3), '\0');
    default: return std::string(1, static_cast<char>('a' + random->below(12)));
  }
}

Call make_call(base::Random* random, bool is_tree) {
  Call call;
  call.what = static_cast<What>(random->below(is_tree ? kWhats : kWhats - 1));
  call.key = key_of(random);
  call.payload = payload_of(random);
  call.offset = static_cast<std::uint32_t>(random->below(40));
  call.reverse = random->below(2) == 0;
  if (call.what == What::kWriteAt) call.payload.resize(random->below(12), 'W');
  if (call.what == What::kScan) call.payload = key_of(random);
  return call;
}

void append_row(std::string_view key, std::string_view payload, std::string* out) {
  out->append(std::to_string(key.size())).append(":").append(key);
  out->append(std::to_string(payload.size())).append(":").append(payload);
}

constexpr std::size_t kPartBytes = 16;

// Makes a savepoint, or goes back to one of those that there are, the newer the likelier.
Status run_savepoint(Txn& txn, std::vector<Savepoint>* points, Call* call) {
  if (call->what == What::kSavepoint) {
    FOEDUS_TRY(const Savepoint made, txn.savepoint());
    points->push_back(made);
    return {};
  }
  if (points->empty()) return {};
  const std::size_t back = call->offset % (points->size() < 3 ? 1 : points->size());
  points->resize(points->size() - back);
  return txn.rollback_to(points->back());
}

void run(Txn& txn, const KeyedStorage& storage, const Masstree& tree,
         std::vector<Savepoint>* points, Call* call) {
  Status status;
  switch (call->what) {
    case What::kSavepoint:
    case What::kRollbackTo:
      status = run_savepoint(txn, points, call);
      break;
    case What::kGet: {
      Result<std::string> got = txn.get(storage, call->key);
      status = got.status();
      if (status.is_ok()) call->seen = std::move(got).value();
      break;
    }
    case What::kPart: {
      call->seen.resize(kPartBytes);
      status = txn.read_at(storage, call->key, call->offset,
                           std::as_writable_bytes(std::span<char>(call->seen)));
      if (!status.is_ok()) call->seen.clear();
      break;
    }
    case What::kPut: status = txn.put(storage, call->key, call->payload); break;
    case What::kInsert: status = txn.insert(storage, call->key, call->payload); break;
    case What::kUpdate: status = txn.update(storage, call->key, call->payload); break;
    case What::kErase: status = txn.erase(storage, call->key); break;
    case What::kWriteAt:
      status = txn.write_at(storage, call->key, call->offset, call->payload);
      break;
    case What::kIncrement: status = txn.increment(storage, call->key, call->offset, 255); break;
    case What::kScan: {
      Scan rows = txn.scan(tree, call->key, call->payload, {.reverse = call->reverse});
      for (const Row& row : rows) append_row(row.key, row.payload, &call->seen);
      if (auto failure = rows.failure()) status = *failure;
      break;
    }
  }
  call->code = status.code();
}

void replay_savepoint(Rows* rows, std::vector<Rows>* points, const Call& call) {
  if (call.what == What::kSavepoint) return points->push_back(*rows);
  if (points->empty()) return;
  points->resize(points->size() - call.offset % (points->size() < 3 ? 1 : points->size()));
  *rows = points->back();
}

// Runs the call on the model.
void replay(Rows* rows, Call* call) {
  call->seen.clear();
  call->code = ErrorCode::kOk;
  const auto found = rows->find(call->key);
  const bool is_there = found != rows->end();
  std::string* const payload = is_there ? &found->second : nullptr;
  const auto reaches = [&](std::size_t bytes) { return call->offset + bytes <= payload->size(); };
  if (call->what == What::kScan) {
    const auto begin = rows->lower_bound(call->key);
    const auto end = call->payload.empty() ? rows->end() : rows->lower_bound(call->payload);
    std::vector<const Rows::value_type*> inside;
    if (call->payload.empty() || call->key < call->payload) {
      for (auto at = begin; at != end; ++at) inside.push_back(&*at);
    }
    if (call->reverse) std::reverse(inside.begin(), inside.end());
    for (const auto* row : inside) append_row(row->first, row->second, &call->seen);
    return;
  }
  if (call->what == What::kPut || (call->what == What::kInsert && !is_there)) {
    (*rows)[call->key] = call->payload;
    return;
  }
  if (call->what == What::kInsert) {
    call->code = ErrorCode::kAlreadyExists;
    return;
  }
  if (!is_there) {
    call->code = ErrorCode::kNotFound;
    return;
  }
  const std::size_t bytes = call->what == What::kPart        ? kPartBytes
                            : call->what == What::kWriteAt   ? call->payload.size()
                            : call->what == What::kIncrement ? 8
                                                             : 0;
  if (bytes != 0 || call->what == What::kWriteAt) {
    if (!reaches(bytes)) {
      call->code = ErrorCode::kInvalidArgument;
      return;
    }
  }
  switch (call->what) {
    case What::kGet: call->seen = *payload; break;
    case What::kPart: call->seen = payload->substr(call->offset, kPartBytes); break;
    case What::kUpdate: *payload = call->payload; break;
    case What::kErase: rows->erase(found); break;
    case What::kWriteAt: payload->replace(call->offset, bytes, call->payload); break;
    case What::kIncrement: {
      std::uint64_t value;
      std::memcpy(&value, payload->data() + call->offset, sizeof(value));
      value += 255;
      std::memcpy(payload->data() + call->offset, &value, sizeof(value));
      break;
    }
    default: break;
  }
}

class ReplayTest : public ::testing::TestWithParam<bool> {
 protected:
  struct Open {
    Session session;
    std::deque<Txn> txn;  // one or none
    std::vector<Call> calls;
    std::vector<Savepoint> points;
    bool is_doomed = false;
  };

  ReplayTest()
      : tree_(must(db_->open_masstree("tree"))), hash_(must(db_->open_hash("hash"))) {
    for (int i = 0; i < 3; ++i) open_.push_back({must(db_->new_session()), {}, {}, {}, false});
  }
  const KeyedStorage& storage() const {
    if (GetParam()) return tree_;
    return hash_;
  }
  void end(Open* open, bool commits) {
    if (!commits) {
      open->txn.front().rollback();
    } else if (open->txn.front().commit().is_ok()) {
      ASSERT_FALSE(open->is_doomed);
      ++commits_;
      std::vector<Rows> points;
      for (Call& call : open->calls) {
        if (call.what == What::kSavepoint || call.what == What::kRollbackTo) {
          replay_savepoint(&rows_, &points, call);
          continue;
        }
        Call again = call;
        replay(&rows_, &again);
        ASSERT_EQ(static_cast<int>(call.code), static_cast<int>(again.code))
            << static_cast<int>(call.what) << " of " << call.key.size();
        ASSERT_EQ(call.seen, again.seen) << static_cast<int>(call.what);
      }
    }
    open->txn.clear();
    open->calls.clear();
    open->points.clear();
    open->is_doomed = false;
  }
  void step(base::Random* random) {
    Open& open = open_[random->below(open_.size())];
    if (open.txn.empty()) open.txn.push_back(must(open.session.begin()));
    Call call = make_call(random, GetParam());
    run(open.txn.front(), storage(), tree_, &open.points, &call);
    if (call.code == ErrorCode::kConflict) open.is_doomed = true;
    open.calls.push_back(std::move(call));
    if (random->below(6) == 0) end(&open, random->below(5) != 0);
  }
  void look_at_all() {
    for (Open& open : open_) {
      if (!open.txn.empty()) end(&open, true);
    }
    Txn txn = must(open_[0].session.begin());
    for (const auto& [key, payload] : rows_) EXPECT_EQ(must(txn.get(storage(), key)), payload);
    must(txn.commit());
  }

  TestDatabase db_;
  Masstree tree_;
  Hash hash_;
  std::vector<Open> open_;
  Rows rows_;
  std::uint64_t commits_ = 0;
};

TEST_P(ReplayTest, what_commits_has_run_at_once) {
  // FOEDUS_SEED and FOEDUS_STEPS choose another run, or a longer one.
  const char* const given = std::getenv("FOEDUS_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : 1;
  const char* const steps = std::getenv("FOEDUS_STEPS");
  const std::uint64_t count = steps != nullptr ? std::strtoull(steps, nullptr, 10) : 60'000;
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  base::Random random(seed);
  for (std::uint64_t i = 0; i < count && !HasFatalFailure(); ++i) {
    step(&random);
    if (random.below(count / 4) == 0) must(db_->glean());
  }
  look_at_all();
  EXPECT_GT(commits_, count / 100);
}

INSTANTIATE_TEST_SUITE_P(InTreeAndHash, ReplayTest, ::testing::Bool());

}  // namespace
}  // namespace foedus::replay_test
