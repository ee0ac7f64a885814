// The reducer's inbox: gleaner/handoff/inbox.{h,cc} itself. Halves of two blocks; the bytes of a
// block are a plain variable.
#include "gleaner/handoff/inbox.cc"
#include "tests/models/harness/runtime.h"

namespace {

using namespace foedus;

constexpr std::uint64_t kUnit = gleaner::Inbox::kUnitBytes;

// The last thread is the reducer, the others are mappers: the first has kBlocks blocks, another
// one.
template <rl::thread_id_t kThreads, int kBlocks, std::uint64_t kHalfUnits>
struct Handing : model::Suite<Handing<kThreads, kBlocks, kHalfUnits>, kThreads> {
  static constexpr int kMappers = kThreads - 1;
  static constexpr int kBlocksInAll = kBlocks + kMappers - 1;
  alignas(64) static inline char memory[2 * kHalfUnits * kUnit];

  model::Runtime<true> runtime;
  gleaner::Inbox inbox{&runtime, memory, sizeof(memory), kMappers};
  model::Plain<int> units[2 * kHalfUnits];
  int received = 0;

  void map(int mapper) {
    for (int i = 0; i < (mapper == 0 ? kBlocks : 1); ++i) {
      Result<char*> block = inbox.reserve(kUnit);
      model::require(block.is_ok(), "there is room");
      units[static_cast<std::uint64_t>(*block - memory) / kUnit].set(mapper + 1);
      inbox.announce(kUnit);
    }
    inbox.end_writer();
  }
  void reduce() {
    for (;;) {
      const auto half = inbox.take();
      if (!half) {
        runtime.bell().sleep();
        continue;
      }
      const std::uint64_t begin = static_cast<std::uint64_t>(half->begin - memory) / kUnit;
      for (std::uint64_t i = 0; i < half->bytes / kUnit; ++i) {
        model::require(units[begin + i].get() != 0, "each block is whole");
        units[begin + i].set(0);
        ++received;
      }
      if (half->is_last) return;
    }
  }
  void thread(unsigned index) { index == kThreads - 1 ? reduce() : map(static_cast<int>(index)); }
  void after() { model::require(received == kBlocksInAll, "each block is taken once"); }
};

}  // namespace

int main(int argc, char** argv) {
  model::Protocol protocol{
      "inbox",
      {model::scenario<Handing<2, 1, 1>, model::kExhaustive>("one mapper, a block"),
       model::scenario<Handing<2, 3, 1>, 3>("one mapper, three blocks, halves of one"),
       model::scenario<Handing<3, 1, 2>, 2>("two mappers, a block each, halves of two"),
       model::scenario<Handing<3, 3, 1>, 1>("two mappers, three blocks and one, halves of one")},
      {{"inbox.cc try_reserve load_acquire", rl::mo_relaxed,
        "the exchange that takes the room acquires once more"},
       {"inbox.cc try_reserve compare_exchange_acq_rel #1", rl::mo_relaxed,
        "who seals has nothing to hand over; an exchange hands on what was released before it"},
       {"inbox.cc operator() load_acquire", rl::mo_relaxed, "the loop looks again"},
       {"inbox.cc end_writer compare_exchange_acq_rel", rl::mo_relaxed,
        "announcements are in the other word, and the last change of it comes behind them"}}};
  return protocol.check(argc, argv);
}
