#pragma once
// Inbox: where a reducer receives blocks (paper §7.3): two halves of its memory, of which one is
// written by mappers while the reducer reads the other.
//
//   open ──reserve() finds no room──► sealed ──all announced──► complete ──take()──► the reducer's
//    ▲                                                                                    │
//    └────────── take() of the other half opens this one, which nobody reads any more ◄───┘
//
//   G11  A mapper reserves, fills, announces; several mappers do so side by side. All of it is one
//        word: which half is open, how much of it is reserved and how much announced. So a half is
//        complete exactly if it is sealed and both numbers are equal, and one load says so. Who has
//        a block that is not announced waits for no room, here or in another inbox, and looks now
//        and then whether its half is sealed: then somebody waits for it.
//   G12  Once all writers have ended, the half that is open is sealed for good: the last one. It
//        stays in memory, and the other half is the reducer's for whatever it wants.
//   G13  After fail() nobody waits: reserve() is kClosed. The reducer's own status says why.

#include <cstdint>
#include <optional>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/task.h"
#include "foedus/status.h"
#include "gleaner/handoff/block.h"

namespace foedus::gleaner {

class Inbox {
 public:
  static constexpr std::uint64_t kUnitBytes = BlockHeader::kAlignment;
  static constexpr std::uint64_t kHalfBytesMax = (std::uint64_t{1} << 30) * kUnitBytes - kUnitBytes;

  // `memory`: at a multiple of 64, outlives the inbox. `writers`: mappers that will end_writer().
  // REQUIRES: bytes within 2 * kUnitBytes .. 2 * kHalfBytesMax.
  Inbox(base::Runtime* runtime, char* memory, std::uint64_t bytes, std::uint32_t writers);
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  // The largest block that can be reserved.
  std::uint64_t half_bytes() const { return half_bytes_; }
  // How large a block is that a mapper fills: what is left of a half that is sealed, and of a block
  // that is announced early, is wasted, so there are some of them in a half for each mapper.
  std::uint64_t block_bytes() const { return block_bytes_; }
  const char* memory() const { return memory_; }

  // ---- mappers, any thread -------------------------------------------------------------------

  // Room for a block of `bytes` bytes, at a multiple of 64; null: there is none yet. Whoever has it
  // announces it (G11). kTooLarge: more than half_bytes(). kClosed: the reducer has failed.
  Result<char*> try_reserve(std::uint64_t bytes);
  // The same, but waits until there is some.
  Result<char*> reserve(std::uint64_t bytes);
  // The half that is open, or was last, takes no more blocks: those that are not announced yet are
  // waited for.
  bool is_sealed() const;
  // The block of so many bytes, as they were reserved, is whole now.
  void announce(std::uint64_t bytes);
  // This mapper reserves nothing more. Once for each writer.
  void end_writer();

  // ---- the reducer ---------------------------------------------------------------------------

  struct Half {
    char* begin;
    std::uint64_t bytes;  // blocks, one behind the other
    char* other;          // of the last half: half_bytes() that nobody else uses any more
    bool is_last;
  };
  // Told when a half is complete, and when half of one is reserved. Before the first reserve().
  void set_consumer(base::Task* consumer) { consumer_ = consumer; }
  // The half that is complete, if one is; opens the other one unless this is the last.
  // REQUIRES: what take() returned before is not read any more; not called after the last.
  std::optional<Half> take();
  // What mappers have of the half that take() gives next.
  enum class Fill : std::uint8_t {
    kLittle,  // less than half of it, or all but the last announcements of the last half
    kMuch,    // mappers may have to wait soon
    kLast,    // take() gives it now, and it is the last one
  };
  Fill fill() const;
  void fail();

 private:
  static bool is_complete(std::uint64_t word);
  // Adds to the word, or sets bits of it, and tells the consumer if that completed the half.
  void change(std::uint64_t added, std::uint64_t set);

  // Constant after set_consumer().
  base::Runtime* const runtime_;
  char* const memory_;
  const std::uint64_t half_bytes_;
  const std::uint64_t block_bytes_;
  base::Task* consumer_ = nullptr;

  // Own synchronization. Lines of their own: all mappers write them.
  alignas(64) base::AtomicWord<std::uint64_t> word_;
  base::AtomicWord<std::uint64_t> writers_left_;
  base::WaitPoint room_;
};

}  // namespace foedus::gleaner
