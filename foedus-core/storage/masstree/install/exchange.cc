#include "foedus-core/storage/masstree/install/exchange.h"

#include <algorithm>
#include <array>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/storage/base/install.h"
#include "foedus-core/storage/masstree/change/make.h"
#include "foedus-core/storage/masstree/change/own.h"
#include "foedus-core/storage/masstree/layout/page.h"
#include "foedus-core/storage/masstree/search/find.h"

namespace foedus::storage::masstree {

namespace {

class Exchanger {
 public:
  Exchanger(const Installation& installation, Subtree* subtree, const Above& above,
            InteriorPage* page, const Exchange& exchange)
      : installation_(installation),
        subtree_(*subtree),
        above_(above),
        page_(page),
        exchange_(exchange) {}

  // Returns the copy, and sets the remainders. Null: nothing has changed.
  InteriorPage* run(RemainderPages* remainders, std::uint64_t* dropped);

 private:
  bool make_pages(RemainderPages* remainders);
  bool lock_out();
  bool find_out();
  bool lock_above();
  bool lock_replacements(const RemainderPages& remainders);
  bool fill(TreePage* rest, const SliceRange& kept);
  bool fill_border(BorderPage* to, const SliceRange& kept);
  bool take_records(BorderPage* from, const SliceRange& kept, BorderPage* to, unsigned* layers);
  bool fill_interior(InteriorPage* to, const SliceRange& kept);
  void add_child(const page::DualPageIds& ids, std::uint64_t low);
  void fill_copy(const RemainderPages& remainders);
  void stamp(const RemainderPages& remainders);
  void publish();
  TreePage* resolve(const Child& child) const {
    return TreePage::of(installation_.pool->resolve(child.ids.volatile_page));
  }

  const Installation& installation_;
  Subtree& subtree_;
  const Above& above_;
  InteriorPage* const page_;
  const Exchange& exchange_;
  InteriorPage* copy_ = nullptr;
  unsigned keys_ = 0;                         // of page_
  unsigned at_ = 0;                           // of the first child that goes, in page_
  unsigned children_ = 0;                     // of copy_, so far
  page::DualPagePointer* pointer_ = nullptr;  // to page_
  page::DualPageIds ids_;                     // what it says
};

bool Exchanger::make_pages(RemainderPages* remainders) {
  page::PagePool& pool = *installation_.pool;
  page::SessionPages& pages = *installation_.pages;
  const page::PageHeader& header = page_->header;
  const auto level = static_cast<std::uint8_t>(header.level - 1);
  const auto make = [&](const SliceRange& range, TreePage** rest) {
    if (range.is_empty()) return true;
    *rest =
        level == 0
            ? static_cast<TreePage*>(make_border(pool, pages, installation_.control, header.layer))
            : make_interior(pool, pages, installation_.control, header.layer, level);
    if (*rest == nullptr) return false;
    set_range(*rest, range.low, range.last);
    return true;
  };
  copy_ = make_interior(pool, pages, installation_.control, header.layer, header.level);
  if (copy_ == nullptr) return false;
  set_range(copy_, page_->low, page_->last);
  return make(exchange_.left, &remainders->left) && make(exchange_.right, &remainders->right);
}

bool Exchanger::lock_out() {
  SliceRange dropped;
  if (!exchange_.in.empty()) dropped = {exchange_.in.front().low, exchange_.in.back().last};
  for (const Child& child : exchange_.out) {
    if (!child.is_cold() && !subtree_.collect(resolve(child), dropped)) return false;
  }
  return true;
}

// Finds where the children that go are now. A page never changes its fences (M1), so children with
// the same ids have the same slices.
bool Exchanger::find_out() {
  if (!subtree_.try_lock(&page_->header)) return false;
  const page::PageVersion version = page_->header.load_version();
  if (version.is_gone()) return false;
  keys_ = version.keys();
  at_ = page_->child_of(exchange_.out.front().low, keys_);
  const auto count = static_cast<unsigned>(exchange_.out.size());
  if (at_ + count > keys_ + 1) return false;
  for (unsigned i = 0; i < count; ++i) {
    if (page_->child(at_ + i).load() != exchange_.out[i].ids) return false;
  }
  const unsigned remainders =
      (exchange_.left.is_empty() ? 0 : 1) + (exchange_.right.is_empty() ? 0 : 1);
  return keys_ + 1 - count + exchange_.in.size() + remainders <= InteriorPage::kSeparatorsMax + 1;
}

// Finds the pointer to the page, and locks the page that has it. While both pages are locked, and
// neither has moved, the pointer cannot change (P5). The pointer of the storage's root is changed
// under the lock of that root alone (grow()).
bool Exchanger::lock_above() {
  if (above_.parent == nullptr) {
    BorderPage* const owner = above_.layer.owner;
    if (owner != nullptr) {
      if (!subtree_.try_lock(&owner->header)) return false;
      if (owner->header.load_version().is_gone()) return false;
    }
    pointer_ = above_.layer.pointer;
  } else {
    if (!subtree_.try_lock_above(&above_.parent->header)) return false;
    const page::PageVersion version = above_.parent->header.load_version();
    if (version.is_gone() || !above_.parent->contains(page_->low)) return false;
    pointer_ = &above_.parent->child(above_.parent->child_of(page_->low, version.keys()));
  }
  ids_ = pointer_->load();
  return ids_.volatile_page == page_->header.volatile_id();
}

// Copies the records of slices that are kept, but no deleted ones: the installer holds all their
// locks, so no transaction holds one (M11). False: `to` has no room for them.
bool Exchanger::take_records(BorderPage* from, const SliceRange& kept, BorderPage* to,
                             unsigned* layers) {
  struct Key {
    std::uint64_t slice;
    unsigned key_class;
    unsigned index;
  };
  std::array<Key, BorderPage::kKeysMax> found;
  unsigned count = 0;
  std::uint64_t purged = std::max(to->header.purged_tid, from->header.purged_tid);
  const unsigned keys = from->header.load_version().keys();
  for (unsigned i = 0; i < keys; ++i) {
    if (!kept.contains(from->slice(i))) continue;
    const Slot slot = from->slot(i);
    const page::Tid tid = from->record(slot)->load_tid();
    if (tid.is_deleted() && !slot.is_layer()) {
      purged = std::max(purged, tid.without(page::Tid::kFlags).word());
    } else {
      found[count++] = {from->slice(i), slot.key_class(), i};
    }
  }
  to->header.purged_tid = purged;
  std::sort(found.begin(), found.begin() + count, [](const Key& a, const Key& b) {
    return a.slice != b.slice ? a.slice < b.slice : a.key_class < b.key_class;
  });
  unsigned laid = to->birth().keys();
  for (unsigned i = 0; i < count; ++i) {
    const Slot slot = from->slot(found[i].index);
    NewRecord record;
    record.slice = found[i].slice;
    record.key_bytes = slot.is_layer() ? Slot::kLayerKeyBytes : slot.key_bytes();
    if (!slot.is_layer()) record.remainder = from->remainder(slot);
    record.capacity = slot.is_layer() ? kCapacityMin : slot.capacity();
    record.tid = from->record(slot)->load_tid();
    record.payload_field = slot.is_layer() ? Slot::kLayer : slot.payload_field();
    if (!to->has_room(laid, footprint(record.remainder.size(), record.capacity))) return false;
    copy_payload(from, slot, to, lay_record(to, laid, record));
    ++laid;
    *layers += slot.is_layer() ? 1 : 0;
  }
  to->header.birth_version = page::PageVersion(laid, *layers).word();
  return true;
}

bool Exchanger::fill_border(BorderPage* to, const SliceRange& kept) {
  unsigned layers = 0;
  for (const Child& child : exchange_.out) {
    if (child.last < kept.low || child.low > kept.last) continue;
    BorderPage* const from = BorderPage::of(resolve(child));
    if (!take_records(from, kept, to, &layers)) return false;
    // order: relaxed, statistics.
    to->header.last_soc.store_relaxed(from->header.last_soc.load_relaxed());
  }
  to->header.store_version(to->birth());
  return true;
}

bool Exchanger::fill_interior(InteriorPage* to, const SliceRange& kept) {
  unsigned children = 0;
  for (const Child& child : exchange_.out) {
    if (child.last < kept.low || child.low > kept.last) continue;
    InteriorPage* const from = InteriorPage::of(resolve(child));
    const unsigned keys = from->header.load_version().keys();
    for (unsigned i = 0; i <= keys; ++i) {
      const std::uint64_t low = i == 0 ? from->low : from->separator(i - 1);
      if (!kept.contains(low)) continue;  // collect() has seen that no child is cut
      if (children > InteriorPage::kSeparatorsMax) return false;
      if (children != 0) to->set_separator(children - 1, low);
      to->child(children++).store(from->child(i).load());
    }
  }
  const page::PageVersion birth(children - 1, 0);
  to->header.birth_version = birth.word();
  to->header.store_version(birth);
  return true;
}

bool Exchanger::fill(TreePage* rest, const SliceRange& kept) {
  if (rest == nullptr) return true;
  return rest->is_border() ? fill_border(BorderPage::of(rest), kept)
                           : fill_interior(InteriorPage::of(rest), kept);
}

void Exchanger::add_child(const page::DualPageIds& ids, std::uint64_t low) {
  if (children_ != 0) copy_->set_separator(children_ - 1, low);
  copy_->child(children_++).store(ids);
}

void Exchanger::fill_copy(const RemainderPages& remainders) {
  const auto add_remainder = [this](const TreePage* rest) {
    if (rest != nullptr) add_child({rest->header.volatile_id(), {}}, rest->low);
  };
  const auto add_old = [this](unsigned i) {
    add_child(page_->child(i).load(), i == 0 ? page_->low : page_->separator(i - 1));
  };
  for (unsigned i = 0; i < at_; ++i) add_old(i);
  add_remainder(remainders.left);
  for (const ColdPage& cold : exchange_.in) add_child({{}, cold.id}, cold.low);
  add_remainder(remainders.right);
  for (auto i = at_ + static_cast<unsigned>(exchange_.out.size()); i <= keys_; ++i) add_old(i);
  const page::PageVersion birth(children_ - 1, 0);
  copy_->header.birth_version = birth.word();
  copy_->header.store_version(birth);
}

// Sets the birth of the remainder pages, because records that open transactions wrote to may have
// come to them (Q2).
void Exchanger::stamp(const RemainderPages& remainders) {
  const moves::Birth birth(moves::epoch_after_marks(*installation_.clock), moves::Birth::kSeveral);
  for (const TreePage* const rest : {remainders.left, remainders.right}) {
    if (rest != nullptr) give_birth(rest, birth);
  }
}

void Exchanger::publish() {
  // order: release, pairs with twin_of(); before the flag that makes readers look (M4).
  page_->foster_minor.store_release(copy_->header.page_id);
  page_->header.store_version(page_->header.load_version().with(page::PageVersion::kMoved));
  FOEDUS_SYNC_POINT("masstree:exchange_moved");
  const bool taken =
      pointer_->compare_exchange(ids_, {copy_->header.volatile_id(), ids_.snapshot_page});
  FOEDUS_INVARIANT(taken, page_->header.page_id, copy_->header.page_id);
}

// Locks the remainder pages. So no session adds a key there before all pages that they take over
// are marked moved (M16).
bool Exchanger::lock_replacements(const RemainderPages& remainders) {
  for (TreePage* const rest : {remainders.left, remainders.right}) {
    if (rest == nullptr) continue;
    const bool locked = subtree_.try_lock(&rest->header);
    FOEDUS_INVARIANT(locked, rest->header.page_id);
  }
  return true;
}

InteriorPage* Exchanger::run(RemainderPages* remainders, std::uint64_t* dropped) {
  bool ready = false;
  base::trying([&] {
    ready = make_pages(remainders) && lock_out() && find_out() && lock_above() &&
            fill(remainders->left, exchange_.left) && fill(remainders->right, exchange_.right) &&
            lock_replacements(*remainders);
  });
  if (!ready) {
    subtree_.release();
    subtree_.forget();
    for (TreePage* const made :
         {remainders->left, remainders->right, static_cast<TreePage*>(copy_)}) {
      discard(*installation_.pages, installation_.control, made);
    }
    *remainders = {};
    return nullptr;
  }
  fill_copy(*remainders);
  std::uint64_t made = 0;
  for (TreePage* const rest : {remainders->left, remainders->right}) {
    if (rest == nullptr) continue;
    ++made;
    give_birth(rest, moves::kNotBorn);
    for (const Child& child : exchange_.out) {
      if (rest->contains(child.low) && rest->contains(child.last)) {
        subtree_.set_replacement(resolve(child), rest);
      }
    }
  }
  FOEDUS_SYNC_POINT("masstree:before_drop");
  subtree_.mark();
  FOEDUS_SYNC_POINT("masstree:dropped");
  subtree_.mark_moved();
  stamp(*remainders);
  publish();
  subtree_.release();
  FOEDUS_SYNC_POINT("masstree:exchanged");
  retire_page(installation_, &page_->header);
  *dropped += subtree_.retire() - made;
  return copy_;
}

}  // namespace

InteriorPage* exchange(const Installation& installation, Subtree* subtree, const Above& above,
                       InteriorPage* page, const Exchange& exchange, RemainderPages* remainders,
                       std::uint64_t* dropped) {
  return Exchanger(installation, subtree, above, page, exchange).run(remainders, dropped);
}

bool exchange_root(Subtree* subtree, const LayerRoot& layer, TreePage* root,
                   page::SnapshotPageId cold, std::uint64_t* dropped) {
  BorderPage* const owner = layer.owner;
  // If memory runs out, the attempt has failed, and release() unlocks all as after other failures.
  bool ready = false;
  base::trying([&] {
    ready = subtree->collect(root, kAllSlices) &&
            (owner == nullptr ||
             (subtree->try_lock(&owner->header) && !owner->header.load_version().is_gone()));
  });
  const page::DualPageIds before = layer.pointer->load();
  ready = ready && before.volatile_page == root->header.volatile_id();
  if (ready) {
    FOEDUS_SYNC_POINT("masstree:before_drop");
    subtree->mark();
    FOEDUS_SYNC_POINT("masstree:dropped");
    const bool taken = layer.pointer->compare_exchange(before, {{}, cold});
    FOEDUS_INVARIANT(taken, root->header.page_id, cold.word());
  }
  subtree->release();
  if (ready) {
    *dropped += subtree->retire();
  } else {
    subtree->forget();
  }
  return ready;
}

bool exchange_cold(BorderPage* holder, page::DualPagePointer* pointer, page::SnapshotPageId cold) {
  const page::DualPageIds before = pointer->load();
  // The root of a dropped storage is the only pointer that leads to nothing.
  if (!before.volatile_page.is_null() || before.is_null()) return false;
  if (before.snapshot_page == cold) return true;
  return change_pointer(pointer, holder == nullptr ? nullptr : &holder->header, before, {{}, cold});
}

}  // namespace foedus::storage::masstree
