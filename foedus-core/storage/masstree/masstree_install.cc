#include "foedus-core/storage/masstree/masstree_install.h"

#include <vector>

#include "foedus-core/base/sync_point.h"
#include "foedus-core/occ/record_lock.h"
#include "foedus-core/storage/masstree/masstree_runs.h"

namespace foedus::storage::masstree {

namespace {

using page::SnapshotPageId;

// A root with more than that below it is not exchanged: its locks would be held for a millisecond.
constexpr std::uint64_t kRootRecordsMax = 1u << 15;
constexpr std::uint64_t kRootPagesMax = 1u << 12;

class Installer {
 public:
  explicit Installer(const occ::Installation& installation)
      : installation_(installation), subtree_(installation) {}

  Status run(SnapshotPageId root) {
    if (root.is_null()) return {};
    Remains remains;
    const Status status = layer({&installation_.control->root, nullptr}, root, &remains);
    counts_.pages_kept = remains.pages;
    return status;
  }
  const occ::InstallCounts& counts() const { return counts_; }

 private:
  using Children = std::vector<Child>;
  using Row = std::vector<ColdPage>;
  using Next = bool(std::span<const Child>, std::span<const ColdPage>, std::size_t, Run*);

  Status layer(const LayerRoot& layer, SnapshotPageId cold_root, Remains* remains);
  // `page` becomes the one that took its place; `remains`: what stays.
  Status below(const Above& above, ColdLayer* cold, TreePage** page, Remains* remains);
  Status border(ColdLayer* cold, BorderPage* page, Remains* remains);
  Status interior(const Above& above, ColdLayer* cold, InteriorPage** page, Remains* remains);
  bool read_children(InteriorPage* page, Children* children);
  bool exchange_all(const Above& above, InteriorPage** page, const Row& row, Next* next,
                    Children* children);
  void replace(const Run& run, const Rests& rests, Children* children);
  TreePage* resolve(page::VolatilePageId id) const {
    return TreePage::of(installation_.pool->resolve(id));
  }

  const occ::Installation& installation_;
  Subtree subtree_;
  occ::InstallCounts counts_;
};

Status Installer::layer(const LayerRoot& layer, SnapshotPageId cold_root, Remains* remains) {
  const page::VolatilePageId id = layer.pointer->load_volatile();
  if (id.is_null()) {
    exchange_cold(layer.owner, layer.pointer, cold_root);
    return {};
  }
  TreePage* root = resolve(id);
  ColdLayer cold(installation_, cold_root);
  FOEDUS_CHECK(below({nullptr, layer}, &cold, &root, remains));
  const bool is_large = remains->records > kRootRecordsMax || remains->pages > kRootPagesMax;
  if (!remains->is_quiet || is_large) return {};
  if (exchange_root(&subtree_, layer, root, cold_root, &counts_.pages_dropped)) {
    *remains = {};
  }
  return {};
}

Status Installer::below(const Above& above, ColdLayer* cold, TreePage** page, Remains* remains) {
  if ((*page)->header.load_version().is_gone()) {
    *remains = remains_of(installation_, *page);
    return {};
  }
  if ((*page)->is_border()) return border(cold, BorderPage::of(*page), remains);
  InteriorPage* interior_page = InteriorPage::of(*page);
  const Status status = interior(above, cold, &interior_page, remains);
  *page = interior_page;
  return status;
}

Status Installer::border(ColdLayer* cold, BorderPage* page, Remains* remains) {
  const page::PageVersion version = page->header.load_version();
  Remains layers;
  for (unsigned i = 0; i < version.keys() && version.layers() != 0; ++i) {
    const Slot slot = page->slot(i);
    if (!slot.is_layer()) continue;
    page::DualPagePointer* const pointer = page->layer_pointer(slot);
    SnapshotPageId root;
    FOEDUS_CHECK(cold->next_layer(page->slice(i), &root));
    Remains one;
    if (!root.is_null()) {
      FOEDUS_CHECK(layer({pointer, page}, root, &one));
    } else if (!pointer->load_volatile().is_null()) {
      one = remains_of(installation_, resolve(pointer->load_volatile()));
    }
    layers.add(one);
  }
  *remains = remains_of_records(installation_, page);
  remains->add(layers);
  return {};
}

// Under its lock the page's children and separators are of one moment.
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
                           Remains* remains) {
  Children children;
  if (!read_children(*page, &children)) {
    *remains = remains_of(installation_, *page);
    return {};
  }
  for (Child& child : children) {
    if (child.is_cold()) continue;
    TreePage* child_page = resolve(child.ids.volatile_page);
    FOEDUS_CHECK(below({*page, {}}, cold, &child_page, &child.remains));
    child.ids.volatile_page = child_page->header.volatile_id();
    child.is_divisible = !child_page->header.load_version().is_gone();
  }
  FOEDUS_SYNC_POINT("masstree:install_searched");
  Row row;
  FOEDUS_CHECK(cold->row((*page)->header.level - 1u, (*page)->low, (*page)->last, &row));
  // Each exchange takes away volatile pages, or earlier snapshots; what it leaves may allow others.
  for (bool done = true; done;) {
    done = exchange_all(above, page, row, next_exchange, &children);
    done = exchange_all(above, page, row, next_merge, &children) || done;
  }
  *remains = {1, 0, true};
  for (const Child& child : children) remains->add(child.remains);
  return {};
}

// Returns whether there was one.
bool Installer::exchange_all(const Above& above, InteriorPage** page, const Row& row, Next* next,
                             Children* children) {
  bool done = false;
  Run run;
  for (std::size_t at = 0; next(*children, row, at, &run);) {
    Rests rests;
    InteriorPage* const copy = exchange(installation_, &subtree_, above, *page, run.exchange,
                                        &rests, &counts_.pages_dropped);
    if (copy == nullptr) {
      at = run.first + run.exchange.out.size();
      continue;
    }
    FOEDUS_SYNC_POINT("masstree:installed");
    *page = copy;
    done = true;
    at = run.first + run.exchange.in.size() + (rests.left == nullptr ? 0 : 1);
    replace(run, rests, children);
  }
  return done;
}

void Installer::replace(const Run& run, const Rests& rests, Children* children) {
  Children made;
  const auto add_rest = [&](TreePage* page) {
    if (page == nullptr) return;
    made.push_back({{page->header.volatile_id(), {}},
                    page->low,
                    page->last,
                    remains_of(installation_, page),
                    true});
  };
  add_rest(rests.left);
  for (const ColdPage& cold : run.exchange.in) {
    made.push_back({{{}, cold.id}, cold.low, cold.last, {}, false});
  }
  add_rest(rests.right);
  const auto first = children->begin() + static_cast<std::ptrdiff_t>(run.first);
  const auto behind = first + static_cast<std::ptrdiff_t>(run.exchange.out.size());
  children->insert(children->erase(first, behind), made.begin(), made.end());
}

}  // namespace

Result<occ::InstallCounts> install(const occ::Installation& installation,
                                   page::SnapshotPageId root) {
  Installer installer(installation);
  FOEDUS_CHECK(installer.run(root));
  return installer.counts();
}

}  // namespace foedus::storage::masstree
