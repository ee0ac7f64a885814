#pragma once
// InsertSequence: hands out the ids of new rows, and tells up to which id all are committed, so
// that readers of the latest rows never ask for one that is not there yet.
//
//   draw() ──insert commits──► acknowledge()          newest_end() = end of the part without gaps
//
// Word            written by          read by          meaning
// drawn_          draw()              draw()           next id
// flags_[i % n]   acknowledge()       who advances     id i is committed (holds i + 1)
// end_            one who advances    anybody          all ids below are committed

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

namespace experiments {

class InsertSequence {
 public:
  // Ids below `first` are committed already.
  explicit InsertSequence(std::uint64_t first)
      : drawn_(first), end_(first), flags_(new std::atomic<std::uint64_t>[kWindow]()) {}

  // The caller must insert and acknowledge it; acknowledge it, too, if the insert failed and the
  // run ends, or others wait forever: a session that was put aside holds back at most a window of
  // ids.
  std::uint64_t draw() {
    const std::uint64_t id = drawn_.fetch_add(1, std::memory_order_relaxed);
    // order: acquire pairs with the release in advance(): the flag of id - kWindow was read before
    // acknowledge() of this id overwrites it.
    while (id - end_.load(std::memory_order_acquire) >= kWindow) std::this_thread::yield();
    return id;
  }

  void acknowledge(std::uint64_t id) {
    // order: sequentially consistent, here and in advance(): of two that acknowledge neighbours at
    // the same time, at least one sees the other's flag after it got or missed the lock.
    flags_[id % kWindow].store(id + 1);
    while (flags_[end_.load() % kWindow].load() == end_.load() + 1) {
      if (!advance()) return;
    }
  }

  // One more than the newest id of which all before it are committed.
  std::uint64_t newest_end() const { return end_.load(std::memory_order_acquire); }

 private:
  static constexpr std::uint64_t kWindow = 1u << 16;

  // False if another is at it: it looks again after its last step.
  bool advance() {
    if (is_advancing_.exchange(true)) return false;
    std::uint64_t end = end_.load();
    while (flags_[end % kWindow].load() == end + 1) ++end;
    end_.store(end);
    is_advancing_.store(false);
    return true;
  }

  alignas(64) std::atomic<std::uint64_t> drawn_;
  alignas(64) std::atomic<std::uint64_t> end_;
  std::atomic<bool> is_advancing_{false};
  const std::unique_ptr<std::atomic<std::uint64_t>[]> flags_;
};

}  // namespace experiments
