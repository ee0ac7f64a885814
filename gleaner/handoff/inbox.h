#pragma once
// Inbox: where a reducer receives blocks (paper §7.3). Mappers write one half of its memory while
// the reducer reads the other.
//
//   open ──reserve() finds no room──► sealed ──all announced──► complete ──take()──► the reducer's
//    ▲                                                                                    │
//    └────────── take() of the other half opens this one, which was read by then ◄────────┘
//
//   G11  A mapper reserves, fills, announces; several mappers do so side by side. One word holds
//        which half is open, how much of it is reserved and how much announced. A half is complete
//        exactly if it is sealed and both numbers are equal, and one load tells. A mapper with a
//        block that is not announced waits for no room, here or in another inbox. It checks from
//        time to time whether its half is sealed, because the reducer then waits for the block.
//   G12  Once all writers have ended, the open half is sealed for good: it is the last. It stays in
//        memory, and the reducer may use the other half for anything.
//   G13  After fail() no mapper waits: reserve() returns kClosed. The reducer's own status says
//        why.

#include <cstdint>
#include <optional>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/system/task.h"
#include "foedus/status.h"
#include "gleaner/handoff/block.h"

namespace foedus::gleaner {

class Inbox {
 public:
  static constexpr std::uint64_t kUnitBytes = BlockHeader::kAlignment;
  static constexpr std::uint64_t kHalfBytesMax = (std::uint64_t{1} << 30) * kUnitBytes - kUnitBytes;

  // `memory`: at a multiple of 64, outlives the inbox. `writers`: number of mappers; each calls
  // end_writer().
  // REQUIRES: bytes within 2 * kUnitBytes .. 2 * kHalfBytesMax.
  Inbox(base::Runtime* runtime, char* memory, std::uint64_t bytes, std::uint32_t writers);
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  // Returns the size in bytes of the largest block that can be reserved.
  std::uint64_t half_bytes() const { return half_bytes_; }
  // Returns the size in bytes of the blocks that a mapper fills. The rest of a sealed half is
  // wasted, and so is the rest of a block that is announced early. So each mapper has several
  // blocks in a half.
  std::uint64_t block_bytes() const { return block_bytes_; }
  const char* memory() const { return memory_; }

  // ---- mappers, any thread -------------------------------------------------------------------

  // Reserves a block of `bytes` bytes, at a multiple of 64, which the caller announces later (G11).
  // Null: there is no room yet. kTooLarge: `bytes` is more than half_bytes(). kClosed: the reducer
  // has failed.
  Result<char*> try_reserve(std::uint64_t bytes);
  // Reserves a block like try_reserve(), but waits until there is room.
  Result<char*> reserve(std::uint64_t bytes);
  // Returns true if the current half takes no more blocks. The reducer then waits for the blocks in
  // it that are not announced yet.
  bool is_sealed() const;
  // Announces that a block is whole. `bytes`: as they were reserved.
  void announce(std::uint64_t bytes);
  // Ends a writer, which reserves nothing more. Each mapper calls it once.
  void end_writer();

  // ---- the reducer ---------------------------------------------------------------------------

  struct Half {
    char* begin;
    std::uint64_t bytes;  // length of the blocks, which lie one after another
    char* other;          // of the last half: half_bytes() that no mapper uses any more
    bool is_last;
  };
  // Sets the task that is notified when a half is complete, and when the middle of one is reserved.
  // REQUIRES: called before the first reserve().
  void set_consumer(base::Task* consumer) { consumer_ = consumer; }
  // Returns the half that is complete, if one is, and opens the other one unless this is the last.
  // REQUIRES: the reducer no longer reads the half that take() returned before; the last was not
  // taken yet.
  std::optional<Half> take();
  // How full the half is that take() gives next.
  enum class Fill : std::uint8_t {
    kLittle,  // less than half, or announcements of the last half are missing
    kMuch,    // mappers may have to wait soon
    kLast,    // take() would give it now, and it is the last half
  };
  Fill fill() const;
  void fail();

 private:
  static bool is_complete(std::uint64_t word);
  // Adds to the word, or sets bits of it, and notifies the consumer if that completed the half.
  void change(std::uint64_t added, std::uint64_t set);

  // Constant after set_consumer().
  base::Runtime* const runtime_;
  char* const memory_;
  const std::uint64_t half_bytes_;
  const std::uint64_t block_bytes_;
  base::Task* consumer_ = nullptr;

  // Own synchronization, on cache lines of its own because all mappers write it.
  alignas(64) base::AtomicWord<std::uint64_t> word_;
  base::AtomicWord<std::uint64_t> writers_left_;
  base::WaitPoint room_;
};

}  // namespace foedus::gleaner
