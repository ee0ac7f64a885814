#pragma once
// SessionMemory: the part of Options::memory_bytes that log buffers of sessions and the sets of
// their transactions may take.
//
//     set aside at open ──► sessions ◄── bound of volatile pages, while they have not grown into it
//
//   E35 A log buffer begins with kFirstRingBytes and grows as it is used. It grows for speed alone
//       only while all sessions together have taken no more than half of the bytes set aside. So a
//       transaction that cannot go on without a large log buffer finds the other half free.

#include <cstdint>
#include <mutex>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/memory_budget.h"
#include "foedus-core/base/memory_source.h"
#include "foedus-core/page/page_pool.h"

namespace foedus::engine {

class SessionMemory final : public base::MemorySource {
 public:
  static constexpr std::uint64_t kFirstRingBytes = 64u << 10;

  // Takes `set_aside` bytes of `budget` for sessions alone. Sessions that need more take it off the
  // bound of `pool`, which never falls below `page_bytes_left`.
  SessionMemory(base::MemoryBudget* budget, page::PagePool* pool, std::uint64_t set_aside,
                std::uint64_t page_bytes_left);

  bool try_take(std::uint64_t bytes) override;
  void give_back(std::uint64_t bytes) noexcept override;
  // Takes `bytes` that a session wants for speed alone. Returns false, and takes nothing, if all
  // sessions would then have more than half of the bytes set aside (E35).
  bool try_take_spare(std::uint64_t bytes);

  // Lowers the bound of volatile pages by `bytes`, for a use other than sessions, until
  // return_borrowed(). Returns false, and changes nothing, if the page pool has committed some of
  // these bytes, or if the bound would fall below the constructor's `page_bytes_left`.
  bool try_borrow(std::uint64_t bytes);
  void return_borrowed(std::uint64_t bytes) noexcept;

  std::uint64_t taken() const { return taken_.load_relaxed(); }  // order: relaxed, a statistic
  std::uint64_t set_aside() const { return set_aside_; }

 private:
  bool try_take_left(std::uint64_t bytes);
  bool try_take_off_pages(std::uint64_t bytes);
  void give_to_pages(std::uint64_t bytes) noexcept;
  void return_to_pages();

  base::MemoryBudget* const budget_;
  page::PagePool* const pool_;
  const std::uint64_t set_aside_;
  const std::uint64_t page_bytes_left_;

  // Own synchronization.
  alignas(64) base::AtomicWord<std::uint64_t> left_;
  base::AtomicWord<std::uint64_t> taken_;
  std::mutex more_mutex_;
  // Guarded by more_mutex_: bytes that sessions took off the bound of volatile pages.
  std::uint64_t more_ = 0;
};

}  // namespace foedus::engine
