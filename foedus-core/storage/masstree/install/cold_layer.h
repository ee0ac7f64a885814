#pragma once
// An installation's reader of the tree of a snapshot. It gives the pages of one level that lie in a
// range, and the roots of the layers of a slice. For the former only interior pages are read,
// because separators tell the fences of the pages below.

#include <cstdint>
#include <string_view>
#include <vector>

#include "foedus-core/storage/base/installation.h"
#include "foedus-core/storage/masstree/layout/page_check.h"
#include "foedus/status.h"

namespace foedus::storage::masstree {

// A page of a snapshot and the slices that it is responsible for.
struct ColdPage {
  std::uint64_t low = 0;
  std::uint64_t last = 0;
  page::SnapshotPageId id;
};

// One layer of a snapshot.
class ColdLayer {
 public:
  // Reads one layer. `installation` must outlive it. `root`: null if the snapshot has no such
  // layer. Then each level is one page of all slices, which cannot be read.
  ColdLayer(const Installation& installation, unsigned layer, page::SnapshotPageId root)
      : cold_pages_(cold_pages_of(installation)),
        root_(root),
        place_{installation.control->id(), layer} {}

  // Makes a reader of the layer of `other` for another thread of the installation.
  ColdLayer(const Installation& installation, const ColdLayer& other)
      : cold_pages_(cold_pages_of(installation)), root_(other.root_), place_(other.place_) {}

  bool has_pages() const { return !root_.is_null(); }

  // Gives the pages of this level that have slices of low..last, from left to right, without gaps.
  // None: the root is of a lower level. Fails as the page cache does.
  Status pages(unsigned level, std::uint64_t low, std::uint64_t last, std::vector<ColdPage>* pages);

  // Gives the root of the next layer below the records of this slice; null: there is none. Fails as
  // the page cache does.
  Status next_layer(std::uint64_t slice, page::SnapshotPageId* root);

  // The snapshot's row of a key.
  struct SnapshotRow {
    page::Tid tid;               // 0: no such row
    page::SnapshotPageId chain;  // that has the payload; null: none
  };
  // Looks up the rest of a key of this layer in the snapshot, also in layers below this one. Fails
  // as the page cache does.
  Status find_row(std::uint64_t slice, unsigned key_class, std::string_view remainder,
                  SnapshotRow* row);

 private:
  // A copy of a page, because cached pages are not kept while others are asked for (O14).
  struct Copy {
    alignas(64) char bytes[page::kPageBytes];
    TreePage* page() { return reinterpret_cast<TreePage*>(bytes); }
  };
  // `place`: a ColdRoot or ColdPlace.
  template <typename Place>
  Status read(page::SnapshotPageId id, const Place& place, Copy* copy);
  // Copies the border page of the slice, in the layer of this root.
  Status read_border(page::SnapshotPageId root, const ColdRoot& place, std::uint64_t slice,
                     Copy* copy);
  Status add(InteriorPage* page, unsigned level, std::uint64_t low, std::uint64_t last,
             std::vector<ColdPage>* pages);

  occ::ColdPages cold_pages_;
  const page::SnapshotPageId root_;
  const ColdRoot place_;  // of the root
};

// Gives records of a volatile border page whose chain is in a file of an earlier snapshot its name
// in the new one (O16). If the storage has a delta, makes records empty that the snapshot's row
// supersedes (M52). *leads_to_earlier: whether some record may name a chain in an earlier file; set
// to whether one still does. Fails as the page cache does.
Status name_chains(const Installation& installation, ColdLayer* cold, BorderPage* page,
                   bool* leads_to_earlier);

}  // namespace foedus::storage::masstree
