#include "foedus-core/storage/masstree/change/pair.h"

#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/storage/masstree/change/change.h"
#include "foedus-core/storage/masstree/layout/page.h"
#include "foedus-core/storage/masstree/search/find.h"

namespace foedus::storage::masstree {

TreePage* neighbour_of(page::PagePool& pool, InteriorPage* parent, const TreePage* page,
                       bool right) {
  const page::PageVersion version = parent->header.load_version();
  const bool at_edge = right ? page->last == parent->last : page->low == parent->low;
  if (version.is_moved() || at_edge || !parent->contains(page->low)) return nullptr;
  const std::uint64_t slice = right ? page->last + 1 : page->low - 1;
  TreePage* const child = child_for(pool, parent, version.keys(), slice);
  if (child == nullptr || child->header.load_version().is_moved()) return nullptr;
  return (right ? child->low : child->last) == slice ? child : nullptr;
}

LockedParent::LockedParent(InteriorPage* parent, const TreePage* left, const TreePage* right)
    : parent_(parent), right_(right), lock_(parent) {
  if (!lock_.held()) return;
  const page::PageVersion version = parent->header.load_version();
  Change closed;
  if (is_closed(version, &closed) || !parent->contains(left->low)) return;
  keys_ = version.keys();
  at_ = parent->child_of(left->low, keys_);
  is_theirs_ = at_ < keys_ && parent->child(at_).load_volatile() == left->header.volatile_id() &&
               parent->child(at_ + 1).load_volatile() == right->header.volatile_id();
}

void LockedParent::set_child(unsigned index, const TreePage* page) {
  parent_->child(index).store({page->header.volatile_id(), page::SnapshotPageId()});
}

void LockedParent::replace_by_one(const TreePage* page) {
  set_child(at_, page);
  for (unsigned i = at_; i + 1 < keys_; ++i) {
    parent_->set_separator(i, parent_->separator(i + 1));
    FOEDUS_SYNC_POINT("masstree:pair_shifting");
    parent_->child(i + 1).store(parent_->child(i + 2).load());
  }
  // The version counts merges, too, in the place where border pages count layers; the count may
  // wrap. Otherwise, if an adoption and this merge came between two looks of look_again(), the
  // second one would see the same number of keys.
  const std::uint32_t merges = (parent_->header.load_version().layers() + 1) & 0xffff;
  parent_->header.store_version(page::PageVersion(keys_ - 1, merges));
}

// Stores first the page whose slices include all those of one old page, in the place of that one.
// Then the separator may change.
void LockedParent::replace_by_two(const TreePage* minor, const TreePage* major) {
  const bool major_first = major->low <= right_->low;
  set_child(major_first ? at_ + 1 : at_, major_first ? major : minor);
  FOEDUS_SYNC_POINT("masstree:pair_shifting");
  parent_->set_separator(at_, major->low);
  set_child(major_first ? at_ : at_ + 1, major_first ? minor : major);
}

}  // namespace foedus::storage::masstree
