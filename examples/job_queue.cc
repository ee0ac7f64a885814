// A queue of jobs, and a log of what was done: a job leaves the queue and its event enters the log
// in one transaction, so that a crash leaves both or neither.
//
// The queue is a Master-Tree whose keys are numbers. The log is a sequential storage: appends never
// conflict, and a scan returns them in the serial order of their transactions. Commits do not wait
// for the device. A ticket tells when a commit is durable, and only then the outside world is told.

#include <foedus/foedus.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Queue {
  foedus::Masstree jobs;
  foedus::Sequential events;
};

// Takes the job with the least number. Returns false if there is none. `ticket` is that of the
// commit.
foedus::Result<bool> work(foedus::Database& db, const Queue& queue, foedus::Ticket* ticket) {
  return db.transact(
      [&](foedus::Txn& txn) -> foedus::Result<bool> {
        std::string key, job;
        auto first = txn.scan(queue.jobs, "", "", {.limit = 1});  // from the least key to the end
        for (const foedus::Row& row : first) {
          key = row.key;
          job = row.payload;
        }
        if (auto failure = first.failure()) return *failure;
        if (key.empty()) return false;
        FOEDUS_CHECK(txn.erase(queue.jobs, key));
        FOEDUS_CHECK(txn.append(queue.events, "done: " + job));
        return true;
      },
      {.ticket = ticket});
}

foedus::Status run(const std::string& dir) {
  std::atomic<int> acknowledged = 0;  // outlives the database, whose end makes the last callbacks
  FOEDUS_TRY(auto db, foedus::Database::open({.dir = dir}));
  const foedus::Status dropped = db.drop_storage("events");  // those of the last run
  if (!dropped.is_ok() && dropped.code() != foedus::ErrorCode::kNotFound) return dropped;
  Queue queue;
  FOEDUS_TRY(queue.jobs, db.open_masstree("jobs"));
  FOEDUS_TRY(queue.events, db.open_sequential("events"));
  FOEDUS_CHECK(db.transact([&](foedus::Txn& txn) -> foedus::Status {
    for (std::uint32_t number = 1; number <= 40; ++number) {
      FOEDUS_CHECK(txn.put(queue.jobs, foedus::key(number), "job " + std::to_string(number)));
    }
    return {};
  }));

  std::vector<std::thread> workers;
  for (int i = 0; i < 2; ++i) {
    workers.emplace_back([&] {
      for (;;) {
        foedus::Ticket ticket;
        const foedus::Result<bool> worked = work(db, queue, &ticket);
        if (!worked.is_ok()) std::fprintf(stderr, "%s\n", worked.status().message().c_str());
        if (!worked.is_ok() || !worked.value()) return;  // no job is left
        // Called once no crash can undo the commit; meanwhile the worker takes the next job.
        ticket.on_durable([&](const foedus::Status& status) { acknowledged += status.is_ok(); });
      }
    });
  }
  for (std::thread& worker : workers) worker.join();

  FOEDUS_TRY(const std::string last,
             db.transact([&](foedus::Txn& txn) -> foedus::Result<std::string> {
               std::string event;
               auto events = txn.scan(queue.events);
               for (const foedus::Row& row : events) event = row.payload;
               if (auto failure = events.failure()) return *failure;
               return event;
             }));
  std::printf("last event: %s\n", last.c_str());
  FOEDUS_CHECK(db.close());  // makes all commits durable, and the calls of on_durable() that remain
  std::printf("acknowledged: %d\n", acknowledged.load());
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const foedus::Status status = run(argc > 1 ? argv[1] : "job_queue");
  if (!status.is_ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  return status.is_ok() ? 0 : 1;
}

// prints:
//   last event: done: job 40
//   acknowledged: 40
