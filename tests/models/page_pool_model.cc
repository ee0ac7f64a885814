// The page pool: page/page_pool.{h,cc} itself, over static memory. A plain variable stands for the
// contents of each page: two owners at once, or one without an order after the other, are a data
// race. epoch_clock_model.cc has the reuse of retired pages.
#include "tests/models/harness/threads.h"

#include "foedus-core/page/page_pool.cc"
#include "foedus-core/page/retired_pages.cc"
#include "tests/models/harness/runtime.h"

namespace {

using namespace foedus;
using page::VolatilePageId;

constexpr std::uint64_t kPages = 6;  // of the extent, that a scenario touches

template <typename Scenario, rl::thread_id_t kThreads>
struct Pool : model::Suite<Scenario, kThreads> {
  numa::SocMemory::Committed committed;
  base::MemoryBudget budget{page::PagePool::kExtentBytes};
  numa::Topology topology;
  std::unique_ptr<page::PagePool> pool;
  model::Plain<int> contents[kPages];
  bool is_out[kPages] = {};

  void before() {
    numa::SocMemory::committed = &committed;
    Result<std::unique_ptr<page::PagePool>> made = page::PagePool::make(
        &topology, &budget, page::PagePool::kExtentBytes, Facility::kOff, Facility::kOff);
    pool = std::move(*made);
    // Makes the link words of the first pages (P9).
    char* const links = reinterpret_cast<char*>(pool->resolve(VolatilePageId(0, 0)));
    std::memset(links, 0, kPages * sizeof(std::uint64_t));
    model::adopt(links, kPages * sizeof(std::uint64_t));
  }
  VolatilePageId take() {
    VolatilePageId id;
    model::require(pool->take(0, &id, 1) == 1, "there is a page");
    model::require(id.number() != 0 && id.number() < kPages, "a page that is handed out");
    model::require(!is_out[id.number()], "a page has one owner");
    is_out[id.number()] = true;
    numa::SocMemory::check_committed(pool->resolve(id));
    use(id);
    return id;
  }
  void use(VolatilePageId id) { contents[id.number()].set(contents[id.number()].get() + 1); }
  void give(VolatilePageId id) {
    use(id);
    is_out[id.number()] = false;
    pool->give(&id, 1);
  }
};

// Three free pages are a batch each. One session takes one, the other takes two and returns the
// first of them: the same page is on top again, with another one below (P12). The remaining pages
// have no owner.
struct Stack : Pool<Stack, 2> {
  void before() {
    Pool::before();
    VolatilePageId ids[3];
    for (VolatilePageId& id : ids) id = take();
    for (VolatilePageId& id : ids) give(id);
  }
  void thread(unsigned index) {
    const VolatilePageId first = take();
    if (index == 0) return use(first);
    const VolatilePageId second = take();
    give(first);
    use(second);
  }
  void after() { take(); }
};

// One page goes from one thread to the other.
struct HandOn : Pool<HandOn, 2> {
  void before() {
    Pool::before();
    give(take());
  }
  void thread(unsigned) { give(take()); }
};

// No memory is committed yet.
struct Growing : Pool<Growing, 2> {
  void thread(unsigned) { use(take()); }
};

}  // namespace

int main(int argc, char** argv) {
  model::Protocol protocol{
      "page pool",
      {model::scenario<HandOn, model::kExhaustive>("a page is handed on"),
       model::scenario<Stack, model::kExhaustive>("stack"), model::scenario<Growing, 3>("growth")},
      {{"memory_budget.h try_take compare_exchange_acq_rel", rl::mo_relaxed,
        "the word guards no other memory"},
       {"page_pool.cc take_new compare_exchange_acq_rel", rl::mo_relaxed,
        "nothing is published by it, and the memory is seen by the look at what is committed"}}};
  return protocol.check(argc, argv);
}
