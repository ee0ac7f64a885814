#pragma once
// The kinds of storage as types: what each kind offers to transactions, to the commit protocol and
// to the engine, under the same names; and visit(), which calls a function with one of them. A
// call that each kind answers in its own way is made in this way.

#include "foedus-core/base/invariant.h"
#include "foedus-core/storage/array/array_install.h"
#include "foedus-core/storage/array/array_snapshot_read.h"
#include "foedus-core/storage/array/array_stats.h"
#include "foedus-core/storage/array/array_storage.h"
#include "foedus-core/storage/hash/install/install.h"
#include "foedus-core/storage/hash/snapshot_read.h"
#include "foedus-core/storage/hash/stats.h"
#include "foedus-core/storage/hash/storage.h"
#include "foedus-core/storage/masstree/install/install.h"
#include "foedus-core/storage/masstree/search/snapshot_read.h"
#include "foedus-core/storage/masstree/stats.h"
#include "foedus-core/storage/masstree/storage.h"
#include "foedus-core/storage/sequential/sequential_install.h"
#include "foedus-core/storage/sequential/sequential_storage.h"
#include "foedus/storage.h"

namespace foedus::storage {

struct MasstreeKind {
  static constexpr auto& create = masstree::create;
  static constexpr auto& drop = masstree::drop;
  static constexpr auto& install = masstree::install;
  static constexpr auto& sample_pages = masstree::sample_pages;

  static constexpr auto& track_moved = masstree::track_moved;
  static constexpr auto& relocate = masstree::relocate;
  static constexpr auto& accepts = masstree::accepts;
  static constexpr auto& apply = masstree::apply;
  static constexpr auto& page_still_holds = masstree::page_still_holds;

  static constexpr auto& get = masstree::get;
  static constexpr auto& get_for_update = masstree::get_for_update;
  static constexpr auto& get_in_snapshot = masstree::get_in_snapshot;
  static constexpr auto& write_whole = masstree::write_whole;
  static constexpr auto& write_part = masstree::write_part;
  static constexpr auto& erase = masstree::erase;
  static constexpr auto& prefetch = masstree::prefetch;
  static constexpr auto& prefetch_in_snapshot = masstree::prefetch_in_snapshot;
};

struct HashKind {
  static constexpr auto& create = hash::create;
  static constexpr auto& drop = hash::drop;
  static constexpr auto& install = hash::install;
  static constexpr auto& sample_pages = hash::sample_pages;

  static constexpr auto& track_moved = hash::track_moved;
  static constexpr auto& relocate = hash::relocate;
  static constexpr auto& accepts = hash::accepts;
  static constexpr auto& apply = hash::apply;
  static constexpr auto& page_still_holds = hash::page_still_holds;

  static constexpr auto& get = hash::get;
  static constexpr auto& get_for_update = hash::get_for_update;
  static constexpr auto& get_in_snapshot = hash::get_in_snapshot;
  static constexpr auto& write_whole = hash::write_whole;
  static constexpr auto& write_part = hash::write_part;
  static constexpr auto& erase = hash::erase;
  static constexpr auto& prefetch = hash::prefetch;
  static constexpr auto& prefetch_in_snapshot = hash::prefetch_in_snapshot;
};

// Its operations take an index for a key.
struct ArrayKind {
  static constexpr auto& create = array::create;
  static constexpr auto& drop = array::drop;
  static constexpr auto& install = array::install;
  static constexpr auto& sample_pages = array::sample_pages;

  static constexpr auto& track_moved = array::track_moved;
  static constexpr auto& relocate = array::relocate;
  static constexpr auto& accepts = array::accepts;
  static constexpr auto& apply = array::apply;
  static constexpr auto& page_still_holds = array::page_still_holds;
};

// Its operations are append() and the scan.
struct SequentialKind {
  static constexpr auto& create = sequential::create;
  static constexpr auto& drop = sequential::drop;
  static constexpr auto& install = sequential::install;
  static void sample_pages(const page::PagePool&, const occ::StorageControl&, PageSamples*) {}

  static constexpr auto& track_moved = sequential::track_moved;
  static constexpr auto& relocate = sequential::relocate;
  static constexpr auto& accepts = sequential::accepts;
  static constexpr auto& apply = sequential::apply;
  static constexpr auto& page_still_holds = sequential::page_still_holds;
};

// Returns what `function` returns for that kind. The kinds are in the order of how often commits
// ask for them.
template <typename Function>
[[gnu::always_inline]] inline decltype(auto) visit(StorageKind kind, Function&& function) {
  if (kind == StorageKind::kMasstree) return function(MasstreeKind());
  if (kind == StorageKind::kArray) return function(ArrayKind());
  if (kind == StorageKind::kHash) return function(HashKind());
  FOEDUS_INVARIANT(kind == StorageKind::kSequential, kind);
  return function(SequentialKind());
}

// Does the same for a storage that has keys: with operations of storage/keyed.
template <typename Function>
[[gnu::always_inline]] inline decltype(auto) visit_keyed(StorageKind kind, Function&& function) {
  if (kind == StorageKind::kMasstree) return function(MasstreeKind());
  FOEDUS_INVARIANT(kind == StorageKind::kHash, kind);
  return function(HashKind());
}

}  // namespace foedus::storage
