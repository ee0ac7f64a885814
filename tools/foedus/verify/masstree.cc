// Checks pages of Master-Trees against storage/masstree/layout/page.h: in each layer the ranges of
// slices chain exactly, within that of the page above; keys ascend by slice and length.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "foedus-core/storage/masstree/layout/page.h"
#include "foedus/options.h"
#include "tools/foedus/preview.h"
#include "tools/foedus/verify/page_walk.h"

namespace foedus::cli {

namespace {

using page::PageBytes;
using page::PageKind;
using page::SnapshotPageId;
using storage::masstree::BorderPage;
using storage::masstree::InteriorPage;
using storage::masstree::Slot;
using storage::masstree::TreePage;

// A key of kMaxKeyBytes has a layer for each slice. kLevelMax is higher than any tree: a larger
// level is that of a damaged page.
constexpr std::uint32_t kLayersMax = (kMaxKeyBytes + 7) / 8;
constexpr std::uint32_t kLevelMax = 31;

// The place of a page, as the pointer to it says.
struct Place {
  SnapshotPageId from;
  std::uint64_t low = 0;
  std::uint64_t last = ~std::uint64_t{0};
  std::uint32_t layer = 0;
};

class MasstreeWalk {
 public:
  explicit MasstreeWalk(PageWalk* walk) : walk_(*walk) {}

  void root(SnapshotPageId id, const Place& place);

 private:
  bool check(SnapshotPageId id, TreePage& page, const Place& place);
  void child(SnapshotPageId id, const Place& place, std::uint32_t level);
  void visit(SnapshotPageId id, PageBytes* block, const Place& place);
  void interior(SnapshotPageId id, InteriorPage& page, std::uint32_t layer);
  bool check_separators(SnapshotPageId id, InteriorPage& page, unsigned keys);
  void border(SnapshotPageId id, BorderPage& page, std::uint32_t layer);
  bool check_heap(SnapshotPageId id, BorderPage& page, unsigned keys);
  void check_order(SnapshotPageId id, BorderPage& page, unsigned keys);
  void record(SnapshotPageId id, BorderPage& page, unsigned index, std::uint32_t layer);
  void give(SnapshotPageId id, BorderPage& page, unsigned index);
  void lose(std::uint64_t low, std::uint64_t last);
  void lose_layer(std::uint64_t slice);
  void next_layer(SnapshotPageId id, BorderPage& page, unsigned index, std::uint32_t layer);

  PageWalk& walk_;
  std::string prefix_;  // the slices of the layers above
};

std::string slice_bytes(std::uint64_t slice) {
  std::string bytes(8, '\0');
  storage::masstree::put_slice(slice, bytes.data());
  return bytes;
}

std::string range_of(std::uint64_t low, std::uint64_t last) {
  return std::to_string(low) + " to " + std::to_string(last);
}

void MasstreeWalk::root(SnapshotPageId id, const Place& place) {
  const auto block = std::make_unique<PageBytes>();
  if (!walk_.enter(id, place.from, block.get())) return lose(place.low, place.last);
  const std::uint32_t level = block->header()->level;
  const auto kind = level == 0 ? PageKind::kMasstreeBorder : PageKind::kMasstreeInterior;
  if (!walk_.is_of(id, *block, kind, level) ||
      !walk_.expect(level <= kLevelMax, id, "a layer of impossible height")) {
    return lose(place.low, place.last);
  }
  StorageCounts& counts = walk_.counts();
  counts.levels = std::max(counts.levels, level + 1);
  counts.layers = std::max(counts.layers, place.layer + 1);
  visit(id, block.get(), place);
}

void MasstreeWalk::child(SnapshotPageId id, const Place& place, std::uint32_t level) {
  const auto block = std::make_unique<PageBytes>();
  const auto kind = level == 0 ? PageKind::kMasstreeBorder : PageKind::kMasstreeInterior;
  if (!walk_.enter(id, place.from, kind, level, block.get())) return lose(place.low, place.last);
  visit(id, block.get(), place);
}

void MasstreeWalk::visit(SnapshotPageId id, PageBytes* block, const Place& place) {
  auto& page = *block->as<InteriorPage>();
  const std::uint64_t before = walk_.problems();
  if (!check(id, page, place) || walk_.must_lose(before)) return lose(place.low, place.last);
  if (page.is_border()) {
    border(id, *block->as<BorderPage>(), place.layer);
  } else {
    interior(id, page, place.layer);
  }
}

// Checks a page against its place. Returns false if all findings about its contents would have the
// same cause.
bool MasstreeWalk::check(SnapshotPageId id, TreePage& page, const Place& place) {
  if (page.low != place.low || page.last != place.last) {
    walk_.problem(id, "it has the slices " + range_of(page.low, page.last) + "; in its place are " +
                          range_of(place.low, place.last));
  }
  // order: relaxed, no other thread has the page.
  const bool has_twins =
      page.foster_minor.load_relaxed() != 0 || page.foster_major.load_relaxed() != 0;
  walk_.expect(!has_twins, id, "it has foster twins");
  const bool is_of_layer = page.header.layer == place.layer;
  return walk_.expect(is_of_layer, id, "it is of another layer than the pointer to it") &&
         walk_.expect(page.low <= page.last, id, "its range of slices is none");
}

bool MasstreeWalk::check_separators(SnapshotPageId id, InteriorPage& page, unsigned keys) {
  std::uint64_t before = page.low;
  for (unsigned i = 0; i < keys; ++i) {
    const std::uint64_t separator = page.separator(i);
    const bool ascends = before < separator && separator <= page.last;
    if (!walk_.expect(ascends, id, "its separators do not ascend within its range")) return false;
    before = separator;
  }
  for (unsigned i = 0; i < keys / InteriorPage::kGroupSize && i + 1 < InteriorPage::kGroups; ++i) {
    const unsigned last = (i + 1) * InteriorPage::kGroupSize - 1;
    // order: relaxed, no other thread has the page.
    const bool is_pivot = page.pivots[i].load_relaxed() == page.separator(last);
    walk_.expect(is_pivot, id, "a pivot is not the last separator of its group");
  }
  return true;
}

void MasstreeWalk::interior(SnapshotPageId id, InteriorPage& page, std::uint32_t layer) {
  const page::PageVersion version = page.header.load_version();
  const unsigned keys = version.keys();
  const std::uint64_t before = walk_.problems();
  if (!walk_.expect(keys <= InteriorPage::kSeparatorsMax && version.layers() == 0, id,
                    "it counts more separators than a page can have") ||
      !check_separators(id, page, keys) || walk_.must_lose(before)) {
    return lose(page.low, page.last);
  }
  for (unsigned i = 0; i <= keys; ++i) {
    const page::DualPageIds ids = page.child(i).load();
    const std::uint64_t pointers_before = walk_.problems();
    walk_.expect(ids.volatile_page.is_null(), id, "a pointer to a volatile page");
    const std::uint64_t low = i == 0 ? page.low : page.separator(i - 1);
    const std::uint64_t last = i == keys ? page.last : page.separator(i) - 1;
    if (walk_.must_lose(pointers_before)) {
      lose(low, last);
    } else {
      child(ids.snapshot_page, {id, low, last, layer}, page.header.level - 1u);
    }
  }
}

// Returns whether all records lie in the heap without overlapping, so that they may be read.
bool MasstreeWalk::check_heap(SnapshotPageId id, BorderPage& page, unsigned keys) {
  const bool is_free_between =
      page.heap_begin <= page::kPageBytes &&
      BorderPage::kBodyBegin + BorderPage::directory_bytes(keys) <= page.heap_begin;
  if (!walk_.expect(is_free_between, id, "keys and records overlap")) return false;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> extents;
  for (unsigned i = 0; i < keys; ++i) {
    const Slot slot = page.slot(i);
    extents.emplace_back(slot.offset(), slot.offset() + slot.record_bytes());
    const bool is_record = slot.offset() % 16 == 0 && slot.capacity() % 16 == 0 &&
                           slot.capacity() >= storage::masstree::kCapacityMin;
    if (!walk_.expect(is_record, id, "key " + std::to_string(i) + " has an impossible slot")) {
      return false;
    }
  }
  std::sort(extents.begin(), extents.end());
  std::uint32_t end = page.heap_begin;
  for (const auto& [begin, record_end] : extents) {
    if (!walk_.expect(begin >= end, id, "records overlap, or lie before the heap")) return false;
    end = record_end;
  }
  return walk_.expect(end <= page::kPageBytes, id, "a record that ends behind the page");
}

void MasstreeWalk::check_order(SnapshotPageId id, BorderPage& page, unsigned keys) {
  for (unsigned i = 0; i < keys; ++i) {
    const std::string which = "key " + std::to_string(i);
    const std::uint64_t slice = page.slice(i);
    const unsigned key_class = page.slot(i).key_class();
    walk_.expect(page.contains(slice), id, which + " is not of the page's range of slices");
    const bool is_padded = key_class >= 8 || (slice << (8 * key_class)) == 0;
    walk_.expect(is_padded, id, which + " is longer than it says");
    const bool is_behind = i == 0 || std::pair(page.slice(i - 1), page.slot(i - 1).key_class()) <
                                         std::pair(slice, key_class);
    walk_.expect(is_behind, id, which + " is not behind the one before it");
  }
}

void MasstreeWalk::border(SnapshotPageId id, BorderPage& page, std::uint32_t layer) {
  const page::PageVersion version = page.header.load_version();
  const unsigned keys = version.keys();
  const std::uint64_t before = walk_.problems();
  if (!walk_.expect(keys <= BorderPage::kKeysMax, id, "more keys than a page can have") ||
      !check_heap(id, page, keys)) {
    return lose(page.low, page.last);
  }
  // order: relaxed, no other thread has the page.
  walk_.expect(page.sorted_keys.load_relaxed() == keys, id, "it says that not all keys are sorted");
  check_order(id, page, keys);
  unsigned layers = 0;
  for (unsigned i = 0; i < keys; ++i) {
    if (page.slot(i).is_layer()) {
      layers += 1;
    } else {
      record(id, page, i, layer);
    }
  }
  if (layers != version.layers()) {
    walk_.problem(id, "it counts " + std::to_string(version.layers()) + " next layers and has " +
                          std::to_string(layers));
  }
  if (walk_.must_lose(before)) return lose(page.low, page.last);
  for (unsigned i = 0; i < keys; ++i) {
    if (page.slot(i).is_layer()) {
      next_layer(id, page, i, layer);
    } else {
      give(id, page, i);
    }
  }
}

void MasstreeWalk::record(SnapshotPageId id, BorderPage& page, unsigned index,
                          std::uint32_t layer) {
  const Slot slot = page.slot(index);
  const page::RecordHeader* const header = page.record(slot);
  // order: relaxed, no other thread has the page.
  walk_.expect(header->lock.load_relaxed() == 0, id, "a record that is locked");
  walk_.check_tid(id, header->load_tid(), index);
  walk_.counts().records += 1;
  const std::string which = "key " + std::to_string(index);
  const bool is_key = layer * 8 + slot.key_bytes() <= kMaxKeyBytes;
  walk_.expect(is_key, id, which + " is longer than a key can be");
  if (slot.is_snapshot_overflow()) return;
  if (walk_.expect(slot.payload_bytes() <= slot.capacity(), id,
                   which + " has a payload larger than its room")) {
    walk_.counts().payload_bytes += slot.payload_bytes();
  }
}

// Hands on a row, with the chain of a large payload.
void MasstreeWalk::give(SnapshotPageId id, BorderPage& page, unsigned index) {
  const Slot slot = page.slot(index);
  std::string key;
  if (walk_.gives_rows()) {
    key = prefix_ + slice_bytes(page.slice(index));
    if (slot.key_bytes() < 8) key.resize(prefix_.size() + slot.key_bytes());
    key += page.remainder(slot);
  }
  if (!slot.is_snapshot_overflow()) {
    if (walk_.gives_rows()) walk_.give({key, 0, {page.payload(slot), slot.payload_bytes()}});
    return;
  }
  std::uint64_t first = 0;
  std::memcpy(&first, page.payload(slot), sizeof(first));
  const auto payload = walk_.chain(SnapshotPageId(first), id);
  if (payload.has_value()) {
    walk_.give({key, 0, *payload});
  } else {
    walk_.lose({"key \"" + preview(key) + '"'});
  }
}

// Says that all keys of a range of slices are lost, within the layer at hand. A slice is a key
// filled up with zeroes, so the bounds are keys without them.
void MasstreeWalk::lose(std::uint64_t low, std::uint64_t last) {
  const auto bound_of = [this](std::uint64_t slice) {
    std::string bound = slice_bytes(slice);
    bound.resize(bound.find_last_not_of('\0') + 1);
    return '"' + preview(prefix_ + bound) + '"';
  };
  const bool is_to_end = last == ~std::uint64_t{0};
  if (low == 0 && is_to_end && prefix_.empty()) return walk_.lose({"all its keys"});
  std::string words = "keys";
  if (low != 0) words += " from " + bound_of(low);
  if (!is_to_end) words += " below " + bound_of(last + 1);
  if (low != 0 && is_to_end) words += " on";
  const bool is_bounded = low != 0 && !is_to_end;
  if (!is_bounded && !prefix_.empty()) words += " that begin with \"" + preview(prefix_) + '"';
  walk_.lose({words});
}

void MasstreeWalk::lose_layer(std::uint64_t slice) {
  walk_.lose(
      {"keys that begin with \"" + preview(prefix_ + slice_bytes(slice)) + "\" and are longer"});
}

void MasstreeWalk::next_layer(SnapshotPageId id, BorderPage& page, unsigned index,
                              std::uint32_t layer) {
  const Slot slot = page.slot(index);
  const std::string which = "key " + std::to_string(index);
  const page::Tid tid = page.record(slot)->load_tid();
  const std::uint64_t before = walk_.problems();
  walk_.expect(tid.is_next_layer(), id, which + " is a next layer, its TID does not say so");
  walk_.check_tid(id, tid.without(page::Tid::kNextLayer), index);
  const page::DualPageIds ids = page.layer_pointer(slot)->load();
  walk_.expect(ids.volatile_page.is_null(), id, "a pointer to a volatile page");
  const bool can_be =
      slot.key_class() == storage::masstree::kRemainderClass && layer + 1 < kLayersMax;
  if (!walk_.expect(can_be, id, which + " cannot be a next layer") || walk_.must_lose(before)) {
    return lose_layer(page.slice(index));
  }
  prefix_ += slice_bytes(page.slice(index));
  root(ids.snapshot_page, {id, 0, ~std::uint64_t{0}, layer + 1});
  prefix_.resize(prefix_.size() - 8);
}

}  // namespace

void verify_masstree(PageWalk* walk) { MasstreeWalk(walk).root(walk->storage().root, Place()); }

}  // namespace foedus::cli
