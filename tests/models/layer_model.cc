// A record becomes the root of a next layer while others read it (storage/masstree, M7):
// occ/optimistic_read.h and page/dual_page_pointer.h themselves, storage/masstree/change/layer.cc
// and storage/masstree/search/find.cc quoted. The pointer replaces the payload.
#include "foedus-core/occ/optimistic_read.h"
#include "foedus-core/page/dual_page_pointer.h"
#include "tests/models/harness/model.h"

namespace {

using namespace foedus;
using page::SnapshotPageId;
using page::VolatilePageId;

constexpr std::uint64_t kValue = 5;
constexpr std::uint64_t kInline = 16;
constexpr std::uint64_t kLayer = 1;
constexpr std::uint64_t kRoot = 9;

struct Founding : model::Suite<Founding, 2> {
  page::RecordHeader record;
  page::DualPagePointer body;  // the payload, two words
  base::AtomicWord<std::uint64_t> slot{kInline};
  model::Plain<int> root{0};

  void before() {
    record.tid.store_relaxed(page::Tid(Epoch(10), 1).word());
    body.store({VolatilePageId(kValue), SnapshotPageId(kValue)});
  }
  void become_layer() {
    const page::Tid tid = record.load_tid();
    // found_layer() puts the record into the new root, which no other thread can reach.
    root.set(1);
    // from foedus-core/storage/masstree/change/layer.cc:
    //     record->tid.store_release(tid.with(page::Tid::kNextLayer).word());
    //     base::fence_writer();
    record.tid.store_release(tid.with(page::Tid::kNextLayer).word());
    base::fence_writer();
    // from foedus-core/storage/masstree/change/layer.cc:
    //     page->layer_pointer(slot)->store({root->header.volatile_id(), page::SnapshotPageId()});
    body.store({VolatilePageId(kRoot), SnapshotPageId()});
    // from foedus-core/storage/masstree/change/layer.cc:
    //     page->slot_word(index).store_release(slot.with_payload(Slot::kLayer | ordinal).word());
    slot.store_release(kLayer);
  }
  void read() {
    page::Tid observed;
    std::uint64_t words[2] = {};
    const bool settled = occ::optimistic_read(record, &observed, [&](page::Tid tid) {
      if (!tid.is_next_layer()) base::racy_read(words, &body, sizeof(words));
    });
    model::require(settled, "nobody writes for long");
    if (!observed.is_next_layer()) {
      model::require(words[0] == kValue && words[1] == kValue, "no pointer is read as payload");
      return;
    }
    // from foedus-core/storage/masstree/search/find.cc:
    //     const Slot slot = page->slot(index);
    //     if (slot.is_layer()) return slot;
    //     spin.once();
    while (slot.load_acquire() != kLayer) rl::yield(1, MODEL_HERE);
    model::require(body.load_volatile() == VolatilePageId(kRoot), "the pointer is there");
    model::require(root.get() == 1, "the layer is complete");
  }
  void thread(unsigned index) { index == 0 ? become_layer() : read(); }
};

}  // namespace

int main(int argc, char** argv) {
  model::Protocol protocol{"next layer",
                           {model::scenario<Founding, model::kExhaustive>("a reader")},
                           {{"layer_model.cc become_layer store_release #1", rl::mo_relaxed,
                             "the flag hands over nothing: the layer is found by slot and pointer"},
                            {"layer_model.cc become_layer fence_writer", rl::mo_relaxed,
                             "the stores of the pointer release as well"}},
                           {"dual_page_pointer.h", "tid.h"}};
  return protocol.check(argc, argv);
}
