// Tests of the checker: for every anomaly the smallest history that has it, which must be found and
// named, and the history without it, which must pass.
#include "tests/isolation/checker/checker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/isolation/history_json.h"

namespace foedus::isolation::checker_test {
namespace {

const char* const kStorages = R"({"t":"header","seed":1}
{"t":"storage","st":0,"name":"r","kind":"masstree","shape":"register"}
{"t":"storage","st":1,"name":"l","kind":"hash","shape":"list"}
{"t":"storage","st":2,"name":"q","kind":"sequential","shape":"sequence"}
)";

// Returns a committed serializable transaction; its values are id * 16 and up. `ordinal` 0: it
// writes nothing.
std::string txn(int id, int begin, int end, int epoch, int ordinal, const std::string& ops,
                const std::string& more = "") {
  const auto text = [](int number) { return std::to_string(number); };
  std::string line = R"({"t":"txn","id":)" + text(id) + R"(,"p":1,"s":)" + text(id) +
                     R"(,"begin":)" + text(begin) + R"(,"epoch":)" + text(epoch);
  if (end != 0) line += R"(,"end":)" + text(end);
  if (ordinal != 0) line += R"(,"ord":)" + text(ordinal);
  if (more.find("\"kind\"") == std::string::npos) line += R"(,"kind":"serializable")";
  if (more.find("\"out\"") == std::string::npos) line += R"(,"out":"committed")";
  if (!more.empty()) line += "," + more;
  return line + R"(,"ops":[)" + ops + "]}\n";
}
std::string window(int epoch, int ns) {
  return R"({"t":"window","p":1,"epoch":)" + std::to_string(epoch) + R"(,"ns":)" +
         std::to_string(ns) + "}\n";
}
std::string crash(int ns) { return R"({"t":"crash","p":1,"ns":)" + std::to_string(ns) + "}\n"; }
std::string crash_at(int epoch) {
  return R"({"t":"crash","p":1,"ns":50,"epoch":)" + std::to_string(epoch) + "}\n";
}
std::string open(int epoch) {
  return R"({"t":"open","p":2,"epoch":)" + std::to_string(epoch) + ",\"ns\":1000}\n";
}
std::string durable(int epoch) {
  return R"({"t":"durable","p":1,"epoch":)" + std::to_string(epoch) + "}\n";
}

Checker checked(const std::string& history) {
  Checker checker;
  std::string text = kStorages + history;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    Line line;
    std::string why;
    EXPECT_TRUE(parse_line(std::string_view(text).substr(begin, end - begin), &line, &why))
        << why << ": " << text.substr(begin, end - begin);
    checker.add(std::move(line));
    begin = end + 1;
  }
  checker.finish();
  return checker;
}

// Expects that `name` is found, perhaps not first: a cycle comes before the reads that are part of
// it.
void expect_found(const std::string& name, const std::string& history) {
  const Checker checker = checked(history);
  ASSERT_FALSE(checker.anomalies().empty()) << name << " was not found";
  const bool is_found = std::any_of(checker.anomalies().begin(), checker.anomalies().end(),
                                    [&](const Anomaly& anomaly) { return anomaly.name == name; });
  EXPECT_TRUE(is_found) << "not " << name << " but " << checker.anomalies()[0].name << ": "
                        << checker.anomalies()[0].text;
}
void expect_none(const std::string& history) {
  const Checker checker = checked(history);
  for (const Anomaly& anomaly : checker.anomalies()) {
    ADD_FAILURE() << anomaly.name << ": " << anomaly.text;
  }
}

std::vector<std::string> names_of(const std::string& history) {
  const Checker checker = checked(history);
  std::vector<std::string> names;
  for (const Anomaly& anomaly : checker.anomalies()) names.push_back(anomaly.name);
  return names;
}

// Two records, 1 and 2, as all histories below begin: transaction 1 writes 16 and 17.
const std::string kBegin = txn(1, 1, 2, 1, 1, R"(["insert",0,1,16],["insert",0,2,17])");

// By TIDs alone the writes of transactions have one order, so that a cycle of them needs something
// else that orders: time, or the content of a list.
TEST(CheckerTest, writes_in_two_orders_are_g0) {
  expect_found("G0-realtime", kBegin + txn(2, 10, 20, 2, 9, R"(["put",0,1,32])") +
                                  txn(3, 30, 40, 2, 5, R"(["put",0,1,48])"));
  expect_none(kBegin + txn(2, 10, 20, 2, 5, R"(["put",0,1,32])") +
              txn(3, 30, 40, 2, 9, R"(["put",0,1,48])"));
  const std::string appends =
      txn(2, 10, 20, 2, 1, R"(["append",1,1,32])") + txn(3, 10, 20, 2, 2, R"(["append",1,1,48])");
  EXPECT_EQ(names_of(appends + txn(4, 10, 20, 2, 0, R"(["r",1,1,[48,32]])")),
            (std::vector<std::string>{"G0", "incompatible-order"}));
  expect_none(appends + txn(4, 10, 20, 2, 0, R"(["r",1,1,[32,48]])"));
}

TEST(CheckerTest, a_read_of_what_was_not_committed_is_g1a) {
  for (const char* const outcome : {"conflict", "rolled_back", "unknown"}) {
    const std::string out = std::string(R"("out":")") + outcome + "\"";
    const std::string reader = txn(3, 10, 20, 2, 0, R"(["r",0,1,[32,32,0]])");
    expect_found("G1a", kBegin + txn(2, 10, 20, 0, 0, R"(["put",0,1,32])", out) + reader);
    expect_none(kBegin + txn(2, 10, 20, 2, 1, R"(["put",0,1,32])") + reader);
  }
}

TEST(CheckerTest, a_read_of_what_its_writer_overwrote_is_g1b) {
  const std::string writer = txn(2, 10, 20, 2, 1, R"(["put",0,1,32],["put",0,1,33])");
  expect_found("G1b", kBegin + writer + txn(3, 10, 20, 2, 0, R"(["r",0,1,[32,32,0]])"));
  expect_none(kBegin + writer + txn(3, 10, 20, 2, 0, R"(["r",0,1,[33,33,0]])"));
}

TEST(CheckerTest, a_circle_of_information_is_g1c) {
  // The check by TIDs names the read of a later version; the one by circles names the two readers.
  EXPECT_EQ(names_of(kBegin + txn(2, 10, 20, 2, 1, R"(["r",0,2,[49,49,0]],["put",0,1,32])") +
                     txn(3, 10, 20, 2, 2, R"(["r",0,1,[32,32,0]],["put",0,2,49])")),
            (std::vector<std::string>{"G1c", "tid-order"}));
  expect_none(kBegin + txn(2, 10, 20, 2, 1, R"(["r",0,2,[17,17,0]],["put",0,1,32])") +
              txn(3, 10, 20, 2, 2, R"(["r",0,1,[32,32,0]],["put",0,2,49])"));
}

TEST(CheckerTest, a_lost_update_and_a_read_of_two_times_are_g_single) {
  const std::string first = txn(2, 10, 20, 2, 1, R"(["r",0,1,[16,16,0]],["put",0,1,32])");
  expect_found("G-single",
               kBegin + first + txn(3, 10, 20, 2, 2, R"(["r",0,1,[16,16,0]],["put",0,1,48])"));
  expect_none(kBegin + first + txn(3, 10, 20, 2, 2, R"(["r",0,1,[32,32,0]],["put",0,1,48])"));
  const std::string both = txn(2, 10, 20, 2, 1, R"(["put",0,1,32],["put",0,2,33])");
  expect_found("G-single",
               kBegin + both + txn(3, 10, 20, 2, 0, R"(["r",0,1,[32,32,0]],["r",0,2,[17,17,0]])"));
  expect_none(kBegin + both + txn(3, 10, 20, 2, 0, R"(["r",0,1,[32,32,0]],["r",0,2,[33,33,0]])"));
}

TEST(CheckerTest, write_skew_is_g2_item) {
  const std::string first = txn(2, 10, 20, 2, 1, R"(["r",0,1,[16,16,0]],["put",0,2,32])");
  expect_found("G2-item",
               kBegin + first + txn(3, 10, 20, 2, 2, R"(["r",0,2,[17,17,0]],["put",0,1,48])"));
  expect_none(kBegin + first + txn(3, 10, 20, 2, 2, R"(["r",0,2,[32,32,0]],["put",0,1,48])"));
}

TEST(CheckerTest, phantoms_are_g2) {
  // The reads are of missing keys.
  const std::string first = txn(2, 10, 20, 2, 1, R"(["r",0,7,null],["insert",0,8,32])");
  expect_found("G2", first + txn(3, 10, 20, 2, 2, R"(["r",0,8,null],["insert",0,7,48])"));
  expect_none(first + txn(3, 10, 20, 2, 2, R"(["r",0,8,[32,32,0]],["insert",0,7,48])"));
  // The reads are of ranges, and of rows after the limit of one.
  const std::string range =
      kBegin +
      txn(2, 10, 20, 2, 1,
          R"(["range",0,0,10,false,null,[[1,[16,16,0]],[2,[17,17,0]]]],["insert",0,20,32])");
  const std::string phantom = R"(["r",0,20,null],["insert",0,5,48])";
  expect_found("G2", range + txn(3, 10, 20, 2, 2, phantom));
  const std::string cut =
      kBegin + txn(2, 10, 20, 2, 1,
                   R"(["range",0,0,10,false,2,[[1,[16,16,0]],[2,[17,17,0]]]],["insert",0,20,32])");
  expect_none(cut + txn(3, 10, 20, 2, 2, phantom));
  const std::string reverse =
      kBegin +
      txn(2, 10, 20, 2, 1, R"(["range",0,0,10,true,1,[[2,[17,17,0]]]],["insert",0,20,32])");
  expect_found("G2", reverse + txn(3, 10, 20, 2, 2, phantom));
  expect_none(reverse + txn(3, 10, 20, 2, 2, R"(["r",0,20,null],["erase",0,1])"));
}

TEST(CheckerTest, two_inserts_of_a_key_are_a_cycle) {
  expect_found("G-single", txn(2, 10, 20, 2, 1, R"(["insert",0,7,32])") +
                               txn(3, 10, 20, 2, 2, R"(["insert",0,7,48])"));
  expect_none(txn(2, 10, 20, 2, 1, R"(["insert",0,7,32],["erase",0,7])") +
              txn(3, 10, 20, 2, 2, R"(["insert",0,7,48])"));
  expect_found("G-single", kBegin + txn(2, 10, 20, 2, 1, R"(["erase",0,1])") +
                               txn(3, 10, 20, 2, 2, R"(["update",0,1,48])"));
  expect_found("G-single", kBegin + txn(2, 10, 20, 2, 1, R"(["erase",0,1])") +
                               txn(3, 10, 20, 2, 2, R"(["exists",0,1,true],["put",0,1,48])"));
}

TEST(CheckerTest, of_versions_that_are_alike_real_time_chooses) {
  const std::string erased = kBegin + txn(2, 10, 20, 2, 1, R"(["erase",0,1])");
  const std::string again = erased + txn(3, 30, 40, 2, 2, R"(["insert",0,1,48])");
  expect_none(again + txn(4, 10, 50, 2, 0, R"(["r",0,1,null])"));
  expect_none(again + txn(4, 25, 35, 2, 0, R"(["r",0,1,null])"));
  expect_found("G-single-realtime", again + txn(4, 45, 50, 2, 0, R"(["r",0,1,null])"));
  const std::string twice = again + txn(5, 60, 70, 2, 3, R"(["erase",0,1])");
  expect_none(twice + txn(4, 15, 90, 2, 0, R"(["r",0,1,null])"));
  expect_found("G-single-realtime", twice + txn(4, 45, 50, 2, 0, R"(["r",0,1,null])"));
}

TEST(CheckerTest, parts_and_counters_are_versions_too) {
  const std::string parts = kBegin + txn(2, 10, 20, 2, 1, R"(["write",0,1,0,32])") +
                            txn(3, 10, 20, 2, 2, R"(["write",0,1,1,48])") +
                            txn(4, 10, 20, 2, 3, R"(["add",0,1,1000])") +
                            txn(5, 10, 20, 2, 4, R"(["add",0,1,70])");
  expect_none(parts + txn(6, 10, 20, 2, 0, R"(["r",0,1,[32,48,1000]])") +
              txn(7, 10, 20, 2, 0, R"(["r",0,1,[32,16,0]])"));
  expect_found("torn-read", parts + txn(6, 10, 20, 2, 0, R"(["r",0,1,[16,48,0]])"));
  expect_found("torn-read", parts + txn(6, 10, 20, 2, 0, R"(["r",0,1,[32,48,70]])"));
  expect_found("G-single", parts + txn(6, 10, 20, 2, 5, R"(["r",0,1,[32,48,1000]],["add",0,1,7])"));
}

TEST(CheckerTest, lists_are_prefixes_of_each_other) {
  const std::string appends = txn(2, 10, 20, 2, 1, R"(["r",1,1,null],["append",1,1,32])") +
                              txn(3, 10, 20, 2, 2, R"(["r",1,1,[32]],["append",1,1,48])");
  expect_none(appends + txn(4, 10, 20, 2, 0, R"(["r",1,1,[32,48]])"));
  expect_found("incompatible-order", appends + txn(4, 10, 20, 2, 0, R"(["r",1,1,[48,32]])"));
  expect_found("G-single", appends + txn(4, 10, 20, 2, 3, R"(["r",1,1,[32]],["append",1,1,64])"));
}

TEST(CheckerTest, a_scan_of_a_sequence_sees_all_that_is_before_it) {
  const std::string first = txn(2, 10, 20, 2, 1, R"(["push",2,32])");
  const std::string skew = txn(3, 10, 20, 2, 2, R"(["scan",2,null,[]],["put",0,1,48])");
  expect_found("G2", skew + txn(4, 10, 20, 2, 3, R"(["r",0,1,null],["push",2,64])"));
  expect_none(first + txn(3, 10, 20, 2, 2, R"(["scan",2,null,[32]],["put",0,1,48])") +
              txn(4, 10, 20, 2, 3, R"(["r",0,1,[48,48,0]],["push",2,64])"));
  expect_found("G-single-realtime", first + txn(3, 30, 40, 2, 0, R"(["scan",2,null,[]])"));
  // Appends that did not see each other are ordered by TID, whatever their time.
  const std::string late = txn(4, 30, 40, 2, 1, R"(["push",2,64])");
  const std::string early = txn(3, 10, 20, 2, 7, R"(["push",2,48])");
  expect_none(early + late + txn(5, 25, 28, 2, 0, R"(["scan",2,null,[48]])") +
              txn(6, 50, 60, 2, 0, R"(["scan",2,null,[64,48]])"));
  expect_found("incompatible-order",
               early + late + txn(6, 50, 60, 2, 0, R"(["scan",2,null,[48,64]])"));
  expect_none(early + late + txn(6, 50, 60, 2, 0, R"(["scan",2,1,[64]])"));
  expect_none(early + window(0, 29) + late + txn(6, 50, 60, 2, 0, R"(["scan",2,null,[64,48]])"));
  expect_found("G-single-realtime",
               early + window(0, 29) + late + txn(6, 50, 60, 2, 0, R"(["scan",2,null,[64]])"));
  expect_none(first +
              txn(3, 30, 40, 2, 9, R"(["push",2,48],["scan",2,null,[32,48]],["push",2,49])"));
  expect_found("internal", first + txn(3, 30, 40, 2, 9, R"(["push",2,48],["scan",2,null,[32]])"));
}

TEST(CheckerTest, own_writes_are_read) {
  expect_none(kBegin + txn(2, 10, 20, 2, 1,
                           R"(["add",0,1,5],["r",0,1,[16,16,5]],["erase",0,1],["r",0,1,null])"));
  expect_found("internal", kBegin + txn(2, 10, 20, 2, 1, R"(["put",0,1,32],["r",0,1,[16,16,0]])"));
  expect_found(
      "internal",
      kBegin + txn(2, 10, 20, 2, 1,
                   R"(["erase",0,1],["range",0,1,3,false,null,[[1,[16,16,0]],[2,[17,17,0]]]])"));
}

TEST(CheckerTest, real_time_counts_also_for_those_that_read_only) {
  const std::string writer = kBegin + txn(2, 10, 20, 2, 1, R"(["put",0,1,32])");
  const std::string old = R"(["r",0,1,[16,16,0]])";
  expect_none(writer + txn(3, 20, 30, 1, 0, old));  // the same nanosecond
  expect_found("G-single-realtime", writer + txn(3, 21, 30, 1, 0, old));
  // The anomaly is also found over windows, where no cycle is searched.
  expect_found("G-single-realtime", writer + window(0, 50) + txn(3, 60, 70, 2, 0, old));
  expect_none(writer + window(0, 50) + txn(3, 60, 70, 2, 0, R"(["r",0,1,[32,32,0]])"));
  // Two readers that see two writers in two orders: no time is needed.
  const std::string two = kBegin + txn(2, 10, 90, 2, 1, R"(["put",0,1,32])") +
                          txn(3, 10, 90, 2, 2, R"(["put",0,2,48])") +
                          txn(4, 20, 30, 2, 0, R"(["r",0,1,[32,32,0]],["r",0,2,[17,17,0]])");
  expect_found("G2-item", two + txn(5, 40, 50, 2, 0, R"(["r",0,1,[16,16,0]],["r",0,2,[48,48,0]])"));
  expect_none(two + txn(5, 40, 50, 2, 0, R"(["r",0,1,[32,32,0]],["r",0,2,[48,48,0]])"));
}

TEST(CheckerTest, an_epoch_ends_with_a_serial_prefix) {
  // 2 comes before 3, which a snapshot of epoch 2 would show without it.
  const std::string reader = txn(2, 10, 20, 3, 1, R"(["r",0,1,[16,16,0]],["put",0,2,32])");
  const std::string writer = txn(3, 10, 20, 2, 1, R"(["put",0,1,48])");
  expect_found("G-single-epoch", kBegin + reader + writer);
  expect_none(kBegin + reader + txn(3, 10, 20, 3, 2, R"(["put",0,1,48])"));
}

TEST(CheckerTest, a_ticket_covers_what_was_seen) {
  const std::string writer = kBegin + txn(2, 10, 20, 5, 1, R"(["put",0,1,32])");
  expect_found("ticket", writer + txn(3, 30, 40, 4, 0, R"(["r",0,1,[32,32,0]])"));
  expect_none(writer + txn(3, 30, 40, 5, 0, R"(["r",0,1,[32,32,0]])"));
  // There is no wait: the version was durable.
  expect_none(writer + txn(3, 30, 40, 0, 0, R"(["r",0,1,[32,32,0]])", R"("durable_epoch":5)"));
  expect_found("ticket",
               writer + txn(3, 30, 40, 0, 0, R"(["r",0,1,[32,32,0]])", R"("durable_epoch":4)"));
}

TEST(CheckerTest, tids_rise_along_reads_versions_and_sessions) {
  expect_found("tid-order", kBegin + txn(2, 10, 20, 1, 1, R"(["put",0,1,32])"));
  expect_found("tid-order", kBegin + txn(1, 10, 20, 1, 1, R"(["put",0,5,32])"));
}

TEST(CheckerTest, a_snapshot_is_the_state_at_the_end_of_its_epoch) {
  const std::string history = kBegin + txn(2, 10, 20, 2, 1, R"(["put",0,1,32],["push",2,33])") +
                              txn(3, 30, 40, 3, 1, R"(["put",0,2,48],["push",2,49])");
  const std::string kind = R"("kind":"snapshot")";
  const auto snapshot = [&](int epoch, const std::string& ops) {
    return txn(9, 60, 70, epoch, 0, ops, kind);
  };
  const std::string at_two = R"(["r",0,1,[32,32,0]],["r",0,2,[17,17,0]],["scan",2,null,[33]])";
  expect_none(history + snapshot(2, at_two));
  expect_none(history + window(1, 50) + snapshot(2, at_two));
  expect_found("snapshot", history + snapshot(3, at_two));
  expect_found("snapshot", history + snapshot(1, at_two));
  expect_found("snapshot", history + window(1, 50) + snapshot(1, at_two));
  expect_found("format", history + window(2, 50) + snapshot(1, at_two));
  expect_found("snapshot", history + snapshot(2, R"(["range",0,0,9,false,null,[[1,[32,32,0]]]])"));
  expect_none(history + snapshot(2, R"(["range",0,0,9,false,1,[[1,[32,32,0]]]])"));
  expect_none(history + snapshot(0, R"(["r",0,1,null],["exists",0,2,false])"));
}

TEST(CheckerTest, what_was_acknowledged_survives_a_crash) {
  const std::string history = kBegin + txn(2, 10, 20, 2, 1, R"(["put",0,1,32],["put",0,2,33])") +
                              txn(3, 30, 40, 3, 1, R"(["put",0,2,48])");
  const std::string reads = R"(["r",0,1,[32,32,0]],["r",0,2,[33,33,0]])";
  const std::string reader = txn(9, 1100, 1200, 5, 0, reads);
  expect_none(history + crash(50) + open(2) + reader);
  expect_none(history + durable(2) + crash(50) + open(2) + reader);
  // The epoch in the log counts, not that of a later process which died on the way or recovered
  // more.
  expect_none(history + crash_at(2) + crash_at(7) + open(7) + reader);
  expect_found("lost-acknowledged", history + durable(3) + crash_at(2) + open(7) + reader);
  expect_found("lost-acknowledged", history + durable(3) + crash(50) + open(2) + reader);
  expect_found("resurrected",
               history + crash(50) + open(2) + txn(9, 1100, 1200, 5, 0, R"(["r",0,2,[48,48,0]])"));
  const std::string half = txn(9, 1100, 1200, 5, 0, R"(["r",0,1,[32,32,0]],["r",0,2,[17,17,0]])");
  expect_found("partial-survival", history + crash(50) + open(2) + half);
  expect_found("lost-acknowledged", history + durable(2) + crash(50) + open(2) + half);
  // Epochs without a commit may be durable, and their numbers come again.
  expect_none(history + durable(40) + crash_at(3) +
              txn(7, 1100, 1200, 30, 1, R"(["put",0,9,112])") + crash_at(29) +
              txn(9, 1300, 1400, 50, 0, R"(["r",0,9,null])"));
  // The acknowledgements are of a commit that waited for durability, and of the ticket of a reader.
  const std::string acknowledged = R"("durable":41)";
  expect_found("lost-acknowledged",
               history + txn(4, 41, 45, 3, 0, R"(["r",0,2,[48,48,0]])", acknowledged) + crash(50) +
                   open(2) + reader);
}

TEST(CheckerTest, a_commit_that_nobody_reported_counts_by_its_tid) {
  const std::string unreported =
      kBegin + txn(2, 10, 0, 2, 1, R"(["put",0,1,32])", R"("out":"unknown")");
  const std::string after = txn(3, 20, 30, 2, 0, R"(["r",0,1,[32,32,0]])");
  expect_none(unreported + after + crash(50) + open(2) +
              txn(9, 1100, 1200, 5, 0, R"(["r",0,1,[32,32,0]])"));
  expect_found("partial-survival", unreported + crash(50) + open(2) +
                                       txn(9, 1100, 1200, 5, 0, R"(["r",0,1,[16,16,0]])"));
  expect_none(unreported + after + crash(50) + open(1) +
              txn(9, 1100, 1200, 5, 0, R"(["r",0,1,[16,16,0]])"));
}

// ---- anomalies that no cycle of one window shows

TEST(CheckerTest, a_write_without_a_tid_is_lost) {
  const std::string after = txn(3, 30, 40, 2, 0, R"(["r",0,1,[16,16,0]])");
  for (const char* const write :
       {R"(["put",0,1,32])", R"(["erase",0,1])", R"(["push",2,32])", R"(["add",0,1,5])"}) {
    expect_found("lost-write", kBegin + txn(2, 10, 20, 2, 0, write) + after);
  }
  // The record was not there before, and is not there any more.
  expect_none(kBegin + txn(2, 10, 20, 2, 0, R"(["r",0,1,[16,16,0]])") + after);
}

TEST(CheckerTest, epochs_do_not_go_back_over_windows) {
  const std::string first = kBegin + txn(2, 10, 20, 5, 1, R"(["put",0,1,32])") + window(0, 50);
  const auto second = [](int epoch) { return txn(3, 60, 70, epoch, 2, R"(["put",0,2,48])"); };
  expect_found("order-epoch", first + second(4));
  expect_none(first + second(5));
  // A durable epoch is over.
  expect_found("order-epoch", first + durable(7) + window(0, 55) + second(7));
  expect_none(first + durable(7) + window(0, 55) + second(8));
  // After a crash only numbers of epochs above the recovered one come again.
  const std::string lost = first + txn(4, 60, 70, 9, 1, R"(["put",0,9,64])") + crash_at(6);
  expect_none(lost + txn(3, 80, 90, 7, 2, R"(["put",0,2,48])"));
  expect_found("order-epoch", lost + txn(3, 80, 90, 6, 2, R"(["put",0,2,48])"));
}

TEST(CheckerTest, the_newest_snapshot_does_not_become_older) {
  const std::string history = kBegin + txn(2, 10, 20, 2, 1, R"(["put",0,1,32])") +
                              txn(3, 30, 40, 3, 1, R"(["put",0,1,48])");
  const std::string newest = R"("kind":"snapshot")";
  const std::string at_three = txn(8, 50, 60, 3, 0, R"(["r",0,1,[48,48,0]])", newest);
  const auto at_two = [&](int begin, const std::string& kind) {
    return txn(9, begin, 80, 2, 0, R"(["r",0,1,[32,32,0]])", kind);
  };
  expect_found("snapshot", history + at_three + at_two(61, newest));
  expect_found("snapshot", history + at_three + window(1, 60) + at_two(61, newest));
  expect_none(history + at_three + at_two(60, newest));
  expect_none(history + at_three + at_two(61, R"("kind":"as_of")"));
}

TEST(CheckerTest, what_a_snapshot_has_shown_survives_a_crash) {
  const std::string history = kBegin + txn(2, 10, 20, 2, 1, R"(["put",0,1,32])");
  const auto shown = [](int epoch, const std::string& state) {
    return txn(9, 30, 40, epoch, 0, R"(["r",0,1,)" + state + "]", R"("kind":"snapshot")");
  };
  expect_found("lost-acknowledged", history + shown(2, "[32,32,0]") + crash_at(1));
  expect_none(history + shown(1, "[16,16,0]") + crash_at(1));
}

TEST(CheckerTest, a_limit_that_own_appends_fill_hides_nothing) {
  const std::string both =
      txn(2, 10, 20, 2, 1, R"(["push",2,32])") + txn(3, 11, 21, 2, 2, R"(["push",2,48])");
  const auto reader = [](const std::string& values) {
    return txn(4, 30, 40, 2, 3, R"(["push",2,64],["scan",2,2,[)" + values + "]]");
  };
  expect_found("G-single-realtime", both + reader("32,64"));
  expect_none(both + reader("32,48"));
}

TEST(CheckerTest, what_nobody_wrote_is_garbage) {
  expect_found("garbage-read", txn(2, 10, 20, 2, 0, R"(["r",0,1,[999,999,0]])"));
  expect_found(
      "range-order",
      kBegin + txn(2, 10, 20, 2, 0, R"(["range",0,0,9,false,null,[[2,[17,17,0]],[1,[16,16,0]]]])"));
}

TEST(CheckerTest, a_cycle_is_told_with_its_transactions_keys_and_edges) {
  const Checker checker =
      checked(kBegin + txn(2, 10, 20, 2, 1, R"(["r",0,1,[16,16,0]],["put",0,2,32])") +
              txn(3, 10, 20, 2, 2, R"(["r",0,2,[17,17,0]],["put",0,1,48])"));
  ASSERT_EQ(checker.anomalies().size(), 1u);
  const std::string& text = checker.anomalies()[0].text;
  EXPECT_TRUE(text.starts_with("T2 -rw r/1-> T3 -rw r/2-> T2\n")) << text;
  EXPECT_NE(text.find(R"("id":3)"), std::string::npos);
}

TEST(CheckerTest, text_and_words_say_the_same) {
  const std::string line =
      R"({"t":"txn","id":7,"p":1,"s":2,"begin":3,"end":4,"kind":"as_of","out":"committed",)"
      R"("epoch":5,"ord":6,"durable":8,"durable_epoch":4,"ops":[["r",0,1,null],["r",0,1,[1,2,3]],)"
      R"(["exists",0,1,true],["range",0,1,9,true,4,[[2,[1,2,3]]]],["scan",2,null,[5]],)"
      R"(["put",0,1,2],["insert",0,1,2],["update",0,1,2],["write",0,1,1,2],["add",0,1,9],)"
      R"(["erase",0,1],["append",1,1,2],["push",2,3]]})";
  Line parsed;
  std::string why;
  ASSERT_TRUE(parse_line(line, &parsed, &why)) << why;
  std::string again;
  append_json(parsed, &again);
  EXPECT_EQ(again, line + "\n");
  for (const char* const wrong :
       {"", "{", "[]", R"({"t":"other"})", R"({"t":"txn","kind":"x"})",
        R"({"t":"txn","kind":"as_of","out":"committed","ops":[["r",0]]})"}) {
    EXPECT_FALSE(parse_line(wrong, &parsed, &why)) << wrong;
  }
}

}  // namespace
}  // namespace foedus::isolation::checker_test
