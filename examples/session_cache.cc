// A cache of web sessions: a hash storage, in which each request finds its session by a token.
//
// A hash has no order and no ranges; a read or write of one key costs less than in a Master-Tree.
// increment() adds to a number in a row without reading it, so that requests of one session do not
// conflict with each other.

#include <foedus/foedus.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

struct WebSession {
  char user[16];
  std::int64_t hits;
};

// A key may be any bytes: here it is the token itself.
foedus::Status log_in(foedus::Database& db, foedus::Hash sessions, std::string_view token,
                      const char* user) {
  WebSession session = {};
  std::strncpy(session.user, user, sizeof(session.user) - 1);
  return db.transact([&](foedus::Txn& txn) { return txn.put(sessions, token, session); });
}

foedus::Status count_hit(foedus::Database& db, foedus::Hash sessions, std::string_view token) {
  return db.transact([&](foedus::Txn& txn) {
    return txn.increment(sessions, token, offsetof(WebSession, hits), 1);
  });
}

foedus::Status run(const std::string& dir) {
  // A cache may lose the last milliseconds of hits in a crash: the default durability will do. The
  // engine takes no more than memory_bytes; sessions that do not fit lie on the device.
  FOEDUS_TRY(auto db, foedus::Database::open({.dir = dir, .memory_bytes = 256u << 20}));
  FOEDUS_TRY(auto sessions, db.open_hash("sessions", {.records_expected = 100'000}));
  FOEDUS_CHECK(log_in(db, sessions, "token-of-ada", "ada"));
  FOEDUS_CHECK(log_in(db, sessions, "token-of-bob", "bob"));

  std::vector<std::thread> requests;
  for (int i = 0; i < 4; ++i) {
    requests.emplace_back([&] {
      for (int hit = 0; hit < 1'000; ++hit) {
        const foedus::Status status = count_hit(db, sessions, "token-of-ada");
        if (!status.is_ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
      }
    });
  }
  for (std::thread& request : requests) request.join();

  FOEDUS_TRY(auto ada, db.transact([&](foedus::Txn& txn) {
    return txn.get_as<WebSession>(sessions, "token-of-ada");
  }));
  std::printf("%s: %lld hits\n", ada.user, static_cast<long long>(ada.hits));

  FOEDUS_CHECK(db.transact([&](foedus::Txn& txn) { return txn.erase(sessions, "token-of-bob"); }));
  // A missing key is kNotFound, and not a failure of the program. The message names the key.
  const foedus::Status missing = count_hit(db, sessions, "token-of-bob");
  std::printf("%s\n", missing.message().c_str());
  return missing.code() == foedus::ErrorCode::kNotFound ? foedus::Status() : missing;
}

}  // namespace

int main(int argc, char** argv) {
  const foedus::Status status = run(argc > 1 ? argv[1] : "session_cache");
  if (!status.is_ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  return status.is_ok() ? 0 : 1;
}

// prints:
//   ada: 4000 hits
//   not_found in storage 'sessions' at key "token-of-bob"
