// A record is inserted into a bin of a hash storage, or moves to a larger place there, during
// searches (storage/hash, H3 to H5): layout/page.h and bin.cc themselves. The lines of insert.cc,
// find.cc and moves/after_marks.h around them are quoted; the bytes of a key are a plain variable.
#include "tests/models/harness/threads.h"

#include "foedus-core/epoch/epoch_clock.cc"
#include "foedus-core/page/page_pool.cc"
#include "foedus-core/page/retired_pages.cc"
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wreturn-type"  // a failed invariant returns here
#include "foedus-core/storage/hash/bin.cc"
#pragma GCC diagnostic pop
#include "foedus-core/storage/moves/birth.h"
#include "tests/models/harness/runtime.h"

namespace {

using namespace foedus;
using page::PageVersion;
using page::Tid;
using storage::hash::HashBinPage;
using storage::hash::KeyPosition;
using storage::hash::Search;
using storage::moves::Birth;

constexpr std::uint64_t kHash = 0x9000'0000'0000'1234;
constexpr std::string_view kKey = "key";
constexpr std::uint32_t kRoom = 16;
constexpr Epoch kEpoch(10);
const Tid kFirstTid = Tid(kEpoch, 0).with(Tid::kDeleted);

// A bin of a session that is thread 1 of the model; thread 0 searches it.
template <typename Scenario>
struct Bin : model::Suite<Scenario, 2> {
  numa::SocMemory::Committed committed;
  base::MemoryBudget budget{page::PagePool::kExtentBytes};
  numa::Topology topology;
  std::unique_ptr<page::PagePool> pool;
  std::unique_ptr<page::SessionPages> pages;
  occ::StorageControl control;
  HashBinPage* bin = nullptr;
  model::Plain<int> keys[2];  // of the records, in the order of their places

  void before() {
    numa::SocMemory::committed = &committed;
    pool = std::move(*page::PagePool::make(&topology, &budget, page::PagePool::kExtentBytes,
                                           Facility::kOff, Facility::kOff));
    pages = std::make_unique<page::SessionPages>(pool.get());
    bin = make_page(nullptr);
  }
  // X4: an access to a word of a page that was not handed over is a race with the making of the
  // word.
  HashBinPage* make_page(const HashBinPage* head) {
    auto& words = model::Words::all();
    auto* const next = reinterpret_cast<HashBinPage*>(
        pool->resolve(page::VolatilePageId(0, head == nullptr ? 1 : 2)));
    words.create(&next->header.last_soc, 0);
    const storage::hash::PageSource source{pool.get(), pages.get(), &control, 0};
    HashBinPage* const page = storage::hash::make_bin_page(source, kHash & ~0xffffu, 1, head);
    model::require(page == next, "the next page is the one that was meant");
    model::adopt(&page->header.lock, 16);
    model::adopt(&page->next_page, 16);
    words.create(&page->record_count, 0);
    model::adopt(&page->tags[0], 8);
    // The memory has the page's earlier contents.
    for (std::uint32_t place = 0; place < 2; ++place) {
      words.create(&page->slot_word(place), 0);
      const std::uint32_t bytes = storage::hash::record_bytes_of(kKey.size(), kRoom);
      char* const record = page->data + place * bytes;
      words.create(record, 0);
      words.create(record + 8, 0);
    }
    return page;
  }
  page::RecordHeader* place(HashBinPage* page, int number, Tid tid) {
    keys[number].set(1);
    return storage::hash::place_record(page, kHash, kKey, kRoom, 0, tid);
  }
  Search search(KeyPosition* found) {
    return storage::hash::search_bin(*pool, bin, kHash, kKey, found);
  }
};

// An insert goes into the first page or into one that is chained to it. A flag stands for the
// commit.
template <bool kIsChained>
struct Inserting : Bin<Inserting<kIsChained>> {
  rl::atomic<int> committed_insert{0};

  void before() {
    Bin<Inserting>::before();
    if (kIsChained) this->bin->data_end = page::kPageBytes;
  }
  void insert() {
    HashBinPage* const last = this->bin;
    const PageVersion before = last->header.load_version();
    HashBinPage* page = last;
    if (kIsChained) {
      {
        const model::Indivisible indivisible;
        page = this->make_page(last);
      }
      // from foedus-core/storage/hash/insert.cc:
      //     last->next_page.store_release(page->header.page_id);
      last->next_page.store_release(page->header.page_id);
    }
    // from foedus-core/storage/hash/insert.cc:
    //     found->record = place_record(page, hash, key, room, 0, first_tid_of(ctx, bin));
    // and, under a lock of the record that keeps writers of it away (Q5),
    // from foedus-core/storage/hash/insert.cc:
    //     publish_record(page);
    //     FOEDUS_SYNC_POINT("hash:inserted");
    //     bin->header.store_version(found->version);
    this->place(page, 0, kFirstTid);
    storage::hash::publish_record(page);
    last->header.store_version(before.plus_key());
    committed_insert.store(1, rl::mo_release, MODEL_HERE);
  }
  void read() {
    // from foedus-core/storage/hash/find.cc:
    //     found->version = bin->header.load_version();
    //     if (!found->version.is_gone() &&
    //     search_bin(ctx.pool(), bin, hash, key, found) != Search::kUnsettled) [[likely]] {
    KeyPosition found;
    found.version = this->bin->header.load_version();
    const Search result = this->search(&found);
    model::require(result != Search::kUnsettled, "nothing moves");
    if (result == Search::kFound) {
      model::require(found.record->load_tid() == kFirstTid, "a record has its TID");
      model::require(found.slot().room() == kRoom, "and its slot");
      model::require(this->keys[0].get() == 1, "and its key");
      return;
    }
    model::require(found.version.keys() == 0, "a key that is counted is found");
    const bool is_behind = committed_insert.load(rl::mo_acquire, MODEL_HERE) != 0;
    // from foedus-core/storage/hash/commit.cc:
    //     const page::PageVersion now = bin->header.load_version();
    //     if (now.counts() != entry.observed || now.is_dropped()) return false;
    const PageVersion now = this->bin->header.load_version();
    model::require(!is_behind || now.counts() != found.version.counts(), "no phantom");
  }
  void thread(unsigned index) { index == 0 ? read() : insert(); }
};

// A record moves to a larger place, while a transaction that began in a later epoch than the mover
// may know takes its address and then searches again (H5).
struct Moving : Bin<Moving> {
  model::Runtime<> runtime;
  epoch::EpochClock clock{&runtime, kEpoch, 2, 0};
  page::RecordHeader* record = nullptr;

  void before() {
    Bin::before();
    record = place(bin, 0, kFirstTid);
    storage::hash::publish_record(bin);
  }
  Birth birth_now() {
    // from foedus-core/storage/moves/after_marks.h:
    //     const Birth birth(epoch_after_marks(ctx.clock()),
    //     others ? Birth::kSeveral : ctx.session());
    return Birth(storage::moves::epoch_after_marks(clock), 1);
  }
  void move_within() {
    const Tid tid = record->load_tid();
    {
      const model::Indivisible indivisible;  // Inserting has the states in between
      place(bin, 1, tid);
    }
    // from foedus-core/storage/hash/insert.cc:
    //     found.record->tid.store_release(tid.with(page::Tid::kMoved).word());
    record->tid.store_release(tid.with(Tid::kMoved).word());
    // from foedus-core/storage/hash/insert.cc:
    //     found.bin->birth.store_release(birth_now(ctx, found.bin).word());
    //     publish_record(page);
    bin->birth.store_release(birth_now().word());
    storage::hash::publish_record(bin);
  }
  bool needs_relocation(Epoch begin_epoch) {
    // from foedus-core/storage/hash/find.cc:
    //     *birth = moves::Birth(found.bin->birth.load_acquire());
    const Birth birth(bin->birth.load_acquire());
    return birth.concerns(begin_epoch, 0);
  }
  void write_twice() {
    {
      const model::Indivisible indivisible;
      static_cast<void>(clock.step());
    }
    // from foedus-core/occ/txn_context.cc:
    //     begin_epoch_ = resources_.clock->current();
    //     if (!is_of_snapshot) resources_.clock->pin(resources_.session);
    const Epoch begin_epoch = clock.current();
    clock.pin(0);
    if (record->load_tid().is_moved()) return;
    KeyPosition found;
    const Search result = search(&found);
    if (result == Search::kUnsettled) return;  // it searches again
    model::require(result == Search::kFound, "the record is there");
    model::require(keys[found.place].get() == 1, "with its key");
    if (found.record == record) return;
    model::require(needs_relocation(begin_epoch), "an address that is known is followed");
    model::require(record->load_tid().is_moved(), "H4: there are no two of one key");
  }
  void thread(unsigned index) { index == 0 ? write_twice() : move_within(); }
};

}  // namespace

int main(int argc, char** argv) {
  model::Protocol protocol{
      "hash bin",
      {model::scenario<Inserting<false>, model::kExhaustive>("an insert"),
       model::scenario<Inserting<true>, model::kExhaustive>("an insert into a chained page"),
       model::scenario<Moving, model::kExhaustive>("a larger place")},
      {{"page.h slot load_acquire", rl::mo_relaxed,
        "the count hands over the slot, and the record's TID guards the length: where there are "
        "fences, which the sanitizer's build does without"},
       {"hash_bin_model.cc move_within store_release #1", rl::mo_relaxed,
        "the mark hands over nothing; the copy comes with the count, which is released behind it"},
       {"hash_bin_model.cc move_within store_release #2", rl::mo_relaxed,
        "the count is released behind it"},
       {"hash_bin_model.cc needs_relocation load_acquire", rl::mo_relaxed,
        "who found the copy has acquired the count"}},
      {"epoch_clock.h", "epoch_clock.cc", "page_pool.cc", "tid.h"}};
  return protocol.check(argc, argv);
}
