#pragma once
// Sessions that take turns at a hash storage of which parts are cold.

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "foedus-core/storage/hash/layout/function.h"
#include "foedus-core/storage/hash/scan/cursor.h"
#include "tests/storage/hash/cold_fixture.h"
#include "tests/storage/turns.h"

namespace foedus::storage::hash {

class HashTurns : public Turns<HashColdTest, WriteMode> {
 protected:
  explicit HashTurns(std::uint32_t fan_out_bits = 2)
      : Turns({"keyed:write_found", "hash:cold_read", "hash:before_install", "hash:installed",
               "hash:install_copied", "hash:scan_bin", "hash:scan_page", "hash:scan_listed",
               "occ:read_own", "commit:before_lock"},
              fan_out_bits) {
    for (unsigned i = 0; i < kRows; ++i) {
      const std::string key = key_of(i);
      keys_.emplace(std::pair(hash_of(key), key), key);
    }
  }

  std::string random_key() override {
    return key_of(random_.below(3) == 0 ? random_.below(kRows) : random_.below(150));
  }
  std::string neighbour(std::uint64_t first, std::uint64_t i) override {
    return key_of((first + i) % kRows);
  }
  Status write_part(std::uint32_t who, const std::string& key, const Part& part) override {
    const auto offset = static_cast<std::uint32_t>(part.offset);
    occ::TxnContext& ctx = all_.session(who).ctx();
    if (!part.is_increment) return write_at(ctx, all_.control(), key, offset, part.bytes);
    std::int64_t delta = 0;
    std::memcpy(&delta, part.bytes.data(), sizeof(delta));
    return increment(ctx, all_.control(), key, offset, delta);
  }
  // Goes on with the scan of the transaction, or begins another one.
  void scan_some(std::uint32_t who) override {
    Scan& scan = scans_[who];
    if (!scan.is_open && random_.below(4) != 0) return read_one(who);  // a scan takes long
    if (!scan.is_open) {
      scan.cursor.open(all_.session(who).ctx(), all_.control());
      scan.is_open = true;
      scan.next = keys_.begin();
    }
    for (std::uint64_t rows = random_.below(200); rows != 0 && scan.is_open; --rows) {
      const Status status = scan.cursor.next();
      if (has_failed(who, status)) return forget_scan(who);
      ASSERT_TRUE(status.is_ok()) << status.message();
      scan.is_open = !scan.cursor.at_end();
      const std::string key(scan.cursor.key());
      const auto row = scan.is_open ? keys_.find({hash_of(key), key}) : keys_.end();
      ASSERT_EQ(row != keys_.end(), scan.is_open) << key;
      for (; scan.next != row; ++scan.next) {
        ASSERT_TRUE(scan.next != keys_.end()) << key << " again, or out of order";
        views_[who].pass(scan.next->second);
      }
      if (!scan.is_open) return;
      views_[who].see(key, std::string(scan.cursor.payload()));
      ++scan.next;
      ++rows_scanned_;
    }
  }
  void forget_scan(std::uint32_t who) override { scans_[who].is_open = false; }
  void check_leads() override { all_.check_leads(); }

  void load_model() {
    load();
    for (unsigned i = 0; i < kRows; ++i) model_[key_of(i)] = payload_of(i);
  }
  void check_all() {
    for (const auto& [key, value] : model_) ASSERT_EQ(get_alone(3, key), value) << key;
  }
  void run(std::uint64_t seed, unsigned steps) {
    random_ = base::Random(seed);
    take_turns(steps);
    if (HasFatalFailure()) return;
    EXPECT_GT(rows_scanned_, steps / 4);
    std::printf("%u of %u installs left nothing of earlier snapshots\n", all_.clean_installs(),
                all_.installs());
    verify_trie(all_.all().pool(), all_.control());
    check_all();
    all_.glean();
    EXPECT_EQ(volatile_pages(), 0u);
    check_all();
  }

 private:
  using Keys = std::map<std::pair<std::uint64_t, std::string>, std::string>;  // in a scan's order
  struct Scan {
    Cursor cursor;
    bool is_open = false;
    Keys::const_iterator next;  // the first key that was not passed
  };

  Keys keys_;
  Scan scans_[kSessions];
  std::uint64_t rows_scanned_ = 0;
};

}  // namespace foedus::storage::hash
