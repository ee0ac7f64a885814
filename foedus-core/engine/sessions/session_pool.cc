#include "foedus-core/engine/sessions/session_pool.h"

#include <algorithm>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/line_allocator.h"
#include "foedus-core/base/system/sync_point.h"

namespace foedus::engine {

namespace {

Status closed() { return Status::error(ErrorCode::kClosed, "the database was closed"); }

}  // namespace

SessionPool::SessionPool(const Parts& parts)
    : parts_(parts), socs_(parts.topology->socs()), sessions_of_soc_(socs_) {}

SessionPool::Hint* SessionPool::hints_of_thread() {
  static thread_local constinit Hint hints[kHints];
  return hints;
}

// Makes `session` the hint of the calling thread, which has claimed it and runs on one of the SOCs
// `here`.
void SessionPool::remember(EngineSession* session, numa::SocRange here) const {
  EngineSession* const last = last_of_thread();
  if (last != nullptr) session->context().follow_session(last->context());  // E48
  hints_of_thread()[parts_.database % kHints] = {parts_.database, session, here.begin};
}

// ---- claims

// Returns the SOCs of the processor that the calling thread runs on.
numa::SocRange SessionPool::socs_here() const {
  if (socs_ == 1) return all_socs();
  return parts_.topology->socs_of(parts_.runtime->processor());
}

// Changes a free session of `socs` to state `to` and returns it; null: none is free. REQUIRES:
// mutex_ is held.
EngineSession* SessionPool::claim_free_locked(SessionState to, numa::SocRange socs) {
  for (std::uint32_t soc = socs.begin; soc < socs.end; ++soc) {
    for (EngineSession* const session : sessions_of_soc_[soc]) {
      if (session->slot().try_change(SessionState::kFree, to)) return session;
    }
  }
  return nullptr;
}

// Makes a session, in state kHeld, on the SOC of `here` that has the fewest sessions (E34).
// REQUIRES: mutex_ is held.
Result<EngineSession*> SessionPool::make_locked(numa::SocRange here) {
  if (sessions_.size() >= parts_.sessions_max) {
    return Status::error(ErrorCode::kTooLarge,
                         "all of sessions_max (" + std::to_string(parts_.sessions_max) +
                             ") sessions are in use; use fewer sessions, or raise sessions_max");
  }
  std::uint32_t soc = here.begin;
  for (std::uint32_t other = here.begin; other < here.end; ++other) {
    if (sessions_of_soc_[other].size() < sessions_of_soc_[soc].size()) soc = other;
  }
  // Reserves all memory before make_user(): a session that is attached to the log must be kept.
  base::reserve_more(&sessions_, 1);
  base::reserve_more(&sessions_of_soc_[soc], 1);
  FOEDUS_TRY(auto session,
             parts_.factory->make_user(static_cast<std::uint32_t>(sessions_.size()), soc,
                                       static_cast<std::uint32_t>(sessions_of_soc_[soc].size())));
  sessions_of_soc_[soc].push_back(session.get());
  sessions_.push_back(std::move(session));
  return sessions_.back().get();
}

// Claims a free session of `here`, or makes one there for transact() and claims it. REQUIRES:
// mutex_ is held.
Result<EngineSession*> SessionPool::claim_locked(numa::SocRange here) {
  if (is_closed_) return closed();
  EngineSession* const free = claim_free_locked(SessionState::kBusy, here);
  if (free != nullptr) return free;
  if (made_on_demand_ >= parts_.on_demand) {
    return Status::error(ErrorCode::kTooLarge,
                         std::to_string(sessions_.size()) + " sessions are in use, " +
                             std::to_string(parts_.on_demand) +
                             " of them for transact(), as many as memory_bytes allows");
  }
  FOEDUS_TRY(EngineSession* const made, make_locked(here));
  ++made_on_demand_;
  const bool is_claimed = made->slot().try_change(SessionState::kHeld, SessionState::kBusy);
  FOEDUS_INVARIANT(is_claimed);
  return made;
}

Result<EngineSession*> SessionPool::claim_another(std::uint64_t timeout_us) {
  const numa::SocRange here = socs_here();
  Status why;
  bool may_wait = false;
  {
    const std::lock_guard lock(mutex_);
    Result<EngineSession*> claimed = claim_locked(here);
    if (claimed.is_ok()) {
      remember(*claimed, here);
      return claimed;
    }
    why = claimed.status();
    const bool is_for_now =
        why.code() == ErrorCode::kTooLarge || why.code() == ErrorCode::kOutOfMemory;
    may_wait = is_for_now && !sessions_.empty();
  }
  if (!may_wait) return why;
  FOEDUS_TRY(EngineSession* const claimed, wait_for_one(timeout_us, why));
  remember(claimed, here);
  return claimed;
}

// Waits up to `timeout_us` for a session of any SOC (E45), and claims it. `why`: the reason for
// which no other session can be made, for the text of the error.
Result<EngineSession*> SessionPool::wait_for_one(std::uint64_t timeout_us, const Status& why) {
  base::Runtime& runtime = *parts_.runtime;
  const std::uint64_t begin_us = runtime.now_us();
  Waiter self;
  {
    const std::lock_guard lock(mutex_);
    waiters_.push_back(&self);
    waiting_.store_relaxed(static_cast<std::uint32_t>(waiters_.size()));  // order: E33
  }
  const auto leave_locked = [&] {
    std::erase(waiters_, &self);
    waiting_.store_relaxed(static_cast<std::uint32_t>(waiters_.size()));  // order: E33
  };
  for (;;) {
    const std::uint64_t spent_us = runtime.now_us() - begin_us;
    {
      const std::lock_guard lock(mutex_);
      // order: acquire, pairs with hand_over(): this thread sees what the session's last user
      // wrote.
      EngineSession* session = self.given.load_acquire();
      if (session != nullptr) return session;
      if (!is_closed_) session = claim_free_locked(SessionState::kBusy, all_socs());
      if (is_closed_ || session != nullptr) {
        leave_locked();
        return session == nullptr ? Result<EngineSession*>(closed()) : session;
      }
      if (spent_us >= timeout_us) leave_locked();
    }
    if (spent_us >= timeout_us) return no_session(timeout_us, why);
    FOEDUS_SYNC_POINT("session_pool:wait");
    runtime.wait(&self.point, std::min(timeout_us - spent_us, kLookAgainUs),
                 [&] { return self.given.load_acquire() != nullptr; });  // order: acquire, as above
  }
}

Status SessionPool::no_session(std::uint64_t timeout_us, const Status& why) const {
  std::string text = "no session became free within " + std::to_string(timeout_us / 1000) + " ms";
  const std::vector<OpenTransaction> open = open_transactions();
  if (!open.empty()) text += "; at work for the longest is " + describe(open.front());
  return Status::error(ErrorCode::kTimeout, text + "; there is no other one: " + why.message());
}

void SessionPool::hand_over(EngineSession* session) {
  const std::lock_guard lock(mutex_);
  if (waiters_.empty()) return session->slot().release(SessionState::kFree);
  Waiter* const first = waiters_.front();
  waiters_.pop_front();
  waiting_.store_relaxed(static_cast<std::uint32_t>(waiters_.size()));  // order: E33
  // order: release, pairs with wait_for_one(). The Waiter is on the stack of the waiting thread,
  // which takes mutex_ before it returns. So the Waiter exists until wake() has returned.
  first->given.store_release(session);
  parts_.runtime->wake(&first->point);
}

// ---- explicit sessions

Result<EngineSession*> SessionPool::take() {
  const numa::SocRange here = socs_here();
  const std::lock_guard lock(mutex_);
  if (is_closed_) return closed();
  EngineSession* free = claim_free_locked(SessionState::kHeld, here);
  if (free != nullptr) return free;
  Result<EngineSession*> made = make_locked(here);
  if (made.is_ok()) return made;
  free = claim_free_locked(SessionState::kHeld, all_socs());  // E45
  if (free != nullptr) return free;
  return made;
}

void SessionPool::give(EngineSession* session) {
  session->rollback();
  session->forget_retry();
  // If the database was closed, the slot stays kClosed. Otherwise the session is claimed here, or
  // was claimed already by its open transaction.
  if (session->slot().try_change(SessionState::kHeld, SessionState::kBusy) ||
      session->slot().state.load_relaxed() == SessionState::kBusy) {  // order: relaxed, own claim
    release(session);
  }
}

// ---- the database

std::vector<OpenTransaction> SessionPool::open_transactions() const {
  std::vector<OpenTransaction> open;
  const std::uint64_t now_us = parts_.runtime->now_us();
  const std::lock_guard lock(mutex_);
  for (const auto& session : sessions_) {
    const SessionSlot& slot = session->slot();
    // order: relaxed thrice, the result is a text for people.
    if (slot.state.load_relaxed() != SessionState::kBusy) continue;
    const std::uint64_t since_us = std::min(slot.since_us.load_relaxed(), now_us);
    open.push_back({session->context().session(), slot.thread.load_relaxed(), now_us - since_us});
  }
  std::sort(open.begin(), open.end(),
            [](const OpenTransaction& a, const OpenTransaction& b) { return a.age_us > b.age_us; });
  return open;
}

std::string SessionPool::describe(const OpenTransaction& transaction) {
  const std::uint64_t ms = transaction.age_us / 1000;
  const std::string age =
      ms < 10'000 ? std::to_string(ms) + " ms" : std::to_string(ms / 1000) + " s";
  return "session " + std::to_string(transaction.session) + ", thread " +
         std::to_string(transaction.thread) + ", for " + age;
}

Status SessionPool::close() {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<SessionSlot*, SessionState>> taken;
  taken.reserve(sessions_.size());
  bool is_busy = false;
  for (const auto& session : sessions_) {
    SessionSlot& slot = session->slot();
    if (slot.try_change(SessionState::kFree, SessionState::kClosed)) {
      taken.emplace_back(&slot, SessionState::kFree);
    } else if (slot.try_change(SessionState::kHeld, SessionState::kClosed)) {
      taken.emplace_back(&slot, SessionState::kHeld);
    } else {
      is_busy = true;
    }
  }
  if (!is_busy) {
    is_closed_ = true;
    return {};
  }
  for (const auto& [slot, state] : taken) slot->release(state);
  return ErrorCode::kBusy;
}

}  // namespace foedus::engine
