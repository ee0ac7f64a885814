// ctest-labels: memory
// Handles in a transaction of another database, or after their own was closed.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/testing/test_database.h"

namespace foedus::handles_test {
namespace {

using testing::must;
using testing::TestDatabase;

struct Handles {
  Masstree tree;
  Hash hash;
  Array array;
  Sequential log;

  explicit Handles(TestDatabase& db)
      : tree(must(db->open_masstree("tree"))),
        hash(must(db->open_hash("hash"))),
        array(must(db->open_array("array", 100, 8))),
        log(must(db->open_sequential("log"))) {}
};

// Returns the status of every operation, by its name.
std::vector<std::pair<std::string, Status>> try_all(Txn& txn, const Handles& handles) {
  std::vector<std::pair<std::string, Status>> all;
  const auto add = [&](std::string name, Status status) {
    all.emplace_back(std::move(name), std::move(status));
  };
  char bytes[8] = {};
  const std::span<std::byte> out = std::as_writable_bytes(std::span<char>(bytes));
  for (const KeyedStorage& keyed : {KeyedStorage(handles.tree), KeyedStorage(handles.hash)}) {
    const std::string name(keyed.name());
    add(name + " get", txn.get(keyed, "k", out).status());
    add(name + " get string", txn.get(keyed, "k").status());
    add(name + " get_as", txn.get_as<std::int64_t>(keyed, "k").status());
    add(name + " get_for_update", txn.get_for_update(keyed, "k", out).status());
    add(name + " read_at", txn.read_at(keyed, "k", 0, out));
    add(name + " contains", txn.contains(keyed, "k").status());
    ReadRequest request{.key = "k", .out = out};
    add(name + " get_many", txn.get_many(keyed, {&request, 1}));
    add(name + " put", txn.put(keyed, "k", "foreign!"));
    add(name + " insert", txn.insert(keyed, "new", "foreign!"));
    add(name + " update", txn.update(keyed, "k", "foreign!"));
    add(name + " write_at", txn.write_at(keyed, "k", 0, "f"));
    add(name + " increment", txn.increment(keyed, "k", 0, 1));
    add(name + " erase", txn.erase(keyed, "k"));
    txn.prefetch(keyed, "k");
  }
  add("scan", txn.scan(handles.tree, "", "").failure().value_or(Status()));
  add("array get", txn.get(handles.array, 1, out));
  add("array get_as", txn.get_as<std::int64_t>(handles.array, 1).status());
  add("array get_as of another size", txn.get_as<char>(handles.array, 1).status());
  add("array get_for_update", txn.get_for_update(handles.array, 1, out));
  add("array read_at", txn.read_at(handles.array, 1, 0, out));
  ArrayReadRequest request{.index = 1, .out = out};
  add("array get_many", txn.get_many(handles.array, {&request, 1}));
  add("array put", txn.put(handles.array, 1, "foreign!"));
  add("array put of another size", txn.put(handles.array, 1, "f"));
  add("array write_at", txn.write_at(handles.array, 1, 0, "f"));
  add("array increment", txn.increment(handles.array, 1, 0, 1));
  txn.prefetch(handles.array, 1);
  add("append", txn.append(handles.log, "foreign!"));
  add("scan of a log", txn.scan(handles.log).failure().value_or(Status()));
  return all;
}

void fill(TestDatabase& db, const Handles& handles, const char* row) {
  must(db->transact([&](Txn& txn) -> Status {
    FOEDUS_CHECK(txn.put(handles.tree, "k", row));
    FOEDUS_CHECK(txn.put(handles.hash, "k", row));
    FOEDUS_CHECK(txn.put(handles.array, 1, row));
    return txn.append(handles.log, row);
  }));
}

// Returns the contents of `db` as text.
std::string contents(TestDatabase& db) {
  const Handles handles(db);
  return must(db->transact([&](Txn& txn) -> Result<std::string> {
    std::string text;
    Scan rows = txn.scan(handles.tree, "", "");
    for (const auto& [key, payload] : rows) text.append(key).append("=").append(payload);
    FOEDUS_TRY(const std::string hashed, txn.get(handles.hash, "k"));
    FOEDUS_TRY(const auto number, txn.get_as<std::uint64_t>(handles.array, 1));
    text.append(" ").append(hashed).append(" ").append(as_payload(number));
    Scan entries = txn.scan(handles.log);
    for (const auto& [key, payload] : entries) text.append(" ").append(payload);
    return text;
  }));
}

// Goal: every operation refuses a handle of another database, in every isolation; the text names
// both directories. The transaction goes on, and neither database has changed, also after both were
// opened again. Method: two databases whose storages have the same ids.
TEST(HandleMisuseTest, a_handle_of_another_database_does_nothing_and_is_named) {
  TestDatabase own;
  TestDatabase other;
  const Handles own_handles(own);
  const Handles other_handles(other);
  ASSERT_EQ(own_handles.tree.id(), other_handles.tree.id());
  fill(own, own_handles, "own row.");
  fill(other, other_handles, "other rw");
  const std::string own_before = contents(own);
  const std::string other_before = contents(other);
  must(own->glean());
  for (const Isolation isolation :
       {Isolation::kSerializable, Isolation::kSnapshot, Isolation::kDirtyRead}) {
    must(own->transact(
        [&](Txn& txn) -> Status {
          for (const auto& [name, status] : try_all(txn, other_handles)) {
            EXPECT_EQ(status.code(), ErrorCode::kInvalidArgument) << name;
            EXPECT_NE(status.message().find(own.options().dir), std::string::npos)
                << name << ": " << status.message();
            EXPECT_NE(status.message().find(other.options().dir), std::string::npos)
                << name << ": " << status.message();
          }
          return txn.get(own_handles.tree, "k").status();
        },
        {.isolation = isolation}));
  }
  own.reopen();
  other.reopen();
  EXPECT_EQ(contents(own), own_before);
  EXPECT_EQ(contents(other), other_before);
}

// Goal: a handle from before its database was closed and opened again is refused so, and neither it
// nor its copy uses freed memory (AddressSanitizer checks).
TEST(HandleMisuseTest, a_handle_from_before_a_close_is_refused_as_closed) {
  TestDatabase db;
  const Handles stale(db);
  fill(db, stale, "own row.");
  const std::string before = contents(db);
  db.reopen();
  EXPECT_EQ(stale.tree.name(), "tree");
  EXPECT_EQ(stale.tree.kind(), StorageKind::kMasstree);
  EXPECT_EQ(stale.array.records(), 100u);
  EXPECT_EQ(stale.array.payload_bytes(), 8u);
  Session session = must(db->new_session());
  Txn txn = must(session.begin());
  for (const auto& [name, status] : try_all(txn, stale)) {
    EXPECT_EQ(status.code(), ErrorCode::kClosed) << name << ": " << status.message();
    EXPECT_NE(status.message().find("was closed"), std::string::npos)
        << name << ": " << status.message();
  }
  must(txn.commit());
  EXPECT_EQ(contents(db), before);
}

TEST(HandleMisuseTest, handles_of_two_openings_are_not_equal) {
  TestDatabase db;
  const Masstree stale = must(db->open_masstree("tree"));
  EXPECT_EQ(stale, must(db->open_masstree("tree")));
  db.reopen();
  EXPECT_NE(stale, must(db->open_masstree("tree")));
}

}  // namespace
}  // namespace foedus::handles_test
