// Drops a whole storage: every page is retired, because transactions may still be at work in it.
//
//   M15  A page is marked dropped under its lock before its pointers are read; system transactions
//        look for the mark under the same lock. So the walk finds no page that they unlink, and
//        they unlink no page that the walk has found: each page is retired once. A volatile root
//        stays in its pointer, for transactions that began before. A root that is a snapshot page
//        is taken from the pointer, so that no session copies it any more.
#include <vector>

#include "foedus-core/occ/record_lock.h"
#include "foedus-core/storage/base/overflow.h"
#include "foedus-core/storage/masstree/layout/page.h"
#include "foedus-core/storage/masstree/storage.h"

namespace foedus::storage::masstree {

namespace {

class Dropper {
 public:
  Dropper(page::PagePool* pool, page::SessionPages* pages, occ::StorageControl* control)
      : pool_(*pool), pages_(*pages), control_(control) {}

  void run() {
    push_root();
    while (!stack_.empty()) {
      TreePage* const page = stack_.back();
      stack_.pop_back();
      if (!page->header.load_version().is_dropped()) mark_dropped(page);
      visit(page);
      // order: relaxed, statistics.
      control_->volatile_pages.fetch_add_relaxed(~std::uint64_t{0});
      pages_.retire(&page->header);
    }
  }

 private:
  void push(page::VolatilePageId id) {
    if (!id.is_null()) stack_.push_back(TreePage::of(pool_.resolve(id)));
  }

  void mark_dropped(TreePage* page) {
    occ::LockGuard guard(&page->header.lock);
    const page::PageVersion version = page->header.load_version();
    page->header.store_version(version.with(page::PageVersion::kDropped));
  }

  // Marks the present root and keeps it for the walk: grow() replaces a root under its lock.
  void push_root() {
    for (;;) {
      const page::DualPageIds ids = control_->root.load();
      const page::VolatilePageId id = ids.volatile_page;
      if (id.is_null()) {
        if (control_->root.compare_exchange(ids, {})) return;
        continue;
      }
      TreePage* const root = TreePage::of(pool_.resolve(id));
      occ::LockGuard guard(&root->header.lock);
      if (control_->root.load_volatile() != id) continue;
      root->header.store_version(root->header.load_version().with(page::PageVersion::kDropped));
      push(id);
      return;
    }
  }

  void visit(TreePage* page) {
    const page::PageVersion version = page->header.load_version();
    if (version.is_moved()) {
      // All that was below a moved page is below its twins (M4).
      push(page::VolatilePageId(page->foster_minor.load_acquire()));
      push(page::VolatilePageId(page->foster_major.load_acquire()));
    } else if (page->is_border()) {
      visit_records(BorderPage::of(page), version.keys());
    } else {
      InteriorPage* const interior = InteriorPage::of(page);
      for (unsigned i = 0; i <= version.keys(); ++i) push(interior->child(i).load_volatile());
    }
  }

  void visit_records(BorderPage* page, unsigned keys) {
    for (unsigned i = 0; i < keys; ++i) {
      const Slot slot = page->slot(i);
      if (slot.is_layer()) {
        push(page->layer_pointer(slot)->load_volatile());
      } else if (slot.is_overflow()) {
        retire_overflow(pool_, pages_, control_, load_overflow_id(page->payload(slot)));
      }
    }
  }

  page::PagePool& pool_;
  page::SessionPages& pages_;
  occ::StorageControl* const control_;
  std::vector<TreePage*> stack_;
};

}  // namespace

void drop(page::PagePool* pool, page::SessionPages* pages, occ::StorageControl* control) {
  Dropper(pool, pages, control).run();
  if (!control->made_delta()) return;
  control->delta->set_dropped();  // an install may just have made it
  Dropper(pool, pages, control->delta.get()).run();
}

}  // namespace foedus::storage::masstree
