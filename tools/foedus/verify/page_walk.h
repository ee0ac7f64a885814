#pragma once
// PageWalk: visits every page of a snapshot once, from the roots of its manifest on.
//
//   enter(page) ── in a listed file? reached before? bytes, checksum, identity ──► its kind's file
//     verify_<kind>.cc ── order, fences, counts, pointers ──► enter(next page) …
//
//   W1  Depth first: in memory are the pages of one path, the runs of one sequential storage, and
//       one bit for each page of the files.
//   W2  A page is entered once. A second pointer to it is a problem and not followed, so that a
//       walk ends whatever the pages say.
//   W3  Nothing that a page says is used before it was checked: a page may hold any bytes, with the
//       right checksum.
//   W4  A page that cannot be trusted is a problem, and what lies below it is not looked at.
//   W5  The walk shares only the layouts with the writers of pages. A page that the database
//       refuses to read (storage/page_check.h) is a problem, whatever is found here besides.
//   W6, W7  page_rows.h: rows are handed on, if a reader asks for them.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foedus-core/device/device.h"
#include "foedus-core/page/page_bytes.h"
#include "foedus-core/page/page_header.h"
#include "foedus-core/page/page_id.h"
#include "foedus-core/page/tid.h"
#include "foedus-core/snapshot/files/live_pages.h"
#include "foedus-core/snapshot/files/manifest.h"
#include "tools/foedus/finding.h"
#include "tools/foedus/verify/page_rows.h"

namespace foedus::cli {

// Pages entered so far, and about how many there are.
using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

struct StorageCounts {
  std::uint64_t pages = 0;    // those of chains included
  std::uint64_t records = 0;  // of an array: those ever written to
  std::uint64_t payload_bytes = 0;
  std::uint64_t chains = 0;  // payloads that are too large for a page
  std::uint64_t chain_pages = 0;
  std::uint32_t levels = 0;  // pages on the longest path, in each layer of a Master-Tree
  std::uint32_t layers = 0;  // of a Master-Tree
};

class PageWalk {
 public:
  // `rows` takes the rows (W6, W7); null: none are wanted. REQUIRES: device, manifest, findings and
  // rows outlive the walk.
  PageWalk(device::Device* device, const snapshot::Manifest& manifest, Findings* findings,
           Progress progress, PageRows* rows = nullptr);
  PageWalk(const PageWalk&) = delete;
  PageWalk& operator=(const PageWalk&) = delete;

  // Visits all pages of one storage.
  StorageCounts run(const snapshot::ManifestStorage& storage);
  // Returns how many pages were entered of a file, which is named by its place in the manifest.
  std::uint64_t reached(std::size_t file) const { return files_[file].reached; }
  // Returns the newest epoch of all records that were checked; invalid if there was none.
  Epoch newest_record() const { return newest_record_; }

  // Returns the pages that the last run() entered, by file, as a manifest lists them.
  std::vector<snapshot::LivePages> live() const;

  // ---- for verify_<kind>.cc --------------------------------------------------------------------

  const snapshot::Manifest& manifest() const { return manifest_; }
  const snapshot::ManifestStorage& storage() const { return *storage_; }
  StorageCounts& counts() { return counts_; }

  // Reads a page that `from` points to (null: the manifest does). Returns false after a finding.
  bool enter(page::SnapshotPageId id, page::SnapshotPageId from, page::PageBytes* to);
  // Reads a page and checks that its kind and level are those of its place.
  bool enter(page::SnapshotPageId id, page::SnapshotPageId from, page::PageKind kind,
             std::uint32_t level, page::PageBytes* to);
  // Returns whether the kind and level of a page are those of its place; if not, adds a finding.
  bool is_of(page::SnapshotPageId id, const page::PageBytes& block, page::PageKind kind,
             std::uint32_t level);

  // Adds a finding about the page, or, if it is null, about the manifest.
  void problem(page::SnapshotPageId page, std::string what);
  // Adds a finding about the page unless `is_so`, which is returned.
  bool expect(bool is_so, page::SnapshotPageId page, std::string_view what) {
    if (!is_so) problem(page, std::string(what));
    return is_so;
  }

  // Checks the TID of a present record: no flags, an epoch that the snapshot covers.
  void check_tid(page::SnapshotPageId page, page::Tid tid, std::uint64_t record);
  // Checks the chain of pages from `first` on that has the payload of a record of `page`. Returns
  // the payload, or nullopt after a finding.
  std::optional<std::string> chain(page::SnapshotPageId first, page::SnapshotPageId page);

  // Returns true if the rows are wanted, so that damage does not end the walk through a run.
  bool gives_rows() const { return rows_ != nullptr; }
  std::uint64_t problems() const { return findings_->problems(); }
  // Returns true if rows are wanted and findings came after the first `problems` ones: the page
  // that was checked since then is lost (W6).
  bool must_lose(std::uint64_t problems) const {
    return rows_ != nullptr && findings_->problems() != problems;
  }
  void give(const PageRow& row) {
    if (rows_ != nullptr) rows_->row(row);
  }
  void lose(const LostRows& rows) {
    if (rows_ != nullptr) rows_->lost(rows);
  }

 private:
  struct File {
    const snapshot::ManifestFile* about = nullptr;
    bool is_readable = false;            // if not, a finding says why
    std::unique_ptr<device::File> file;  // null: not open now
    std::vector<bool> is_reached;        // by page; made with the first one
    std::uint64_t reached = 0;
    snapshot::LivePages live;  // of the storage at hand
  };

  // Checks the file itself, not its pages.
  void check_file(File* file);
  // Returns the open file, or null after a finding.
  const device::File* open(File* file);
  File* find(page::SnapshotPageId id);
  // Marks a page as reached and returns its file, or null after a finding if it must not be read.
  File* reach(page::SnapshotPageId id, page::SnapshotPageId from);
  bool check_header(page::SnapshotPageId id, const page::PageBytes& block);

  // Files that are open at the same time: a snapshot can have more than a process may.
  static constexpr std::size_t kOpenMax = 128;

  device::Device* const device_;
  const snapshot::Manifest& manifest_;
  Findings* const findings_;
  const Progress progress_;
  PageRows* const rows_;
  std::vector<File> files_;  // as in the manifest
  std::size_t open_files_ = 0;
  std::uint64_t total_ = 0;
  std::uint64_t entered_ = 0;
  const snapshot::ManifestStorage* storage_ = nullptr;
  StorageCounts counts_;
  Epoch newest_record_;
};

// Check the pages of the walk's storage, of one kind each, from the root on. REQUIRES: the root is
// not null.
void verify_array(PageWalk* walk);
void verify_hash(PageWalk* walk);
void verify_masstree(PageWalk* walk);
void verify_sequential(PageWalk* walk);

}  // namespace foedus::cli
