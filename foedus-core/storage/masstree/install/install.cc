#include "foedus-core/storage/masstree/install/install.h"

#include <algorithm>
#include <bitset>
#include <optional>
#include <vector>

#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/occ/record_lock.h"
#include "foedus-core/storage/base/install.h"
#include "foedus-core/storage/base/install_team.h"
#include "foedus-core/storage/base/overflow.h"
#include "foedus-core/storage/masstree/change/copy.h"
#include "foedus-core/storage/masstree/change/make.h"
#include "foedus-core/storage/masstree/install/runs.h"
#include "foedus-core/storage/masstree/operations/apply.h"
#include "foedus-core/storage/masstree/operations/delta.h"
#include "foedus-core/storage/masstree/search/find.h"

namespace foedus::storage::masstree {

namespace {

using page::SnapshotPageId;

// A root with more than that below it is not exchanged: its locks would be held for a millisecond.
constexpr std::uint64_t kRootRecordsMax = 1u << 15;
constexpr std::uint64_t kRootPagesMax = 1u << 12;
// How many children ahead are loaded, and how many bytes of each: header and directory.
constexpr std::size_t kPrefetchChildren = 4;
constexpr std::size_t kPrefetchBytes = 768;
// A delta costs a look in every operation. It is worth that after this many puts to rows of
// snapshot pages between two installations.
constexpr std::uint64_t kColdPutsMin = 1'000;

bool has_page(std::span<const ColdPage> level_pages, std::uint64_t low, SnapshotPageId id) {
  const auto at = std::lower_bound(
      level_pages.begin(), level_pages.end(), low,
      [](const ColdPage& page, std::uint64_t wanted) { return page.low < wanted; });
  return at != level_pages.end() && at->id == id;
}

// Returns whether all pages of the level that have slices of low..last are unchanged (O18).
bool is_unchanged(const Installation& installation, std::span<const ColdPage> level_pages,
                  std::uint64_t low, std::uint64_t last) {
  auto at = std::lower_bound(
      level_pages.begin(), level_pages.end(), low,
      [](const ColdPage& page, std::uint64_t wanted) { return page.last < wanted; });
  for (; at != level_pages.end() && installation.is_unchanged(at->id); ++at) {
    if (at->last >= last) return true;
  }
  return false;
}

// Counts layers among the first `keys` records. The page's own count is raised a little later.
unsigned layers_of(BorderPage* page, unsigned keys) {
  unsigned layers = 0;
  for (unsigned i = 0; i < keys; ++i) layers += page->slot(i).is_layer() ? 1 : 0;
  return layers;
}

class Installer {
 public:
  explicit Installer(const Installation& installation)
      : installation_(installation), subtree_(installation) {}

  Status run(SnapshotPageId root) {
    if (root.is_null()) return {};
    VolatileContents contents;
    const Status status = layer({&installation_.control->root, nullptr}, root, &contents);
    counts_.pages_kept = contents.pages;
    counts_.may_need_earlier = contents.leads_to_cold;
    return status;
  }
  const InstallCounts& own_counts() const { return counts_; }
  InstallCounts counts() const { return whole_counts(installation_, counts_); }

 private:
  using Children = std::vector<Child>;
  using Level = std::vector<ColdPage>;
  using LayersSeen = std::bitset<BorderPage::kKeysMax>;  // by the record's place in its page
  using Next = bool(std::span<const Child>, std::span<const ColdPage>, std::size_t, Run*);

  Status layer(const LayerRoot& layer, SnapshotPageId cold_root, VolatileContents* contents);
  bool exchange_whole(const LayerRoot& layer, TreePage* root, SnapshotPageId cold_root);
  // Installs below *page. Afterwards: *page took its place, *contents is what stays volatile.
  Status below(const Above& above, ColdLayer* cold, TreePage** page, VolatileContents* contents);
  // Passes over pages that have not changed, if none are to be dropped (O18).
  void pass_over(VolatileContents* contents) {
    *contents = {.is_quiet = false};
    counts_.has_passed_over = true;
  }
  Status twins(const Above& above, ColdLayer* cold, TreePage* page, VolatileContents* contents);
  Status twin(const Above& above, ColdLayer* cold, TreePage* page, VolatileContents* contents);
  Status border(ColdLayer* cold, BorderPage* page, VolatileContents* contents);
  Status layers_below(ColdLayer* cold, BorderPage* page, unsigned keys, LayersSeen* seen,
                      VolatileContents* layers);
  Status interior(const Above& above, ColdLayer* cold, InteriorPage** page,
                  VolatileContents* contents);
  bool is_divided(const InteriorPage& page, const Children& children) const;
  Status children_together(InteriorPage* page, ColdLayer* cold, const Level& level_pages,
                           Children* children);
  Status child_at(InteriorPage* page, ColdLayer* cold, const Level& level_pages, Child* child);
  void prefetch(const Children& children, std::size_t index) const;
  Status child_below(InteriorPage* page, ColdLayer* cold, Child* child);
  Result<bool> materialize(InteriorPage* page, const Level& level_pages, ColdLayer* cold,
                           Children* children);
  Result<TreePage*> copy(InteriorPage* parent, const Child& child);
  bool read_children(InteriorPage* page, Children* children);
  bool exchange_all(const Above& above, InteriorPage** page, const Level& level_pages, Next* next,
                    Children* children);
  void replace(const Run& run, const RemainderPages& remainders, Children* children);
  TreePage* resolve(page::VolatilePageId id) const {
    return TreePage::of(installation_.pool->resolve(id));
  }
  // Returns whether enough was dropped, so that all other volatile pages stay. If a delta takes
  // puts, unused pages of the main tree are still dropped, to make room for it.
  bool is_spent() {
    if (counts_.wants_more(installation_)) return false;
    return !(installation_.spares_used && installation_.control->delta_takes_puts());
  }

  // Returns whether unchanged pages are visited too, to drop them or to clear reference bits.
  bool looks_at_all() { return installation_.spares_used || !is_spent(); }

  const Installation& installation_;
  Subtree subtree_;
  InstallCounts counts_;
  // With threads (O19): the slices of the current child, and this thread's reader of the layer.
  SliceRange shared_;
  std::optional<ColdLayer> shared_layer_;
  bool has_left_some_ = false;  // pages with slices of another child, too
};

Status Installer::layer(const LayerRoot& layer, SnapshotPageId cold_root,
                        VolatileContents* contents) {
  page::VolatilePageId id = layer.pointer->load_volatile();
  if (id.is_null()) {
    FOEDUS_SYNC_POINT("masstree:install_cold");
    if (exchange_cold(layer.owner, layer.pointer, cold_root)) return {};
    id = layer.pointer->load_volatile();
    // No session made it volatile: the layer's record has moved, and is met at its new place (M39).
    if (id.is_null()) return {};
  }
  if (!looks_at_all() && installation_.is_unchanged(cold_root)) {
    pass_over(contents);
    return {};
  }
  TreePage* root = resolve(id);
  if (exchange_whole(layer, root, cold_root)) return {};
  const unsigned depth = layer.owner == nullptr ? 0 : layer.owner->header.layer + 1u;
  ColdLayer cold(installation_, depth, cold_root);
  FOEDUS_CHECK(below({nullptr, layer}, &cold, &root, contents));
  if (cold_root.is_null()) return {};
  const bool is_large = contents->records > kRootRecordsMax || contents->pages > kRootPagesMax;
  if (!contents->is_quiet || is_large || is_spent()) return {};
  if (exchange_root(&subtree_, layer, root, cold_root, &counts_.pages_dropped)) {
    *contents = {};
  }
  return {};
}

// Exchanges a whole tree at once, which takes no page. A tree whose puts go to a delta is quiet
// soon, and the snapshot has nearly all its pages anew. If it were exchanged page by page, each
// volatile interior page would make others volatile at its ends (M38).
bool Installer::exchange_whole(const LayerRoot& layer, TreePage* root, SnapshotPageId cold_root) {
  const occ::StorageControl& control = *installation_.control;
  // order: relaxed, a statistic.
  const bool is_small = control.volatile_pages.load_relaxed() <= kRootPagesMax;
  if (layer.owner != nullptr || !is_small || !control.delta_takes_puts()) return false;
  if (installation_.pages_to_drop == 0 || root->header.load_version().is_gone()) return false;
  const VolatileContents contents = volatile_contents_of(installation_, root);
  return contents.is_quiet && contents.records <= kRootRecordsMax &&
         exchange_root(&subtree_, layer, root, cold_root, &counts_.pages_dropped);
}

Status Installer::below(const Above& above, ColdLayer* cold, TreePage** page,
                        VolatileContents* contents) {
  if ((*page)->header.load_version().is_gone()) return twins(above, cold, *page, contents);
  FOEDUS_SYNC_POINT("masstree:install_looked");
  if ((*page)->is_border()) return border(cold, BorderPage::of(*page), contents);
  InteriorPage* interior_page = InteriorPage::of(*page);
  const Status status = interior(above, cold, &interior_page, contents);
  *page = interior_page;
  return status;
}

// Installs at the successors of a moved page, which are not exchanged before a parent adopts them.
Status Installer::twins(const Above& above, ColdLayer* cold, TreePage* page,
                        VolatileContents* contents) {
  *contents = {1, 0, true, false};
  // No other thread drops pages of these slices, and this one none before it has looked there.
  FOEDUS_INVARIANT(!page->header.load_version().is_dropped(), page->header.page_id);
  TreePage* const minor = twin_of(*installation_.pool, page, page->low);
  TreePage* const major = twin_of(*installation_.pool, page, page->last);
  FOEDUS_CHECK(twin(above, cold, minor, contents));
  return major == minor ? Status() : twin(above, cold, major, contents);
}

Status Installer::twin(const Above& above, ColdLayer* cold, TreePage* page,
                       VolatileContents* contents) {
  const bool is_shared = shared_layer_ && cold == &*shared_layer_;
  if (is_shared && !(shared_.contains(page->low) && shared_.contains(page->last))) {
    FOEDUS_SYNC_POINT("masstree:install_left");
    has_left_some_ = true;
    contents->is_quiet = false;
    return {};
  }
  VolatileContents one;
  FOEDUS_CHECK(below(above, cold, &page, &one));
  contents->add(one);
  return {};
}

// Installs at a border page. Repeats until all layers were looked at, because a record that becomes
// a layer meanwhile takes the name of its chain along.
Status Installer::border(ColdLayer* cold, BorderPage* page, VolatileContents* contents) {
  const unsigned keys = page->header.load_version().keys();
  VolatileContents layers;
  LayersSeen seen;
  do {
    FOEDUS_CHECK(layers_below(cold, page, keys, &seen, &layers));
    *contents = volatile_contents_of_records(installation_, page);
    FOEDUS_CHECK(name_chains(installation_, cold, page, &contents->leads_to_cold));
  } while (layers_of(page, keys) != seen.count());
  if (installation_.spares(&page->header)) {
    ++counts_.pages_spared;
    contents->is_quiet = false;
  }
  contents->add(layers);
  // If the page has moved meanwhile, its successors may have other records.
  return page->header.load_version().is_gone() ? twins({}, cold, page, contents) : Status();
}

// Installs at the layers that were not seen before.
Status Installer::layers_below(ColdLayer* cold, BorderPage* page, unsigned keys, LayersSeen* seen,
                               VolatileContents* layers) {
  for (unsigned i = 0; i < keys; ++i) {
    const Slot slot = page->slot(i);
    if (!slot.is_layer() || seen->test(i)) continue;
    seen->set(i);
    page::DualPagePointer* const pointer = page->layer_pointer(slot);
    SnapshotPageId root;
    FOEDUS_CHECK(cold->next_layer(page->slice(i), &root));
    VolatileContents one;
    if (root.is_null() && pointer->load_volatile().is_null()) {
      one.leads_to_cold = true;  // the snapshot's page was damaged
    } else {
      FOEDUS_CHECK(layer({pointer, page}, root, &one));
    }
    layers->add(one);
  }
  return {};
}

// Reads children and separators under the page's lock, so that they are of one moment.
bool Installer::read_children(InteriorPage* page, Children* children) {
  const occ::LockGuard guard(&page->header.lock);
  const page::PageVersion version = page->header.load_version();
  if (version.is_gone()) return false;
  const unsigned keys = version.keys();
  for (unsigned i = 0; i <= keys; ++i) {
    Child child;
    child.ids = page->child(i).load();
    child.low = i == 0 ? page->low : page->separator(i - 1);
    child.last = i == keys ? page->last : page->separator(i) - 1;
    children->push_back(child);
  }
  return true;
}

Status Installer::interior(const Above& above, ColdLayer* cold, InteriorPage** page,
                           VolatileContents* contents) {
  Level level_pages;
  FOEDUS_CHECK(cold->pages((*page)->header.level - 1u, (*page)->low, (*page)->last, &level_pages));
  Children children;
  if (!read_children(*page, &children)) return twins(above, cold, *page, contents);
  if (is_divided(**page, children)) {
    FOEDUS_CHECK(children_together(*page, cold, level_pages, &children));
  } else {
    for (std::size_t i = 0; i < children.size(); ++i) {
      prefetch(children, i + kPrefetchChildren);
      FOEDUS_CHECK(child_at(*page, cold, level_pages, &children[i]));
    }
  }
  FOEDUS_SYNC_POINT("masstree:install_searched");
  for (bool again = true; again;) {
    // Each exchange takes away volatile pages, or pointers to earlier snapshots. The children that
    // it leaves may allow others.
    for (bool done = true; done;) {
      done = cold->has_pages() && exchange_all(above, page, level_pages, next_exchange, &children);
      done = exchange_all(above, page, level_pages, next_merge, &children) || done;
    }
    FOEDUS_TRY(again, materialize(*page, level_pages, cold, &children));
  }
  *contents = {1, 0, true, false};
  for (const Child& child : children) contents->add(child.contents);
  return {};
}

// Installs at one of the page's children, as they were read.
Status Installer::child_at(InteriorPage* page, ColdLayer* cold, const Level& level_pages,
                           Child* child) {
  if (child->is_cold()) return {};
  if (!looks_at_all() && is_unchanged(installation_, level_pages, child->low, child->last)) {
    pass_over(&child->contents);
    return {};
  }
  return child_below(page, cold, child);
}

// Returns whether the children are dealt out to threads: they have pages below them, and are enough
// for all threads. At level 2 any number will do: children of lower pages are never dealt out.
bool Installer::is_divided(const InteriorPage& page, const Children& children) const {
  if (page.header.level < 2 || !installation_.is_shared()) return false;
  if (page.header.level == 2) return true;
  const auto hot = std::count_if(children.begin(), children.end(),
                                 [](const Child& child) { return !child.is_cold(); });
  return static_cast<std::size_t>(hot) >= 2 * installation_.workers->workers().size();
}

// Installs at the children in several threads (O19).
Status Installer::children_together(InteriorPage* page, ColdLayer* cold, const Level& level_pages,
                                    Children* children) {
  std::vector<base::AtomicWord<std::uint32_t>> left(children->size());
  InstallTeam<Installer> team(installation_, counts_);
  FOEDUS_CHECK(team.run(
      children->size(), [&](std::size_t i) { return (*children)[i].ids.volatile_page.soc(); },
      [&](Installer& installer, std::size_t i) -> Status {
        Child& child = (*children)[i];
        if (!installer.shared_layer_) {
          installer.shared_layer_.emplace(installer.installation_, *cold);
        }
        installer.shared_ = {child.low, child.last};
        installer.has_left_some_ = false;
        FOEDUS_CHECK(installer.child_at(page, &*installer.shared_layer_, level_pages, &child));
        // order: relaxed, the end of run() publishes it.
        if (installer.has_left_some_) left[i].store_relaxed(1);
        return {};
      },
      &counts_));
  for (std::size_t i = 0; i < children->size(); ++i) {
    // order: relaxed, no other thread is at work any more.
    if (left[i].load_relaxed() != 0) FOEDUS_CHECK(child_below(page, cold, &(*children)[i]));
  }
  return {};
}

void Installer::prefetch(const Children& children, std::size_t index) const {
  if (index >= children.size() || children[index].is_cold()) return;
  base::prefetch_lines(resolve(children[index].ids.volatile_page), kPrefetchBytes);
}

Status Installer::child_below(InteriorPage* page, ColdLayer* cold, Child* child) {
  TreePage* child_page = resolve(child->ids.volatile_page);
  child->contents = {};
  FOEDUS_CHECK(below({page, {}}, cold, &child_page, &child->contents));
  child->ids.volatile_page = child_page->header.volatile_id();
  child->is_divisible = !child_page->header.load_version().is_gone();
  if (is_spent()) child->contents.is_quiet = false;
  return {};
}

// Materializes snapshot-resident children that the new snapshot does not have (M38): of a row of
// such neighbours the first and the last. Those between them are exchanged with them, if a run is
// found. Returns whether one was materialized.
Result<bool> Installer::materialize(InteriorPage* page, const Level& level_pages, ColdLayer* cold,
                                    Children* children) {
  const auto is_stale = [&](const Child& child) {
    return child.is_cold() && !child.contents.leads_to_cold &&
           !has_page(level_pages, child.low, child.ids.snapshot_page);
  };
  std::vector<std::size_t> ends;
  for (std::size_t i = 0; i < children->size(); ++i) {
    if (!is_stale((*children)[i])) continue;
    const bool is_first = i == 0 || !is_stale((*children)[i - 1]);
    const bool is_last = i + 1 == children->size() || !is_stale((*children)[i + 1]);
    if (is_first || is_last) ends.push_back(i);
  }
  bool done = false;
  for (const std::size_t i : ends) {
    Child& child = (*children)[i];
    FOEDUS_TRY(TreePage* const made, copy(page, child));
    page::DualPageIds after = child.ids;
    if (made != nullptr) after.volatile_page = made->header.volatile_id();
    FOEDUS_SYNC_POINT("masstree:install_copying");
    if (made == nullptr || !exchange_child(page, child.low, child.ids, after)) {
      discard(*installation_.pages, installation_.control, made);
      child.contents.leads_to_cold = true;
      continue;
    }
    FOEDUS_SYNC_POINT("masstree:install_copied");
    done = true;
    child.ids = after;
    FOEDUS_CHECK(child_below(page, cold, &child));
  }
  return done;
}

// Copies a child. Null: out of pages.
Result<TreePage*> Installer::copy(InteriorPage* parent, const Child& child) {
  const SnapshotPageId id = child.ids.snapshot_page;
  occ::ColdPages cold_pages = cold_pages_of(installation_);
  const occ::ColdReads reads(&cold_pages);
  const page::PageHeader* const cold = cold_pages.page(id);
  if (cold == nullptr) return cold_pages.take_failure();
  const ColdPlace place{
      Identity(installation_.control->id(), parent->header.layer, parent->header.level - 1u),
      child.low, child.last};
  if (!place.is_of(*cold)) return occ::not_that_page(id);
  return copy_page(*installation_.pool, *installation_.pages, installation_.control,
                   installation_.soc, cold);
}

// Exchanges all runs that `next` finds. Returns whether there was one.
bool Installer::exchange_all(const Above& above, InteriorPage** page, const Level& level_pages,
                             Next* next, Children* children) {
  bool done = false;
  Run run;
  for (std::size_t at = 0; next(*children, level_pages, at, &run);) {
    RemainderPages remainders;
    InteriorPage* const copy = exchange(installation_, &subtree_, above, *page, run.exchange,
                                        &remainders, &counts_.pages_dropped);
    if (copy == nullptr) {
      at = run.first + run.exchange.out.size();
      continue;
    }
    FOEDUS_SYNC_POINT("masstree:installed");
    *page = copy;
    done = true;
    at = run.first + run.exchange.in.size() + (remainders.left == nullptr ? 0 : 1);
    replace(run, remainders, children);
  }
  return done;
}

void Installer::replace(const Run& run, const RemainderPages& remainders, Children* children) {
  Children made;
  bool leads_to_cold = false;  // of the pages that went; the installer has looked at them
  for (const Child& child : run.exchange.out) leads_to_cold |= child.contents.leads_to_cold;
  const auto add_remainder = [&](TreePage* page) {
    if (page == nullptr) return;
    VolatileContents contents = volatile_contents_of(installation_, page);
    contents.leads_to_cold = leads_to_cold;
    made.push_back({{page->header.volatile_id(), {}}, page->low, page->last, contents, true});
  };
  add_remainder(remainders.left);
  for (const ColdPage& cold : run.exchange.in) {
    made.push_back({{{}, cold.id}, cold.low, cold.last, {}, false});
  }
  add_remainder(remainders.right);
  const auto first = children->begin() + static_cast<std::ptrdiff_t>(run.first);
  const auto behind = first + static_cast<std::ptrdiff_t>(run.exchange.out.size());
  children->insert(children->erase(first, behind), made.begin(), made.end());
}

}  // namespace

Result<InstallCounts> install(const Installation& installation, page::SnapshotPageId root) {
  Installer installer(installation);
  FOEDUS_CHECK(installer.run(root));
  InstallCounts counts = installer.counts();
  occ::StorageControl* const control = installation.control;
  // order: relaxed, a hint.
  const bool wants_delta =
      installation.pages_to_drop != 0 && control->cold_puts.load_relaxed() >= kColdPutsMin;
  control->cold_puts.store_relaxed(0);
  if (!control->has_delta()) {
    counts.has_new_delta = wants_delta && delta::make(installation);
  } else if (!root.is_null()) {
    counts.pages_dropped += delta::purge(installation, root, !counts.may_need_earlier);
    counts.is_delta_empty = delta::is_empty(*installation.pool, *control);
  }
  return counts;
}

}  // namespace foedus::storage::masstree
