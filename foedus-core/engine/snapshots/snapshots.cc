#include "foedus-core/engine/snapshots/snapshots.h"

#include <algorithm>
#include <string>
#include <utility>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/line_allocator.h"
#include "foedus-core/base/system/sync_point.h"

namespace foedus::engine {

namespace {

std::uint64_t word_of(page::SnapshotNumber number) { return static_cast<std::uint32_t>(number); }

Status none_so_old(Epoch as_of, Epoch oldest) {
  const std::string kept =
      oldest.is_valid() ? "the oldest that is kept covers epoch " + std::to_string(oldest.number())
                        : std::string("there is none yet");
  return Status::error(
      ErrorCode::kNotFound,
      "no snapshot of epoch " + std::to_string(as_of.number()) + " or before: " + kept);
}

}  // namespace

ReadableSnapshot::ReadableSnapshot(snapshot::Manifest manifest) : manifest_(std::move(manifest)) {
  roots_.reserve(manifest_.storages.size());
  for (const snapshot::ManifestStorage& storage : manifest_.storages) {
    roots_.push_back({storage.id, storage.root});
  }
}

page::SnapshotPageId ReadableSnapshot::root_of(page::StorageId storage) const {
  const auto root = std::lower_bound(
      roots_.begin(), roots_.end(), storage,
      [](const Root& left, page::StorageId right) { return left.storage < right; });
  const bool is_there = root != roots_.end() && root->storage == storage;
  return is_there ? root->page : page::SnapshotPageId();
}

Snapshots::Snapshots(base::Runtime* runtime, std::uint32_t sessions_max, std::uint32_t kept)
    : runtime_(runtime),
      sessions_max_(sessions_max),
      kept_max_(kept),
      slots_(std::make_unique<Slot[]>(sessions_max)),
      newest_list_(std::make_unique<const List>()) {
  FOEDUS_INVARIANT(kept >= 1, kept);
  list_.store_relaxed(newest_list_.get());  // order: relaxed, no other thread knows it yet
}

Snapshots::~Snapshots() = default;

// ---- sessions --------------------------------------------------------------------------------

// Stores kChoosing in the session's word, and returns the list: the session's half of E52. The
// store is a release, as in leave(). expire() may read kChoosing, or the number that follows it,
// without having read the kNothing of the last leave(). In this case, too, the reads of the
// session's last transaction must be over.
const Snapshots::List* Snapshots::choose(std::uint32_t session) {
  FOEDUS_INVARIANT(session < sessions_max_, session, sessions_max_);
  base::AtomicWord<std::uint64_t>& reading = slots_[session].reading;
  FOEDUS_INVARIANT(reading.load_relaxed() == kNothing, session);  // order: relaxed, own word
  reading.store_release(kChoosing);                               // order: see above
  base::fence_seq_cst();                                          // order: E52
  FOEDUS_SYNC_POINT("snapshots:choosing");
  const List* const list = list_.load_acquire();  // order: acquire, pairs with set_list_locked()
  FOEDUS_SYNC_POINT("snapshots:list_loaded");
  return list;
}

const ReadableSnapshot* Snapshots::enter(std::uint32_t session) {
  const List* const list = choose(session);
  const ReadableSnapshot* const newest = list->kept.empty() ? nullptr : list->kept.back();
  // order: release, pairs with look_at_readers(): the list is not read any more.
  slots_[session].reading.store_release(newest == nullptr ? kNothing : word_of(newest->number()));
  return newest;
}

Result<const ReadableSnapshot*> Snapshots::enter_as_of(std::uint32_t session, Epoch as_of) {
  const List* const list = choose(session);
  const ReadableSnapshot* found = nullptr;
  for (const ReadableSnapshot* const one : list->kept) {
    if (one->covered() <= as_of) found = one;
  }
  const Epoch oldest = list->kept.empty() ? Epoch() : list->kept.front()->covered();
  // order: release, pairs with look_at_readers(): the list is not read any more.
  slots_[session].reading.store_release(found == nullptr ? kNothing : word_of(found->number()));
  if (found == nullptr) return none_so_old(as_of, oldest);
  return found;
}

// Raises requested_ to `epoch`, and then notifies the gleaner, which sees the new value when it
// wakes.
void Snapshots::request(Epoch epoch) {
  // order: relaxed, the exchange checks what was read; acq_rel, pairs with requested().
  std::uint64_t seen = requested_.load_relaxed();
  while (seen < epoch.number()) {
    if (requested_.compare_exchange_acq_rel(seen, epoch.number())) break;
  }
  const std::lock_guard lock(mutex_);
  if (gleaner_ != nullptr) runtime_->notify(gleaner_);
}

Status Snapshots::wait_covered(Epoch epoch, std::uint64_t timeout_us) {
  if (covered() >= epoch) return {};
  const std::uint64_t begin_us = runtime_->now_us();
  for (;;) {
    // order: acquire thrice, pairs with set_trouble() and end(). The count of failures is read
    // before the request, so that a failure of the requested glean changes it.
    const std::uint64_t troubles = troubles_.load_acquire();
    const auto is_over = [&] {
      return covered() >= epoch || troubles_.load_acquire() != troubles ||
             has_ended_.load_acquire() != 0;
    };
    request(epoch);
    const std::uint64_t spent_us = runtime_->now_us() - begin_us;
    const bool is_ready =
        runtime_->wait(&published_, timeout_us - std::min(timeout_us, spent_us), is_over);
    if (covered() >= epoch) return {};
    // order: acquire, as above.
    if (has_ended_.load_acquire() != 0) {
      return Status::error(ErrorCode::kClosed, "the database was closed");
    }
    if (!is_ready) return not_covered(epoch);
    Status status = trouble();
    // The wait has ended because a glean failed. If the status is ok, a later glean has succeeded
    // since, but its snapshot may not cover `epoch`: the next round checks that, and waits on.
    if (!status.is_ok()) return status;
  }
}

Status Snapshots::not_covered(Epoch epoch) const {
  const Status failed = trouble();
  return Status::error(ErrorCode::kTimeout,
                       "no snapshot covers epoch " + std::to_string(epoch.number()) +
                           " yet; the newest covers epoch " + std::to_string(covered().number()) +
                           (failed.is_ok() ? "" : "; the last glean failed: " + failed.message()));
}

const ReadableSnapshot* Snapshots::pin_newest() {
  const std::lock_guard lock(mutex_);
  if (kept_.empty()) return nullptr;
  pins_.push_back(kept_.back().get());
  return pins_.back();
}

void Snapshots::unpin(const ReadableSnapshot* snapshot) {
  const std::lock_guard lock(mutex_);
  const auto pin = std::find(pins_.begin(), pins_.end(), snapshot);
  FOEDUS_INVARIANT(pin != pins_.end(), pins_.size());
  pins_.erase(pin);
}

std::vector<SnapshotInfo> Snapshots::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<SnapshotInfo> infos;
  for (const auto& one : kept_) {
    SnapshotInfo info;
    info.number = static_cast<std::uint32_t>(one->number());
    info.covered = one->covered();
    for (const snapshot::ManifestFile& file : one->manifest().files) {
      info.pages += file.pages;
      info.live_pages += file.live_pages;
    }
    infos.push_back(info);
  }
  return infos;
}

// ---- gleaner ---------------------------------------------------------------------------------

void Snapshots::publish(snapshot::Manifest manifest) {
  {
    const std::lock_guard lock(mutex_);
    if (!kept_.empty()) {
      const ReadableSnapshot& newest = *kept_.back();
      FOEDUS_INVARIANT(newest.number() < manifest.number, word_of(manifest.number));
      FOEDUS_INVARIANT(newest.covered() <= manifest.covered, manifest.covered.number());
    }
    const Epoch covered = manifest.covered;
    auto readable = std::make_unique<const ReadableSnapshot>(std::move(manifest));
    base::reserve_more(&kept_, 1);
    std::unique_ptr<List> list = new_list_locked(kept_.size() + 1);
    kept_.push_back(std::move(readable));
    set_list_locked(std::move(list));
    has_more_ = true;
    trouble_ = {};
    // order: release, pairs with covered(): a thread that sees the epoch finds the snapshot in the
    // list.
    covered_.store_release(covered.number());
  }
  runtime_->wake(&published_);
}

// Returns an empty list with capacity for `count` snapshots. Also reserves capacity in old_lists_,
// so that set_list_locked() cannot fail.
std::unique_ptr<Snapshots::List> Snapshots::new_list_locked(std::size_t count) {
  auto list = std::make_unique<List>();
  list->kept.reserve(count);
  base::reserve_more(&old_lists_, 1);
  return list;
}

void Snapshots::set_list_locked(std::unique_ptr<List> list) {
  for (const auto& one : kept_) list->kept.push_back(one.get());
  list_.store_release(list.get());  // order: release, pairs with choose(): the list is complete
  old_lists_.push_back(std::exchange(newest_list_, std::move(list)));
}

bool Snapshots::Readers::read(page::SnapshotNumber number) const {
  return std::find(numbers.begin(), numbers.end(), word_of(number)) != numbers.end();
}

// Reads the words of all sessions: expire()'s half of E52. REQUIRES: the snapshots whose readers
// are looked for are not in list_ any more.
Snapshots::Readers Snapshots::look_at_readers() const {
  Readers readers;
  base::fence_seq_cst();  // order: E52
  for (std::uint32_t i = 0; i < sessions_max_; ++i) {
    // order: acquire, pairs with the stores of leave(), choose() and enter(): the session's reads
    // before its store, of pages or of the list, are over.
    const std::uint64_t reading = slots_[i].reading.load_acquire();
    if (reading == kChoosing) {
      readers.are_choosing = true;
    } else if (reading != kNothing) {
      readers.numbers.push_back(reading);
    }
  }
  return readers;
}

// Keeps the newest `kept_max` snapshots, and passes over the others. If several snapshots cover the
// same epoch, keeps only the newest of them: they have the same records, in other files.
void Snapshots::pass_over_locked(std::uint32_t kept_max) {
  std::unique_ptr<List> list = new_list_locked(kept_.size());
  std::vector<std::unique_ptr<const ReadableSnapshot>> kept;
  kept.reserve(kept_.size());
  base::reserve_more(&passed_over_, kept_.size());
  Epoch covered;
  for (auto one = kept_.rbegin(); one != kept_.rend(); ++one) {
    const bool is_kept = kept.size() < kept_max && (*one)->covered() != covered;
    covered = (*one)->covered();
    (is_kept ? kept : passed_over_).push_back(std::move(*one));
  }
  std::reverse(kept.begin(), kept.end());
  std::sort(passed_over_.begin(), passed_over_.end(),
            [](const auto& left, const auto& right) { return left->number() < right->number(); });
  kept_ = std::move(kept);
  set_list_locked(std::move(list));
  has_more_ = false;
}

std::vector<page::SnapshotNumber> Snapshots::expire() {
  const std::lock_guard lock(mutex_);
  if (has_more_) pass_over_locked(kept_max_);
  return expire_locked();
}

std::vector<page::SnapshotNumber> Snapshots::expire_all_but_newest() {
  const std::lock_guard lock(mutex_);
  pass_over_locked(1);
  return expire_locked();
}

std::vector<page::SnapshotNumber> Snapshots::expire_locked() {
  if (passed_over_.empty() && old_lists_.empty()) return {};
  FOEDUS_SYNC_POINT("snapshots:passed_over");
  const Readers readers = look_at_readers();
  std::vector<page::SnapshotNumber> expired;
  expired.reserve(passed_over_.size());
  if (readers.are_choosing) return expired;
  old_lists_.clear();
  std::erase_if(passed_over_, [&](const std::unique_ptr<const ReadableSnapshot>& one) {
    const bool is_pinned = std::find(pins_.begin(), pins_.end(), one.get()) != pins_.end();
    const bool is_over = !is_pinned && !readers.read(one->number());
    if (is_over) expired.push_back(one->number());
    return is_over;
  });
  return expired;
}

page::SnapshotNumber Snapshots::newest() const {
  const std::lock_guard lock(mutex_);
  return kept_.empty() ? page::SnapshotNumber{} : kept_.back()->number();
}

std::vector<page::SnapshotNumber> Snapshots::in_use() const {
  const std::lock_guard lock(mutex_);
  std::vector<page::SnapshotNumber> numbers;
  for (const auto& one : passed_over_) numbers.push_back(one->number());
  for (const auto& one : kept_) numbers.push_back(one->number());
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

void Snapshots::set_gleaner(base::Task* gleaner) {
  const std::lock_guard lock(mutex_);
  gleaner_ = gleaner;
}

void Snapshots::set_trouble(const Status& trouble) {
  {
    const std::lock_guard lock(mutex_);
    trouble_ = trouble;
    // order: relaxed load, the word is changed under the mutex only. Release, pairs with
    // wait_covered(), which then finds trouble_ under the mutex.
    if (!trouble.is_ok()) troubles_.store_release(troubles_.load_relaxed() + 1);
  }
  runtime_->wake(&published_);
}

void Snapshots::end() {
  has_ended_.store_release(1);  // order: release, pairs with wait_covered()
  runtime_->wake(&published_);
}

Status Snapshots::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

}  // namespace foedus::engine
