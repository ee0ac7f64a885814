#include "foedus-core/engine/setup/session_memory.h"

#include <algorithm>

#include "foedus-core/base/invariant.h"

namespace foedus::engine {

namespace {

// Least number of bytes that sessions take off the bound of volatile pages at a time.
constexpr std::uint64_t kPieceBytes = 1u << 20;

}  // namespace

SessionMemory::SessionMemory(base::MemoryBudget* budget, page::PagePool* pool,
                             std::uint64_t set_aside, std::uint64_t page_bytes_left)
    : budget_(budget), pool_(pool), set_aside_(set_aside), page_bytes_left_(page_bytes_left) {
  const bool is_room = budget_->try_take(set_aside);
  FOEDUS_INVARIANT(is_room, set_aside, budget_->remaining());  // E29: a share of memory_bytes
  left_.store_relaxed(set_aside);
}

bool SessionMemory::try_take_left(std::uint64_t bytes) {
  // order: relaxed, the exchange checks what was read; the word guards no other memory.
  std::uint64_t left = left_.load_relaxed();
  do {
    if (bytes > left) return false;
  } while (!left_.compare_exchange_acq_rel(left, left - bytes));
  taken_.fetch_add_relaxed(bytes);  // order: relaxed, a statistic
  return true;
}

// Lowers the bound of volatile pages by `bytes`, and takes these from the budget for the caller.
// Returns false if the page pool has committed some of them, or if the bound would fall below
// page_bytes_left_. REQUIRES: more_mutex_ is held, as for give_to_pages().
bool SessionMemory::try_take_off_pages(std::uint64_t bytes) {
  if (!pool_->try_give_up(bytes, page_bytes_left_)) return false;
  const bool is_room = budget_->try_take(bytes);
  FOEDUS_INVARIANT(is_room, bytes, budget_->remaining());  // E29: the pool gave them up
  return true;
}

void SessionMemory::give_to_pages(std::uint64_t bytes) noexcept {
  budget_->give_back(bytes);
  pool_->take_back(bytes);
}

bool SessionMemory::try_borrow(std::uint64_t bytes) {
  const std::lock_guard lock(more_mutex_);
  return try_take_off_pages(bytes);
}

void SessionMemory::return_borrowed(std::uint64_t bytes) noexcept {
  const std::lock_guard lock(more_mutex_);
  give_to_pages(bytes);
}

bool SessionMemory::try_take(std::uint64_t bytes) {
  if (try_take_left(bytes)) [[likely]]
    return true;
  const std::lock_guard lock(more_mutex_);
  while (!try_take_left(bytes)) {
    const std::uint64_t piece = std::max(bytes, kPieceBytes);
    if (!try_take_off_pages(piece)) return false;
    more_ += piece;
    left_.fetch_add_relaxed(piece);  // order: relaxed, only the sum matters
  }
  return true;
}

bool SessionMemory::try_take_spare(std::uint64_t bytes) {
  // order: relaxed, an estimate: two sessions that read it at the same time may together take a
  // little more than half.
  if (taken_.load_relaxed() + bytes > set_aside_ / 2) return false;
  return try_take_left(bytes);
}

void SessionMemory::give_back(std::uint64_t bytes) noexcept {
  left_.fetch_add_relaxed(bytes);                      // order: relaxed, only the sum matters
  taken_.fetch_add_relaxed(std::uint64_t{0} - bytes);  // order: relaxed, a statistic
  if (bytes >= kPieceBytes) return_to_pages();
}

// Gives free memory of sessions back to the bound of volatile pages, up to what was taken off it.
// Without this, one large transaction would lower the bound for good.
void SessionMemory::return_to_pages() {
  const std::lock_guard lock(more_mutex_);
  while (more_ >= kPieceBytes && try_take_left(kPieceBytes)) {
    taken_.fetch_add_relaxed(std::uint64_t{0} - kPieceBytes);  // order: relaxed, a statistic
    more_ -= kPieceBytes;
    give_to_pages(kPieceBytes);
  }
}

}  // namespace foedus::engine
