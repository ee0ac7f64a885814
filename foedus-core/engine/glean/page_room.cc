#include "foedus-core/engine/glean/page_room.h"

#include <algorithm>

namespace foedus::engine {

namespace {

constexpr std::uint64_t kLentWaitUs = 100'000;  // longest wait for pages that the cache borrows
constexpr std::uint64_t kLentLookUs = 200;
// Longest waits for dropped pages: the first if an older transaction may still look at them, the
// second if there is no such transaction, and only threads without a processor delay the epoch.
constexpr std::uint64_t kRoomWaitUs = 200'000;
constexpr std::uint64_t kRoomWaitMaxUs = 5'000'000;
constexpr std::uint64_t kRoomLookUs = 500;
constexpr std::uint64_t kRoomPart = 16;  // it is enough if 1/16 of all pages is free

}  // namespace

// Calls in the pages that the cache has borrowed, which takes an epoch or two (K14): all of them,
// because a large transaction needs more pages than its last try got. Returns whether any came
// back.
bool PageRoom::call_in_lent() {
  page::PagePool& pool = *parts_.pool;
  const std::uint64_t begin_us = parts_.runtime->now_us();
  bool is_room = false;
  while (pool.pages_lent() != 0 && parts_.runtime->now_us() - begin_us < kLentWaitUs) {
    if (pool.call_in(0, page::PagePool::kBatchPages) != 0) {
      is_room = true;
    } else {
      parts_.runtime->pause(kLentLookUs);
    }
  }
  return is_room;
}

bool PageRoom::make() {
  if (call_in_lent()) return true;
  const page::PagePool& pool = *parts_.pool;
  const std::uint64_t before = pool.pages_in_use();
  if (!parts_.scheduler->glean({}).is_ok()) return false;
  // An earlier glean may have made pages free before `before` was read, and this glean none. So it
  // is also enough that more than a sixteenth of all pages is free.
  const auto is_room = [&] {
    const std::uint64_t pages_max = pool.bytes_max() / page::kPageBytes;
    return pool.pages_in_use() < std::max(before, pages_max - pages_max / kRoomPart);
  };
  const std::uint64_t begin_us = parts_.runtime->now_us();
  while (!is_room()) {
    const std::uint64_t waited_us = parts_.runtime->now_us() - begin_us;
    if (waited_us >= kRoomWaitMaxUs) return false;
    if (waited_us >= kRoomWaitUs && is_kept_waiting(waited_us)) return false;
    parts_.clock->request_advance(parts_.clock->current());
    parts_.scheduler->nudge();
    parts_.runtime->pause(kRoomLookUs);
  }
  return true;
}

// Returns whether a transaction has been open for longer than `waited_us`. It may look at dropped
// pages, which are not free before it ends: longer waiting is in vain. Sessions whose threads wait
// here do not count: between two tries of transact() a session has no open transaction.
bool PageRoom::is_kept_waiting(std::uint64_t waited_us) const {
  const std::uint64_t now_us = parts_.runtime->now_us();
  bool is_kept = false;
  parts_.sessions->for_each([&](EngineSession& session) {
    const SessionSlot& slot = session.slot();
    // order: relaxed twice: a transaction that begins or ends meanwhile is seen at the next look.
    if (!occ::TxnTurn::is_open(slot.turn.load_relaxed())) return;
    is_kept |= slot.since_us.load_relaxed() + waited_us < now_us;
  });
  return is_kept;
}

}  // namespace foedus::engine
