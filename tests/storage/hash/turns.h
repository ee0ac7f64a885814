#pragma once
// Sessions that take turns at a hash storage of which parts are cold.

#include <cstdint>
#include <cstring>
#include <string>

#include "tests/storage/hash/cold_fixture.h"
#include "tests/storage/turns.h"

namespace foedus::storage::hash {

class HashTurns : public Turns<HashColdTest, WriteMode> {
 protected:
  explicit HashTurns(std::uint32_t fan_out_bits = 2)
      : Turns({"keyed:write_found", "hash:cold_read", "hash:before_install", "hash:installed",
               "hash:install_copied", "occ:read_own", "commit:before_lock"},
              fan_out_bits) {}

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
  // A hash storage has no scans, so this is a read.
  void scan_some(std::uint32_t who) override { read_one(who); }
  void forget_scan(std::uint32_t) override {}
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
    std::printf("%u of %u installs left nothing of earlier snapshots\n", all_.clean_installs(),
                all_.installs());
    verify_trie(all_.all().pool(), all_.control());
    check_all();
    all_.glean();
    EXPECT_EQ(volatile_pages(), 0u);
    check_all();
  }
};

}  // namespace foedus::storage::hash
