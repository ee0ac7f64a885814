#pragma once
// Gleaned: one storage, sessions and snapshots of it in memory. Commits of the sessions are taken
// from their log rings, composed and installed when a test asks for it, stage by stage.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "foedus-core/storage/base/installation.h"
#include "gleaner/compose/base/composition.h"
#include "gleaner/compose/kinds.h"
#include "tests/gleaner/compose/list_stream.h"
#include "tests/gleaner/compose/memory_pages.h"
#include "tests/storage/cold_leads.h"
#include "tests/storage/install_crew.h"
#include "tests/storage/storages.h"

namespace foedus::storage {

// Composes all positions of a storage of any kind and joins them, as Gleaned::Compose says.
inline Result<page::SnapshotPageId> compose_all(const gleaner::Composition& composition,
                                                gleaner::RecordStream* records) {
  FOEDUS_TRY(const std::vector<gleaner::Subtree> subtrees,
             gleaner::compose(composition, {}, records));
  return gleaner::join(composition, subtrees);
}

class Gleaned {
 public:
  // A function that composes all positions and joins them, and one that installs a snapshot's root.
  using Compose = std::function<Result<page::SnapshotPageId>(const gleaner::Composition&,
                                                             gleaner::RecordStream*)>;
  using Install = std::function<Result<InstallCounts>(const Installation&, page::SnapshotPageId)>;

  // A part of the options of Storages.
  struct Memory {
    std::uint64_t log_bytes = 16u << 20;
    std::uint64_t cache_bytes = 8u << 20;
    base::Runtime* runtime = nullptr;
    std::uint32_t installers = 1;  // sessions that install together
  };

  Gleaned(storage_meta::StorageMeta meta, Compose compose, Install install,
          std::uint32_t sessions = 4)
      : Gleaned(std::move(meta), std::move(compose), std::move(install), sessions, Memory()) {}
  Gleaned(storage_meta::StorageMeta meta, Compose compose, Install install, std::uint32_t sessions,
          const Memory& memory)
      : compose_(std::move(compose)),
        install_(std::move(install)),
        all_({.sessions = sessions + memory.installers,
              .log_bytes = memory.log_bytes,
              .reader = &pages_,
              .cache_bytes = memory.cache_bytes,
              .runtime = memory.runtime}),
        control_(all_.make(std::move(meta))),
        taken_(sessions + 1),
        crew_(&all_, sessions, memory.installers) {}

  Storages& all() { return all_; }
  Storages::Session& session(std::uint32_t i) { return all_.session(i); }
  InstallCrew& crew() { return crew_; }
  occ::StorageControl* control() { return control_; }
  gleaner::MemoryPages& pages() { return pages_; }
  page::SnapshotPageId root() const { return root_; }

  // Composes the next snapshot, of all commits so far. Sessions may be at work in threads of their
  // own.
  void compose() {
    covered_ = all_.clock().current();
    all_.pass_epochs();
    while (all_.clock().published() < covered_) all_.pass_epochs();
    gleaner::ListStream stream(control_->meta.kind, control_->id());
    for (std::uint32_t i = 0; i < taken_.size(); ++i) take_log(i, &stream);
    for (const auto& [key, payload] : std::exchange(beside_, {})) {
      stream.add(log::LogRecordType::kPut, page::Tid(covered_, 1), key, payload);
    }
    gleaner::MemoryWriter writer(&pages_, ++snapshot_);
    const gleaner::Composition composition{&control_->meta, root_, &pages_, &writer};
    Result<page::SnapshotPageId> composed = compose_(composition, &stream);
    ASSERT_TRUE(composed.is_ok()) << composed.status().message();
    pages_.finish();
    root_ = *composed;
  }
  // Installs the snapshot by the last session; its pages replace `pages_to_drop` volatile ones or a
  // few more.
  InstallCounts install(std::uint64_t pages_to_drop = ~std::uint64_t{0}, bool spares_used = false) {
    const Result<InstallCounts> counts = try_install(pages_to_drop, spares_used);
    EXPECT_TRUE(counts.is_ok()) << counts.status().message();
    return counts.is_ok() ? *counts : InstallCounts();
  }
  // Installs the snapshot as install() does; may fail.
  Result<InstallCounts> try_install(std::uint64_t pages_to_drop, bool spares_used) {
    const std::uint32_t number = static_cast<std::uint32_t>(taken_.size()) - 1;
    Storages::Session& session = all_.session(number);
    session.begin();
    std::vector<std::uint64_t> files;
    for (std::uint32_t i = oldest_file_; i <= snapshot_; ++i) {
      files.push_back(page::SnapshotPageId(page::SnapshotNumber{i}, 0, 0).word());
    }
    const Result<InstallCounts> counts = install_({.pool = &all_.pool(),
                                                   .pages = &session.pages(),
                                                   .cache = all_.cache(),
                                                   .clock = &all_.clock(),
                                                   .control = control_,
                                                   .covered = covered_,
                                                   .session = number,
                                                   .pages_to_drop = pages_to_drop,
                                                   .spares_used = spares_used,
                                                   .files = files,
                                                   .installed = installed_,
                                                   .workers = workers()},
                                                  root_);
    session.rollback();
    const bool is_clean = counts.is_ok() && !counts->may_need_earlier;
    if (is_clean) {
      led_to_.clear();
      installed_ = page::SnapshotNumber{snapshot_};
    }
    led_to_.push_back(root_);
    ++installs_;
    clean_installs_ += is_clean ? 1 : 0;
    return counts;
  }
  // Adds a put to the next snapshot, but to no page of the storage, as puts to a delta are.
  void put_beside(std::string key, std::string payload) {
    beside_.emplace_back(std::move(key), std::move(payload));
  }
  // Composes the next snapshot as if it were the first: all pages are new, and no older file is
  // needed.
  void compose_anew() {
    root_ = page::SnapshotPageId();
    std::fill(taken_.begin(), taken_.end(), 0);
    oldest_file_ = snapshot_ + 1;
    compose();
  }
  // Removes files of snapshots that are not needed any more. REQUIRES: the last install left no
  // pointer to an earlier snapshot.
  void remove_old_files() {
    for (std::uint32_t i = 1; i < oldest_file_; ++i) {
      pages_.remove_file(page::SnapshotNumber{i}, 0);
      all_.cache()->forget(page::SnapshotNumber{i});
    }
  }
  // Tries to install while one read after another fails, or returns a page of another storage,
  // until all succeed. Returns the number of failures.
  unsigned install_with_errors(ErrorCode code) {
    for (unsigned failures = 0;; ++failures) {
      for (std::uint32_t i = 1; i <= snapshot_; ++i) {
        all_.cache()->forget(page::SnapshotNumber{i});
      }
      if (code == ErrorCode::kIoError) {
        pages_.fail_read_after(failures);
      } else {
        pages_.forge_read_after(failures);
      }
      const Result<InstallCounts> counts = try_install(~std::uint64_t{0}, false);
      pages_.read_well();
      if (counts.is_ok()) return failures;
      EXPECT_EQ(counts.code(), code) << counts.status().message();
      check_leads();
    }
  }
  // Installs as an engine that is short of memory does, which spares used pages and clears their
  // marks.
  InstallCounts spare_and_install() { return install(~std::uint64_t{0}, true); }
  void forget_uses() { install(1, true); }
  // Checks O16: volatile pages lead to pages of the last snapshot whose install left no earlier
  // pointer, or of later ones. REQUIRES: no session is in a call.
  void check_leads(bool with_chains = true) {
    ColdLeads leads(&all_.pool(), &pages_);
    if (!with_chains) leads.allow_all_chains();
    for (const page::SnapshotPageId root : led_to_) leads.allow(root);
    if (!led_to_.empty()) leads.check(control_->root.load());
  }
  // Lets installations list only files from the newest snapshot on, as if all pages of earlier
  // files that are still needed had moved.
  void list_newest_files() { oldest_file_ = snapshot_; }
  // Lets each record that names a payload in a snapshot look the id up in the new one.
  void let_names_change() { oldest_file_ = ~std::uint32_t{0}; }
  unsigned installs() const { return installs_; }
  unsigned clean_installs() const { return clean_installs_; }
  InstallCounts glean() {
    compose();
    return install();
  }

 private:
  InstallWorkers* workers() { return crew_.workers().size() > 1 ? &crew_ : nullptr; }
  // Takes the commits of a session from its log ring, which never overflows in a test.
  void take_log(std::uint32_t number, gleaner::ListStream* stream) {
    const log::LogBuffer& log = all_.session(number).log();
    const std::uint64_t end = log.committed();
    ASSERT_LT(end - taken_[number], log.capacity());
    while (taken_[number] < end) {
      const auto& record = *reinterpret_cast<const log::LogRecord*>(log.at(taken_[number]));
      const bool is_later = !record.is_filler() && page::Tid(record.tid).epoch() > covered_;
      if (is_later) break;
      taken_[number] += record.record_bytes;
      if (record.is_filler()) continue;
      stream->add(record.type, page::Tid(record.tid), record.key(), record.payload(),
                  record.payload_offset, number);
    }
  }

  const Compose compose_;
  const Install install_;
  gleaner::MemoryPages pages_;
  Storages all_;
  occ::StorageControl* const control_;
  std::vector<std::uint64_t> taken_;  // by session: the log up to here is in a snapshot
  page::SnapshotPageId root_;
  std::uint32_t snapshot_ = 0;
  Epoch covered_;
  std::vector<page::SnapshotPageId> led_to_;  // roots
  std::vector<std::pair<std::string, std::string>> beside_;
  std::uint32_t oldest_file_ = 1;  // of those that a new snapshot has pages or payloads in
  InstallCrew crew_;
  page::SnapshotNumber installed_{};  // the last one whose install left no earlier pointer
  unsigned installs_ = 0;
  unsigned clean_installs_ = 0;
};

}  // namespace foedus::storage
