#include "gleaner/handoff/inbox.h"

#include <algorithm>
#include <string>

#include "foedus-core/base/invariant.h"

namespace foedus::gleaner {

namespace {

// The word: announced units in bits 0..29, reserved units in 30..59, flags above.
constexpr unsigned kCountBits = 30;
constexpr std::uint64_t kCountMask = (std::uint64_t{1} << kCountBits) - 1;
constexpr std::uint64_t kSecondHalf = std::uint64_t{1} << 60;
constexpr std::uint64_t kSealed = std::uint64_t{1} << 61;
constexpr std::uint64_t kLast = std::uint64_t{1} << 62;
constexpr std::uint64_t kFailed = std::uint64_t{1} << 63;

std::uint64_t announced_of(std::uint64_t word) { return word & kCountMask; }
std::uint64_t reserved_of(std::uint64_t word) { return (word >> kCountBits) & kCountMask; }
std::uint64_t units_of(std::uint64_t bytes) {
  return (bytes + Inbox::kUnitBytes - 1) / Inbox::kUnitBytes;
}

constexpr std::uint64_t kBlocksPerHalf = 16;  // for each mapper
constexpr std::uint64_t kBlockBytesMin = 512;
constexpr std::uint64_t kBlockBytesMax = 256u << 10;

std::uint64_t block_bytes_for(std::uint64_t half_bytes, std::uint32_t writers) {
  const std::uint64_t share = half_bytes / kBlocksPerHalf / writers;
  const std::uint64_t bytes = std::clamp(share, kBlockBytesMin, kBlockBytesMax);
  return std::min(bytes, half_bytes) / Inbox::kUnitBytes * Inbox::kUnitBytes;
}

}  // namespace

Inbox::Inbox(base::Runtime* runtime, char* memory, std::uint64_t bytes, std::uint32_t writers)
    : runtime_(runtime),
      memory_(memory),
      half_bytes_(bytes / 2 / kUnitBytes * kUnitBytes),
      block_bytes_(block_bytes_for(half_bytes_, writers)),
      writers_left_(writers) {
  FOEDUS_INVARIANT(reinterpret_cast<std::uintptr_t>(memory) % kUnitBytes == 0, memory);
  FOEDUS_INVARIANT(half_bytes_ != 0, bytes);
  FOEDUS_INVARIANT(half_bytes_ <= kHalfBytesMax, bytes);
  FOEDUS_INVARIANT(writers != 0);
}

bool Inbox::is_complete(std::uint64_t word) {
  return (word & kSealed) != 0 && reserved_of(word) == announced_of(word);
}

Result<char*> Inbox::reserve(std::uint64_t bytes) {
  for (;;) {
    FOEDUS_TRY(char* const to, try_reserve(bytes));
    if (to != nullptr) return to;
    runtime_->wait(&room_, base::Runtime::kForever, [this] {
      // order: acquire, as in try_reserve(), which looks again.
      const std::uint64_t now = word_.load_acquire();
      return (now & kSealed) == 0 || (now & kFailed) != 0;
    });
  }
}

Result<char*> Inbox::try_reserve(std::uint64_t bytes) {
  const std::uint64_t units = units_of(bytes);
  if (units * kUnitBytes > half_bytes_) {
    return Status::error(ErrorCode::kTooLarge,
                         "a block of " + std::to_string(bytes) + " bytes for a reducer with room "
                         "for " + std::to_string(half_bytes_) + ": give reducers more memory");
  }
  for (;;) {
    // order: acquire, pairs with take(): the reducer has read what was in this half before.
    std::uint64_t word = word_.load_acquire();
    if ((word & kFailed) != 0) return ErrorCode::kClosed;
    if ((word & kSealed) != 0) return static_cast<char*>(nullptr);
    const std::uint64_t begin = reserved_of(word);
    if ((begin + units) * kUnitBytes > half_bytes_) {
      // order: release and acquire as in change(). It seals the half that was seen, or nothing.
      const std::uint64_t sealed = word | kSealed;
      if (word_.compare_exchange_acq_rel(word, sealed) && is_complete(sealed)) {
        runtime_->notify(consumer_);
      }
      continue;
    }
    // order: the exchange decides between mappers, acquire pairs with take().
    if (!word_.compare_exchange_acq_rel(word, word + (units << kCountBits))) continue;
    const std::uint64_t middle = half_bytes_ / kUnitBytes / 2;
    if (begin < middle && begin + units >= middle) runtime_->notify(consumer_);
    return memory_ + ((word & kSecondHalf) != 0 ? half_bytes_ : 0) + begin * kUnitBytes;
  }
}

// order: relaxed, a hint that callers ask for again; their next steps go through the word.
bool Inbox::is_sealed() const { return (word_.load_relaxed() & kSealed) != 0; }

void Inbox::announce(std::uint64_t bytes) { change(units_of(bytes), 0); }

void Inbox::end_writer() {
  // order: relaxed, a guess that the exchange checks.
  std::uint64_t left = writers_left_.load_relaxed();
  do {
    FOEDUS_INVARIANT(left != 0);
    // order: the exchange decides which writer is the last. The announcements are in the other
    // word, where the last writer's change() comes after all of them in the word's order.
  } while (!writers_left_.compare_exchange_acq_rel(left, left - 1));
  if (left == 1) change(0, kSealed | kLast);
}

void Inbox::change(std::uint64_t added, std::uint64_t set) {
  // order: relaxed, a guess that the exchange checks.
  std::uint64_t word = word_.load_relaxed();
  std::uint64_t changed;
  do {
    changed = (word + added) | set;
    FOEDUS_INVARIANT(announced_of(changed) <= reserved_of(changed), word, added);
    // order: release, pairs with take(): the bytes of the block are there when they are announced.
  } while (!word_.compare_exchange_acq_rel(word, changed));
  if (is_complete(changed)) runtime_->notify(consumer_);
}

std::optional<Inbox::Half> Inbox::take() {
  // order: acquire, pairs with change(): all announced blocks are whole.
  std::uint64_t word = word_.load_acquire();
  for (;;) {
    if (!is_complete(word)) return std::nullopt;
    const bool is_second = (word & kSecondHalf) != 0;
    char* const first = memory_;
    char* const second = memory_ + half_bytes_;
    const Half half{is_second ? second : first, reserved_of(word) * kUnitBytes,
                    is_second ? first : second, (word & kLast) != 0};
    if (half.is_last) return half;
    // order: release, pairs with try_reserve(): this thread has read the half that opens now. The
    // exchange fails if the last writer ends meanwhile.
    if (word_.compare_exchange_acq_rel(word, is_second ? 0 : kSecondHalf)) {
      runtime_->wake(&room_);
      return half;
    }
  }
}

// The consumer is notified of each change to a fuller state: by try_reserve() at the middle, and by
// the last announcement at the end.
Inbox::Fill Inbox::fill() const {
  // order: acquire, as in take(), though only Fill::kLast says that the blocks are whole.
  const std::uint64_t word = word_.load_acquire();
  if ((word & kLast) != 0) return is_complete(word) ? Fill::kLast : Fill::kLittle;
  const bool is_much =
      (word & kSealed) != 0 || reserved_of(word) >= half_bytes_ / kUnitBytes / 2;
  return is_much ? Fill::kMuch : Fill::kLittle;
}

void Inbox::fail() {
  // order: release, though only the flag itself is looked at.
  word_.fetch_or_release(kFailed);
  runtime_->wake(&room_);
}

}  // namespace foedus::gleaner
