// The SOC of a session, and the session that a thread gets on its processor (E34, E45). Method: the
// runtime says on which processor the only thread of the test runs.
#include <set>
#include <string>
#include <vector>

#include "foedus-core/engine/engine.h"
#include "foedus-core/engine/storage_access.h"
#include "tests/testing/failing_device.h"
#include "tests/testing/manual_runtime.h"
#include "tests/testing/test_database.h"

namespace foedus::session_places_test {
namespace {

using engine::Engine;
using engine::EngineSession;
using testing::FailingDevice;
using testing::ManualRuntime;
using testing::must;

struct Placed {
  Placed(std::uint32_t socs, std::uint32_t processors, std::uint32_t sessions_max = 16,
         std::uint32_t loggers_per_soc = 0) {
    Options options = testing::small_options("/failing");
    options.sessions_max = sessions_max;
    options.socs = socs;
    options.log.loggers_per_soc = loggers_per_soc;
    runtime.set_processors(processors);
    opened = Engine::open(options, {.runtime = &runtime, .device = &device});
    must(opened.status());
    engine = std::move(opened).value();
  }
  ~Placed() {
    for (EngineSession* const session : claimed) engine->sessions().release(session);
  }

  EngineSession* claim_on(std::uint32_t processor) {
    runtime.move_to(processor);
    return claimed.emplace_back(must(engine->sessions().claim(0)));
  }
  void release(EngineSession* session) {
    std::erase(claimed, session);
    engine->sessions().release(session);
  }
  // Returns the session that a transaction of the thread uses at that moment.
  EngineSession* use_on(std::uint32_t processor) {
    EngineSession* const session = claim_on(processor);
    release(session);
    return session;
  }
  EngineSession* take_on(std::uint32_t processor) {
    runtime.move_to(processor);
    return must(engine->take_session());
  }
  Masstree tree() {
    storage_meta::StorageMeta meta;
    meta.kind = StorageKind::kMasstree;
    meta.name = "tree";
    return internal::StorageAccess::make<Masstree>(must(engine->catalog().open(meta)));
  }
  std::size_t sessions() {
    std::size_t count = 0;
    engine->sessions().for_each([&](EngineSession&) { ++count; });
    return count;
  }

  FailingDevice device;
  ManualRuntime runtime;
  Result<std::unique_ptr<Engine>> opened = ErrorCode::kClosed;
  std::unique_ptr<Engine> engine;
  std::vector<EngineSession*> claimed;
};

TEST(SessionPlacesTest, a_new_session_belongs_to_the_soc_of_its_threads_processor) {
  Placed db(2, 4);
  const std::uint32_t socs[] = {0, 0, 1, 1};
  for (const std::uint32_t processor : {3u, 0u, 2u, 1u}) {
    EXPECT_EQ(db.claim_on(processor)->soc(), socs[processor]);
    EXPECT_EQ(db.take_on(processor)->soc(), socs[processor]);
  }
}

// Goal: memory follows the session. Method: the test checks a page of its stock and the place of
// its log.
TEST(SessionPlacesTest, pages_and_log_of_a_session_are_those_of_its_soc) {
  Placed db(2, 2);
  const Masstree tree = db.tree();
  const auto log_bytes = [&] {
    db.runtime.run_for(100'000);
    std::vector<std::uint64_t> bytes(2);
    for (const log::LogSegment& segment : db.engine->log()->segments()) {
      bytes[segment.logger] += segment.synced_bytes;
    }
    return bytes;
  };
  for (const std::uint32_t soc : {1u, 0u}) {
    EngineSession* const session = db.take_on(soc);
    page::PageHeader* const page = session->pages().allocate();
    EXPECT_EQ(db.engine->pool().id_of(page).soc(), soc);
    session->pages().release(page);
    const std::vector<std::uint64_t> before = log_bytes();
    Txn txn = must(engine::begin_txn(session, {}));
    must(txn.put(tree, key(soc), std::string(64'000, 'x')));
    must(txn.commit());
    const std::vector<std::uint64_t> after = log_bytes();
    EXPECT_GE(after[soc], before[soc] + 64'000);
    EXPECT_LT(after[1 - soc], before[1 - soc] + 64'000);
    db.engine->give_session(session);
  }
}

// Goal: each logger of a SOC has its part of the SOC's sessions. Method: the test checks which
// segment grows.
TEST(SessionPlacesTest, sessions_of_a_soc_are_dealt_out_to_its_loggers) {
  Placed db(2, 2, 16, 3);
  const Masstree tree = db.tree();
  const auto log_bytes = [&] {
    db.runtime.run_for(100'000);
    std::vector<std::uint64_t> bytes(6);
    for (const log::LogSegment& segment : db.engine->log()->segments()) {
      bytes[segment.logger] += segment.synced_bytes;
    }
    return bytes;
  };
  for (std::uint32_t turn = 0; turn < 4; ++turn) {
    for (const std::uint32_t soc : {1u, 0u}) {
      EngineSession* const session = db.take_on(soc);  // a new one each time: none is given back
      const std::vector<std::uint64_t> before = log_bytes();
      Txn txn = must(engine::begin_txn(session, {}));
      must(txn.put(tree, key(turn * 2 + soc), std::string(64'000, 'x')));
      must(txn.commit());
      const std::vector<std::uint64_t> after = log_bytes();
      for (std::uint32_t logger = 0; logger < 6; ++logger) {
        const bool is_its = logger == soc + turn % 3 * 2;
        EXPECT_EQ(after[logger] >= before[logger] + 64'000, is_its) << turn << " " << logger;
      }
    }
  }
}

TEST(SessionPlacesTest, a_thread_that_moves_uses_a_free_session_of_its_new_soc) {
  Placed db(2, 4);
  EngineSession* const first = db.use_on(0);
  EXPECT_EQ(db.use_on(1), first);
  EngineSession* const second = db.use_on(2);
  EXPECT_EQ(second->soc(), 1u);
  EXPECT_EQ(db.use_on(3), second);
  EXPECT_EQ(db.use_on(1), first);
  EXPECT_EQ(db.take_on(2), second);
  EXPECT_EQ(db.sessions(), 2u);
}

// Goal: the limit makes a thread use a session of another SOC, and not fail: transact() and
// new_session() alike.
TEST(SessionPlacesTest, the_last_session_is_taken_from_another_soc) {
  Placed db(2, 2, 2);
  EngineSession* const taken = db.take_on(0);
  EngineSession* const shared = db.use_on(0);
  EXPECT_EQ(db.claim_on(1), shared);
  EXPECT_EQ(db.engine->take_session().code(), ErrorCode::kTooLarge);
  EXPECT_EQ(db.engine->sessions().claim(0).code(), ErrorCode::kTimeout);
  db.release(shared);
  EXPECT_EQ(db.take_on(1), shared);
  EXPECT_EQ(shared->soc(), 0u);
  EXPECT_NE(taken, shared);
}

// Goal: a thread with a session of another SOC keeps it until the thread has moved. Method: a
// session of its own SOC becomes free meanwhile.
TEST(SessionPlacesTest, a_session_of_another_soc_is_kept_until_its_thread_moves) {
  Placed db(2, 2, 2);
  EngineSession* const remote = db.use_on(0);
  EngineSession* const local = db.take_on(1);
  EXPECT_EQ(db.use_on(1), remote);
  db.engine->give_session(local);
  EXPECT_EQ(db.use_on(1), remote);
  EXPECT_EQ(db.use_on(0), remote);
  EXPECT_EQ(db.use_on(1), local);
}

// Goal: a thread that waits takes the first session that becomes free, whatever its SOC.
TEST(SessionPlacesTest, a_thread_that_waits_takes_a_session_of_any_soc) {
  Placed db(2, 2, 1);
  EngineSession* const only = db.claim_on(0);
  class Releaser final : public base::Task {
   public:
    Releaser(Engine* engine, EngineSession* session) : engine_(engine), session_(session) {}
    const char* name() const override { return "releaser"; }
    std::uint64_t step() override {
      engine_->sessions().release(session_);
      return kUntilNotified;
    }

   private:
    Engine* const engine_;
    EngineSession* const session_;
  } releaser(db.engine.get(), only);
  db.runtime.start(&releaser);
  db.runtime.move_to(1);
  EXPECT_EQ(must(db.engine->sessions().claim(1'000'000)), only);
  db.runtime.stop(&releaser);
}

// Goal: TIDs of a thread's commits ascend whatever sessions it uses, because records of sequential
// storages are in the order of TIDs. Method: the thread leaves a session that has a higher TID.
TEST(SessionPlacesTest, a_thread_that_moves_takes_its_last_tid_along) {
  Placed db(2, 2);
  const auto commit_on = [&](std::uint32_t processor, page::Tid tid) {
    EngineSession* const session = db.claim_on(processor);
    EXPECT_EQ(session->soc(), processor);
    const page::Tid before = session->context().last_tid();
    if (tid.word() != 0) session->context().set_last_tid(tid);
    db.release(session);
    return before;
  };
  const page::Tid high(Epoch(1), 7);
  const page::Tid low(Epoch(1), 3);
  commit_on(0, high);
  EXPECT_EQ(commit_on(1, page::Tid()), high);
  commit_on(0, low);
  EXPECT_EQ(commit_on(1, page::Tid()), high) << "it is never lowered";
  EXPECT_EQ(commit_on(0, page::Tid()), high);
}

TEST(SessionPlacesTest, sessions_of_a_processor_fill_all_of_its_socs_evenly) {
  Placed db(8, 2);
  std::multiset<std::uint32_t> socs;
  for (int i = 0; i < 8; ++i) socs.insert(db.claim_on(0)->soc());
  EXPECT_EQ(socs, (std::multiset<std::uint32_t>{0, 0, 1, 1, 2, 2, 3, 3}));
  for (const std::uint32_t soc : {4u, 5u, 6u, 7u}) EXPECT_EQ(db.take_on(1)->soc(), soc);
}

// Commits transactions of one row each, of which TouchCount samples one. The rows fill several
// pages.
void write_rows(EngineSession* session, const Masstree& tree) {
  for (std::uint64_t i = 0; i < engine::TouchCount::kInterval; ++i) {
    Txn txn = must(engine::begin_txn(session, {}));
    must(txn.put(tree, key(i), std::string(500, 'x')));
    must(txn.commit());
  }
}

// Goal: a page is local if the thread runs on the page's SOC, and remote otherwise: if the page was
// made on another SOC, or the thread has left the SOC of its session.
TEST(SessionPlacesTest, touched_pages_are_local_to_the_soc_that_the_thread_runs_on) {
  Placed db(2, 2);
  const Masstree tree = db.tree();
  EngineSession* const first = db.take_on(0);
  EngineSession* const second = db.take_on(1);
  db.runtime.move_to(0);
  write_rows(first, tree);
  std::vector<SocStats> socs = db.engine->stats().socs;
  ASSERT_EQ(socs.size(), 2u);
  EXPECT_EQ(socs[0].sessions, 1u);
  EXPECT_GT(socs[0].pages_taken_local, 0u);
  EXPECT_EQ(socs[0].pages_taken_remote, 0u);
  EXPECT_EQ(socs[0].pages_touched_local, 1u);
  EXPECT_EQ(socs[0].pages_touched_remote, 0u);
  db.runtime.move_to(1);
  write_rows(second, tree);  // the pages of the first
  write_rows(first, tree);   // away from its SOC
  socs = db.engine->stats().socs;
  EXPECT_EQ(socs[1].pages_touched_local, 0u);
  EXPECT_EQ(socs[1].pages_touched_remote, 1u);
  EXPECT_EQ(socs[0].pages_touched_local, 1u);
  EXPECT_EQ(socs[0].pages_touched_remote, 1u);
}

// Goal: where a processor has several SOCs, pages are local to the session's SOC, which need not be
// the first of them.
TEST(SessionPlacesTest, touched_pages_are_local_to_any_soc_of_the_processor) {
  Placed db(4, 2);
  const Masstree tree = db.tree();
  db.take_on(0);
  EngineSession* const session = db.take_on(0);
  ASSERT_EQ(session->soc(), 1u);
  write_rows(session, tree);
  const std::vector<SocStats> socs = db.engine->stats().socs;
  EXPECT_EQ(socs[1].pages_touched_local, 1u);
  EXPECT_EQ(socs[1].pages_touched_remote, 0u);
}

// Goal: successive rows of one page count as one touched page, and reads count as writes do.
TEST(SessionPlacesTest, a_run_of_records_of_one_page_is_touched_once) {
  Placed db(2, 2);
  const Masstree tree = db.tree();
  EngineSession* const session = db.take_on(0);
  write_rows(session, tree);
  for (std::uint64_t i = 0; i < engine::TouchCount::kInterval; ++i) {
    Txn txn = must(engine::begin_txn(session, {}));
    must(txn.get(tree, key(std::uint64_t{0})));
    must(txn.get(tree, key(std::uint64_t{1})));
    must(txn.get(tree, key(engine::TouchCount::kInterval - 1)));
    must(txn.commit());
  }
  EXPECT_EQ(db.engine->stats().socs[0].pages_touched_local, 1u + 2u);
}

TEST(SessionPlacesTest, touched_pages_are_not_counted_with_one_soc) {
  Placed db(1, 2);
  const Masstree tree = db.tree();
  write_rows(db.take_on(0), tree);
  const std::vector<SocStats> socs = db.engine->stats().socs;
  ASSERT_EQ(socs.size(), 1u);
  EXPECT_EQ(socs[0].pages_touched_local + socs[0].pages_touched_remote, 0u);
  EXPECT_GT(socs[0].pages_taken_local, 0u);
}

// Goal: the reported binding is the one that was obtained.
TEST(SessionPlacesTest, nothing_is_bound_to_emulated_socs_and_options_say_so) {
  Placed db(2, 2);
  EXPECT_FALSE(db.engine->effective_options().numa_binding);
  EXPECT_EQ(db.engine->effective_options().options.socs, 2u);
  testing::TestDirectory directory;
  Options options = testing::small_options(directory.path());
  options.socs = numa::Topology::make(0)->socs() + 1;
  options.pages.numa_binding = Facility::kRequire;
  const Status refused = Database::open(options).status();
  EXPECT_EQ(refused.code(), ErrorCode::kNotSupported) << refused.message();
}

TEST(SessionPlacesTest, binding_is_reported_where_memory_and_threads_are_bound) {
  for (const Facility binding : {Facility::kOff, Facility::kTry}) {
    Options options = testing::small_options("");
    options.pages.numa_binding = binding;
    testing::TestDatabase db(options);
    const Result<numa::Topology> topology = numa::Topology::make(0);
    EXPECT_EQ(db->effective_options().numa_binding, topology->can_bind(binding));
  }
}

}  // namespace
}  // namespace foedus::session_places_test
