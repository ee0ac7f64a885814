#pragma once
// PageWalk: from the roots of one manifest to every page of its snapshot, each looked at once.
//
//   enter(page) ── in a listed file? reached before? bytes, checksum, identity ──► its kind's file
//     verify_<kind>.cc ── order, fences, counts, pointers ──► enter(next page) …
//
//   W1  Depth first: in memory are the pages of one path, and one bit for each page of the files.
//   W2  A page is entered once. A second pointer to it is a problem and not followed, so that a
//       walk ends whatever the pages say.
//   W3  Nothing that a page says is used before it was checked: a page may hold any bytes, with the
//       right checksum.
//   W4  A page that cannot be trusted is a problem, and what lies below it is not looked at.
//   W5  Only the layouts are shared with those who write pages. What the database refuses where it
//       reads a page (storage/page_check.h) is a problem, whatever is found here besides.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "foedus-core/device/device.h"
#include "foedus-core/page/page_bytes.h"
#include "foedus-core/page/page_header.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/page/tid.h"
#include "foedus-core/snapshot/live_pages.h"
#include "foedus-core/snapshot/manifest.h"
#include "tools/foedus_cli/finding.h"

namespace foedus::cli {

// Pages entered so far, and about how many there are.
using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

struct StorageCounts {
  std::uint64_t pages = 0;    // those of chains included
  std::uint64_t records = 0;  // arrays: that were ever written to
  std::uint64_t payload_bytes = 0;
  std::uint64_t chains = 0;  // payloads that are larger than a page gives room for
  std::uint64_t chain_pages = 0;
  std::uint32_t levels = 0;  // pages on the longest path, in each layer of a Master-Tree
  std::uint32_t layers = 0;  // Master-Trees
};

class PageWalk {
 public:
  // All outlive it.
  PageWalk(device::Device* device, const snapshot::Manifest& manifest, Findings* findings,
           Progress progress);
  PageWalk(const PageWalk&) = delete;
  PageWalk& operator=(const PageWalk&) = delete;

  // Walks through one storage.
  StorageCounts run(const snapshot::ManifestStorage& storage);
  // Of a file of the manifest, by its place there: pages that were entered.
  std::uint64_t reached(std::size_t file) const { return files_[file].reached; }
  // Of any record that was looked at; none: there was no record.
  Epoch newest_record() const { return newest_record_; }

  // What the last run() entered, by file; as a manifest has it.
  std::vector<snapshot::LivePages> live() const;

  // ---- for verify_<kind>.cc --------------------------------------------------------------------

  const snapshot::Manifest& manifest() const { return manifest_; }
  const snapshot::ManifestStorage& storage() const { return *storage_; }
  StorageCounts& counts() { return counts_; }

  // Reads a page that `from` points to (null: the manifest does). False: a finding says why not.
  bool enter(page::SnapshotPageId id, page::SnapshotPageId from, page::PageBytes* to);
  // The same, and that kind and level are as its place asks.
  bool enter(page::SnapshotPageId id, page::SnapshotPageId from, page::PageKind kind,
             std::uint32_t level, page::PageBytes* to);
  // Whether kind and level are as its place asks.
  bool is_of(page::SnapshotPageId id, const page::PageBytes& block, page::PageKind kind,
             std::uint32_t level);

  // Something is wrong with the page. Null: with the manifest.
  void problem(page::SnapshotPageId page, std::string what);
  // A problem of the page, unless `is_so`.
  bool expect(bool is_so, page::SnapshotPageId page, std::string_view what) {
    if (!is_so) problem(page, std::string(what));
    return is_so;
  }

  // The TID of a record that is there: no flags, of an epoch that the snapshot covers.
  void check_tid(page::SnapshotPageId page, page::Tid tid, std::uint64_t record);
  // The payload of a record of `page`, in a chain of pages that begins at `first`.
  void chain(page::SnapshotPageId first, page::SnapshotPageId page);

 private:
  struct File {
    const snapshot::ManifestFile* about = nullptr;
    bool is_readable = false;            // else a finding says why
    std::unique_ptr<device::File> file;  // null: not open now
    std::vector<bool> is_reached;        // by page; made with the first one
    std::uint64_t reached = 0;
    snapshot::LivePages live;  // of the storage at hand
  };

  // Looks at the file itself, not at its pages.
  void check_file(File* file);
  // Null: a finding says why.
  const device::File* open(File* file);
  File* find(page::SnapshotPageId id);
  // The file of a page that may be looked at, which is marked as reached; null: it may not.
  File* reach(page::SnapshotPageId id, page::SnapshotPageId from);
  bool check_header(page::SnapshotPageId id, const page::PageBytes& block);

  // Files that are open at the same time: a snapshot can have more than a process may.
  static constexpr std::size_t kOpenMax = 128;

  device::Device* const device_;
  const snapshot::Manifest& manifest_;
  Findings* const findings_;
  const Progress progress_;
  std::vector<File> files_;  // as in the manifest
  std::size_t open_files_ = 0;
  std::uint64_t total_ = 0;
  std::uint64_t entered_ = 0;
  const snapshot::ManifestStorage* storage_ = nullptr;
  StorageCounts counts_;
  Epoch newest_record_;
};

// What one kind of storage asks of its pages, from the root on, which is not null.
void verify_array(PageWalk* walk);
void verify_hash(PageWalk* walk);
void verify_masstree(PageWalk* walk);
void verify_sequential(PageWalk* walk);

}  // namespace foedus::cli
