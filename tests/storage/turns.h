#pragma once
// Turns: four sessions that take random turns in one thread. Transactions last over several gleans,
// and snapshots are installed when they are composed or later. The reads of every commit are
// compared with a map.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/base/system/sync_point.h"
#include "tests/storage/own_view.h"
#include "tests/storage/storages.h"

namespace foedus::storage {

// Actions beside whole writes, reads, commits and gleans.
struct TurnsOptions {
  bool writes_parts = false;
  bool writes_runs = false;         // neighbours, mostly erased
  bool spends_pages = false;        // the pool is empty for a while, again and again
  bool has_large_payloads = false;  // more of them than by default
  unsigned nests_one_in = 0;        // not 0: at one of this many sync points others take turns
};

// ColdTest is a kind's fixture; Mode its WriteMode. A derived class chooses the keys.
template <typename ColdTest, typename Mode>
class Turns : public ColdTest {
 protected:
  static constexpr std::uint32_t kSessions = 4;
  using Value = OwnView::Value;
  using Part = OwnView::Part;

  // `places` are sync points where no lock is held: another session can make any call there.
  template <typename... Args>
  explicit Turns(std::set<std::string_view> places, Args&&... args)
      : ColdTest(std::forward<Args>(args)...), places_(std::move(places)) {}

  virtual std::string random_key() = 0;
  // Returns the i-th key of a run that begins at `first`.
  virtual std::string neighbour(std::uint64_t first, std::uint64_t i) = 0;
  virtual Status write_part(std::uint32_t who, const std::string& key, const Part& part) = 0;
  virtual void scan_some(std::uint32_t who) = 0;
  virtual void forget_scan(std::uint32_t who) = 0;
  virtual void check_leads() {}
  virtual std::string random_payload() {
    const std::uint64_t kind = random_.below(100);
    const std::uint64_t small = options_.has_large_payloads ? 30 : 80;
    const std::size_t bytes = kind < small ? random_.below(120)
                              : kind < 96  ? random_.below(1401)
                                           : 1400 + random_.below(9000);
    return std::string(bytes, static_cast<char>('a' + random_.below(26)));
  }

  static bool is_one_of(const Status& status, std::initializer_list<ErrorCode> codes) {
    return status.is_ok() || std::find(codes.begin(), codes.end(), status.code()) != codes.end();
  }
  // Returns whether the call did nothing: its transaction is over, or there was no page for it.
  bool has_failed(std::uint32_t who, const Status& status) {
    if (status.code() == ErrorCode::kConflict) {
      this->all_.session(who).rollback();
      is_open_[who] = false;
      return true;
    }
    return is_spent(status);
  }
  bool is_spent(const Status& status) {
    if (!options_.spends_pages || status.code() != ErrorCode::kOutOfMemory) return false;
    ++spent_;
    return true;
  }

  void read_one(std::uint32_t who) {
    const std::string key = random_key();
    const WholeRead got = this->read(who, key);
    if (has_failed(who, got.status)) return;
    ASSERT_TRUE(is_one_of(got.status, {ErrorCode::kNotFound})) << got.status.message();
    views_[who].see(key, got.status.is_ok() ? Value(got.payload) : std::nullopt);
  }
  void write_one(std::uint32_t who) {
    if (options_.writes_runs && random_.below(12) == 0) return write_run(who);
    const std::string key = random_key();
    const std::uint64_t kind = random_.below(options_.writes_parts ? 14 : 10);
    if (kind < 3) return erase_key(who, key);
    if (kind >= 10) return write_part_of(who, key);
    write_key(who, key, kind < 6 ? Mode::kPut : kind < 8 ? Mode::kInsert : Mode::kUpdate);
  }
  void write_run(std::uint32_t who) {
    const std::uint64_t first = random_.below(10'000);
    const bool erases = random_.below(3) != 0;
    const std::uint64_t keys = random_.below(60);
    for (std::uint64_t i = 0; i < keys && is_open_[who] && !this->HasFatalFailure(); ++i) {
      const std::string key = neighbour(first, i);
      if (erases) {
        erase_key(who, key);
      } else {
        write_key(who, key, Mode::kPut);
      }
    }
  }
  void erase_key(std::uint32_t who, const std::string& key) {
    const Status status = this->erase(who, key);
    if (has_failed(who, status)) return;
    ASSERT_TRUE(is_one_of(status, {ErrorCode::kNotFound})) << status.message();
    views_[who].see_presence(key, status.is_ok());
    if (status.is_ok()) views_[who].write(key, std::nullopt);
  }
  void write_key(std::uint32_t who, const std::string& key, Mode mode) {
    const std::string payload = random_payload();
    const Status status = this->put(who, key, payload, mode);
    if (has_failed(who, status)) return;
    ASSERT_TRUE(is_one_of(status, {ErrorCode::kNotFound, ErrorCode::kAlreadyExists}))
        << status.message();
    if (mode == Mode::kInsert) views_[who].see_presence(key, !status.is_ok());
    if (mode == Mode::kUpdate) views_[who].see_presence(key, status.is_ok());
    if (status.is_ok()) views_[who].write(key, payload);
  }
  void write_part_of(std::uint32_t who, const std::string& key) {
    const bool is_increment = random_.below(2) == 0;
    const std::size_t offset = random_.below(random_.below(2) == 0 ? 1300 : 30);
    const Part part{offset, std::string(is_increment ? 8 : 1 + random_.below(20), 'P'),
                    is_increment};
    const Status status = write_part(who, key, part);
    if (has_failed(who, status)) return;
    OwnView& view = views_[who];
    if (view.has_whole(key)) {
      const ErrorCode expected[] = {ErrorCode::kOk, ErrorCode::kNotFound,
                                    ErrorCode::kInvalidArgument};
      const auto fit = static_cast<std::size_t>(view.write_part_of_own(key, part));
      ASSERT_EQ(status.code(), expected[fit]) << status.message();
    } else if (status.is_ok()) {
      view.write_part(key, part);
    } else if (status.code() == ErrorCode::kNotFound) {
      view.see(key, std::nullopt);
    } else {
      ASSERT_EQ(status.code(), ErrorCode::kInvalidArgument) << status.message();
      view.see_outside(key, part.end());
    }
  }
  void commit_one(std::uint32_t who) {
    const Status status = this->commit(who);
    is_open_[who] = false;
    if (is_spent(status)) return;
    ASSERT_TRUE(is_one_of(status, {ErrorCode::kConflict})) << status.message();
    if (!status.is_ok()) return;
    ++commits_;
    views_[who].commit_to(&model_);
  }

  // Does one stage of a glean; one at a time, because a sync point may lie in a glean.
  void glean_some(unsigned what) {
    if (is_gleaning_) return;
    is_gleaning_ = true;
    if (what == 0) this->all_.compose();
    if (what == 1) this->all_.install();
    if (what == 2) this->all_.glean();
    if (what != 0 && nested_ == 0) check_leads();
    is_gleaning_ = false;
  }
  void step() {
    const auto who = static_cast<std::uint32_t>(random_.below(kSessions));
    if (is_busy_[who]) return;
    is_busy_[who] = true;
    if (!is_open_[who]) {
      this->begin(who);
      views_[who] = OwnView();
      forget_scan(who);
      is_open_[who] = true;
    }
    const std::uint64_t action = random_.below(1000);
    if (action < 380) {
      write_one(who);
    } else if (action < 650) {
      read_one(who);
    } else if (action < 750) {
      scan_some(who);
    } else if (action < 970) {
      commit_one(who);
    } else if (action < 975) {
      this->all_.session(who).rollback();
      is_open_[who] = false;
    } else {
      glean_some(action < 983 ? 0 : action < 991 ? 1 : 2);
    }
    is_busy_[who] = false;
  }
  // Lets other sessions do some steps while one is in a call, nested up to twice.
  static void at_sync_point(const char* place) {
    Turns* const self = self_;
    if (self->nested_ >= 2 || self->places_.count(place) == 0) return;
    if (self->random_.below(self->options_.nests_one_in) != 0) return;
    ++self->nested_;
    for (std::uint64_t steps = 1 + self->random_.below(6); steps != 0; --steps) {
      if (!self->HasFatalFailure()) self->step();
    }
    --self->nested_;
    ++self->nestings_;
  }
  // Takes all free pages, or gives them back.
  void spend_or_give() {
    page::PagePool& pool = this->all_.all().pool();
    if (!hoard_.empty()) {
      pool.give(hoard_.data(), static_cast<std::uint32_t>(hoard_.size()));
      return hoard_.clear();
    }
    page::VolatilePageId ids[64];
    while (const std::uint32_t taken = pool.take(0, ids, 64)) {
      hoard_.insert(hoard_.end(), ids, ids + taken);
    }
  }
  // Takes turns, and ends all transactions.
  void take_turns(unsigned steps) {
    if (options_.nests_one_in != 0) {
      self_ = this;
      base::set_sync_point_hook(&at_sync_point);
    }
    for (unsigned i = 0; i < steps && !this->HasFatalFailure(); ++i) {
      SCOPED_TRACE(i);
      step();
      if (options_.spends_pages && random_.below(400) == 0) spend_or_give();
    }
    base::set_sync_point_hook(nullptr);
    if (!hoard_.empty()) spend_or_give();
    for (std::uint32_t who = 0; who < kSessions; ++who) {
      if (is_open_[who]) this->all_.session(who).rollback();
    }
    std::printf("%u commits, %u nestings, %u calls without a page\n", commits_, nestings_, spent_);
    if (this->HasFatalFailure()) return;
    EXPECT_GT(commits_, steps / 40);
    EXPECT_EQ(nestings_ > 0, options_.nests_one_in != 0);
  }

  TurnsOptions options_;
  base::Random random_{1};
  OwnView::Values model_;
  OwnView views_[kSessions];
  bool is_open_[kSessions] = {};
  unsigned commits_ = 0;

 private:
  static inline Turns* self_ = nullptr;

  const std::set<std::string_view> places_;
  bool is_busy_[kSessions] = {};
  bool is_gleaning_ = false;
  unsigned nested_ = 0;
  unsigned nestings_ = 0;
  unsigned spent_ = 0;
  std::vector<page::VolatilePageId> hoard_;
};

}  // namespace foedus::storage
