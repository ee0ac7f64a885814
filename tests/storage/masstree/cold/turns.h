#pragma once
// Sessions that take turns at a Master-Tree of which parts are cold, with long scans.

#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/storage/masstree/cold/fixture.h"
#include "tests/storage/turns.h"

namespace foedus::storage::masstree {

class MasstreeTurns : public Turns<MasstreeColdTest, WriteMode> {
 protected:
  // `install` may exchange runs of pages.
  explicit MasstreeTurns(Gleaned::Install install = SimpleInstall::install)
      : Turns({"masstree:place_searched", "masstree:room_searched", "masstree:adopt_searched",
               "masstree:adopted", "masstree:grow_searched", "masstree:grown",
               "masstree:split_done", "masstree:cold_read", "masstree:before_install",
               "keyed:write_found", "masstree:shrunk", "keyed:part_outside",
               "masstree:install_searched", "masstree:installed", "masstree:exchanged",
               "masstree:install_copied", "occ:read_own", "commit:before_lock"},
              std::move(install)) {}

  std::string random_key() override {
    const std::uint64_t few = std::min<std::uint64_t>(150, all_keys_.size());
    const std::uint64_t i = random_.below(random_.below(3) == 0 ? all_keys_.size() : few);
    return all_keys_[i * 7919 % all_keys_.size()];
  }
  std::string neighbour(std::uint64_t first, std::uint64_t i) override {
    const std::uint64_t n = all_keys_.size();  // down as well as up
    return all_keys_[(first % 4 == 0 ? first + n * 60 - i : first + i) % n];
  }
  std::string random_payload() override {
    if (!crowds_ || random_.below(2) == 0) return Turns::random_payload();
    return std::string(1000 + random_.below(400), 'c');
  }
  Status write_part(std::uint32_t who, const std::string& key, const Part& part) override {
    const auto offset = static_cast<std::uint32_t>(part.offset);
    if (!part.is_increment) return write_at(ctx(who), all_.control(), key, offset, part.bytes);
    std::int64_t delta = 0;
    std::memcpy(&delta, part.bytes.data(), sizeof(delta));
    return increment(ctx(who), all_.control(), key, offset, delta);
  }

  // Keys share slices, end in zeroes, and are prefixes of one another.
  void make_keys(unsigned dense) {
    static const std::string stems[] = {"",
                                        "12345678",
                                        "12345678abcdefgh",
                                        std::string(8, '\0'),
                                        std::string(16, '\0'),
                                        std::string(16, '\xff')};
    for (unsigned i = 0; i < 400; ++i) {
      std::string key = stems[random_.below(6)];
      for (std::uint64_t bytes = random_.below(12); bytes != 0; --bytes) {
        const char letters[] = {'\0', '\0', 'a', 'b', '\xff'};
        key.push_back(letters[random_.below(5)]);
      }
      if (!key.empty()) keys_.insert(key);
    }
    for (unsigned i = 0; i < dense; ++i) keys_.insert(i % 2 == 0 ? key_of(i) : deep_key(i));
    all_keys_.assign(keys_.begin(), keys_.end());
  }
  // Makes all keys that a slice can have, for a few slices.
  void make_crowds() {
    crowds_ = true;
    for (const char* stem : {"", "a", "ab", "12345678"}) {
      for (std::size_t zeroes = 0; zeroes < 11; ++zeroes) {
        keys_.insert(stem + std::string(zeroes, '\0'));
      }
    }
    keys_.erase("");
    all_keys_.assign(keys_.begin(), keys_.end());
  }

  // Does a few steps of a scan; other operations come between them.
  void scan_some(std::uint32_t who) override {
    Scan& scan = scans_[who];
    if (!scan.is_open) begin_scan(who);
    for (std::uint64_t steps = random_.below(30); steps != 0 && scan.is_open; --steps) {
      const Status status = scan.cursor.next();
      if (has_failed(who, status)) return forget_scan(who);
      ASSERT_TRUE(status.is_ok()) << status.message();
      const bool at_end = scan.cursor.at_end();
      const std::string key(scan.cursor.key());
      pass(who, at_end ? scan.end : key, at_end);
      if (HasFatalFailure()) return;
      scan.is_open = !at_end;
      if (at_end) return;
      ASSERT_EQ(keys_.count(key), 1u) << ::testing::PrintToString(key);
      views_[who].see(key, std::string(scan.cursor.payload()));
    }
  }
  void forget_scan(std::uint32_t who) override { scans_[who].is_open = false; }

  void check_all() {
    begin(3);
    const std::vector<Row> rows = MasstreeColdTest::scan(3, "", "");
    auto row = rows.begin();
    for (const auto& [key, value] : model_) {
      if (!value.has_value()) continue;
      ASSERT_TRUE(row != rows.end()) << ::testing::PrintToString(key);
      ASSERT_EQ(*row, Row(key, *value));
      ++row;
    }
    ASSERT_TRUE(row == rows.end()) << ::testing::PrintToString(row->first);
    for (const std::string& key : all_keys_) {
      ASSERT_EQ(get(3, key), OwnView::find(model_, key)) << ::testing::PrintToString(key);
    }
    expect_commit(3);
  }
  // `dense` is the number of rows at the start.
  void run(std::uint64_t seed, unsigned steps, unsigned dense) {
    random_ = base::Random(seed);
    make_keys(dense);
    for (unsigned i = 0; i < dense; ++i) {
      put_alone(0, all_keys_[i], payload_of(i));
      model_[all_keys_[i]] = payload_of(i);
    }
    take_turns_and_check(steps);
  }
  void run_crowded(std::uint64_t seed, unsigned steps) {
    random_ = base::Random(seed);
    make_crowds();
    take_turns_and_check(steps);
  }

 private:
  struct Scan {
    Cursor cursor;
    bool is_open = false;
    bool reverse = false;
    std::string position;  // all keys of the range before it have been passed
    std::string end;       // in the direction of the scan
  };

  void take_turns_and_check(unsigned steps) {
    take_turns(steps);
    if (HasFatalFailure()) return;
    check_all();
    glean_all();
    check_all();
  }
  void begin_scan(std::uint32_t who) {
    Scan& scan = scans_[who];
    std::string low = random_key();
    std::string high = random_key();
    if (high < low) std::swap(low, high);
    scan.reverse = random_.below(2) == 0;
    scan.cursor.open(ctx(who), all_.control(), low, high, scan.reverse);
    scan.is_open = true;
    scan.position = scan.reverse ? high : low;
    scan.end = scan.reverse ? low : high;
  }
  // Notes that no key between position and `to` is present. Forward: [position, to); in reverse:
  // (to, position), and at the end [to, position).
  void pass(std::uint32_t who, const std::string& to, bool at_end) {
    Scan& scan = scans_[who];
    auto begin = keys_.lower_bound(scan.reverse ? to : scan.position);
    const auto end = keys_.lower_bound(scan.reverse ? scan.position : to);
    if (scan.reverse && !at_end && begin != keys_.end() && *begin == to) ++begin;
    const bool is_forward = scan.reverse ? to < scan.position : scan.position <= to;
    ASSERT_TRUE(is_forward || at_end);
    for (; is_forward && begin != end; ++begin) views_[who].pass(*begin);
    scan.position = to;
    if (!scan.reverse) scan.position.push_back('\0');
  }

  std::set<std::string, std::less<>> keys_;
  std::vector<std::string> all_keys_;
  bool crowds_ = false;
  Scan scans_[kSessions];
};

}  // namespace foedus::storage::masstree
