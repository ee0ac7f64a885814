#include "tools/foedus/verify/page_walk.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "foedus-core/page/overflow_page.h"
#include "foedus-core/snapshot/files/format.h"
#include "foedus-core/storage/page_check.h"
#include "foedus/options.h"
#include "tools/foedus/preview.h"

namespace foedus::cli {

using page::OverflowPage;
using page::PageBytes;
using page::PageKind;
using page::SnapshotPageId;

namespace {

constexpr std::uint64_t kProgressPages = 256;

// Returns the fault of page 0, or an empty string if it has none.
std::string problem_of_page_0(const device::File& file, const snapshot::ManifestFile& about) {
  const auto block = std::make_unique<PageBytes>();
  const Result<std::size_t> read = file.read_at(0, block->bytes, sizeof(block->bytes));
  if (!read.is_ok()) return read.status().message();
  if (*read < sizeof(block->bytes)) return "the file ends in it";
  snapshot::SnapshotFileHeader header;
  std::memcpy(&header, block->bytes, sizeof(header));
  if (header.magic != snapshot::kSnapshotMagic) return "not of a snapshot file";
  if (header.crc != snapshot::checksum_of(block->bytes, sizeof(block->bytes))) {
    return "its checksum is wrong";
  }
  if (header.version != snapshot::kSnapshotFormatVersion) {
    return "it has format version " + std::to_string(header.version) + ", this program knows " +
           std::to_string(snapshot::kSnapshotFormatVersion);
  }
  if (header.snapshot != static_cast<std::uint32_t>(about.snapshot) || header.soc != about.soc) {
    return "it says that this is snapshot " + std::to_string(header.snapshot) + " of SOC " +
           std::to_string(header.soc);
  }
  return {};
}

}  // namespace

PageWalk::PageWalk(device::Device* device, const snapshot::Manifest& manifest, Findings* findings,
                   Progress progress, PageRows* rows)
    : device_(device),
      manifest_(manifest),
      findings_(findings),
      progress_(std::move(progress)),
      rows_(rows) {
  files_.resize(manifest.files.size());
  for (std::size_t i = 0; i < files_.size(); ++i) {
    files_[i].about = &manifest.files[i];
    total_ += manifest.files[i].live_pages;
    check_file(&files_[i]);
  }
}

void PageWalk::check_file(File* file) {
  const std::string name = snapshot::snapshot_name(file->about->snapshot, file->about->soc);
  const device::File* const opened = open(file);
  if (opened == nullptr) return;
  if (std::string what = problem_of_page_0(*opened, *file->about); !what.empty()) {
    findings_->add({false, name, 0, {}, std::move(what)});
    // Each other page has a checksum and its own id, so it can be used without page 0.
    file->is_readable = rows_ != nullptr;
    return;
  }
  file->is_readable = true;
  const Result<std::uint64_t> bytes = opened->size();
  const std::uint64_t expected = (std::uint64_t{file->about->pages} + 1) * page::kPageBytes;
  if (!bytes.is_ok()) {
    findings_->problem(name, bytes.status().message());
  } else if (*bytes != expected) {
    // A longer file does no harm: the bytes after `expected` are never read.
    findings_->add(
        {*bytes > expected,
         name,
         {},
         {},
         "it has " + count_of(*bytes, "byte") + " and should have " + std::to_string(expected)});
  }
}

const device::File* PageWalk::open(File* file) {
  if (file->file != nullptr) return file->file.get();
  if (open_files_ == kOpenMax) {
    for (File& other : files_) other.file.reset();
    open_files_ = 0;
  }
  const std::string name = snapshot::snapshot_name(file->about->snapshot, file->about->soc);
  auto opened = device_->open(name, device::Access::kRead);
  if (opened.is_ok()) {
    file->file = std::move(opened).value();
    open_files_ += 1;
    return file->file.get();
  }
  file->is_readable = false;
  const bool is_missing = opened.code() == ErrorCode::kNotFound;
  findings_->problem(name, is_missing ? "it is missing, and " +
                                            snapshot::manifest_name(manifest_.number) + " lists it"
                                      : opened.status().message());
  return nullptr;
}

StorageCounts PageWalk::run(const snapshot::ManifestStorage& storage) {
  storage_ = &storage;
  counts_ = {};
  for (File& file : files_) file.live = {file.about->snapshot, file.about->soc, 0, 0};
  if (storage.root.is_null()) return counts_;
  switch (storage.kind) {
    case StorageKind::kArray:
      verify_array(this);
      break;
    case StorageKind::kHash:
      verify_hash(this);
      break;
    case StorageKind::kMasstree:
      verify_masstree(this);
      break;
    case StorageKind::kSequential:
      verify_sequential(this);
      break;
  }
  if (progress_) progress_(entered_, total_);
  return counts_;
}

std::vector<snapshot::LivePages> PageWalk::live() const {
  std::vector<snapshot::LivePages> live;
  for (const File& file : files_) {
    if (file.live.pages != 0) live.push_back(file.live);
  }
  return live;
}

PageWalk::File* PageWalk::find(SnapshotPageId id) {
  const auto found = std::lower_bound(files_.begin(), files_.end(), id,
                                      [](const File& file, SnapshotPageId wanted) {
                                        return std::pair(file.about->snapshot, file.about->soc) <
                                               std::pair(wanted.snapshot(), wanted.soc());
                                      });
  if (found == files_.end() || found->about->snapshot != id.snapshot() ||
      found->about->soc != id.soc()) {
    return nullptr;
  }
  return &*found;
}

PageWalk::File* PageWalk::reach(SnapshotPageId id, SnapshotPageId from) {
  File* const file = find(id);
  if (file == nullptr) {
    problem(from, "a pointer to " + name_of(id) + ", a file that " +
                      snapshot::manifest_name(manifest_.number) + " does not list");
    return nullptr;
  }
  if (id.page() == 0 || id.page() > file->about->pages) {
    problem(from, "a pointer to " + name_of(id) + ", which has pages 1 to " +
                      std::to_string(file->about->pages));
    return nullptr;
  }
  if (file->is_reached.empty()) file->is_reached.resize(std::size_t{file->about->pages} + 1);
  if (file->is_reached[id.page()]) {
    problem(id, "a second pointer leads to it, from " +
                    (from.is_null() ? "the manifest" : name_of(from)));
    return nullptr;
  }
  file->is_reached[id.page()] = true;
  file->reached += 1;
  file->live.pages += 1;
  counts_.pages += 1;
  if (++entered_ % kProgressPages == 0 && progress_) progress_(entered_, total_);
  return file->is_readable ? file : nullptr;
}

bool PageWalk::enter(SnapshotPageId id, SnapshotPageId from, PageBytes* to) {
  const std::uint64_t before = problems();
  if (!expect(!id.is_null(), from, "a pointer to no page, where there must be one")) return false;
  File* const reached = reach(id, from);
  const device::File* const file = reached == nullptr ? nullptr : open(reached);
  if (file == nullptr) return false;
  const Result<std::size_t> read =
      file->read_at(std::uint64_t{id.page()} * page::kPageBytes, to->bytes, sizeof(to->bytes));
  if (!read.is_ok()) {
    problem(id, read.status().message());
    return false;
  }
  const bool is_whole =
      expect(*read == sizeof(to->bytes), id, "the file ends before or in it") &&
      expect(to->header()->crc32c == snapshot::checksum_of(to->bytes, sizeof(to->bytes)), id,
             "its checksum is wrong") &&
      check_header(id, *to);
  if (!is_whole) return false;
  if (snapshot::is_below_records(*to->header())) reached->live.below_records += 1;
  const page::BrokenRule rule = storage::broken_rule(*to->header(), manifest_.covered);
  if (rule != nullptr) problem(id, std::string("the database would refuse it: ") + rule);
  return !must_lose(before);
}

bool PageWalk::enter(SnapshotPageId id, SnapshotPageId from, PageKind kind, std::uint32_t level,
                     PageBytes* to) {
  return enter(id, from, to) && is_of(id, *to, kind, level);
}

bool PageWalk::check_header(SnapshotPageId id, const PageBytes& block) {
  const page::PageHeader& header = *block.header();
  if (header.page_id != id.word()) {
    problem(id, "it says that it is " + name_of(SnapshotPageId(header.page_id)));
    return false;
  }
  if (header.storage_id != storage_->id) {
    problem(id, "it is of storage " +
                    std::to_string(static_cast<std::uint32_t>(header.storage_id)) +
                    ", a pointer of storage " +
                    std::to_string(static_cast<std::uint32_t>(storage_->id)) + " leads to it");
    return false;
  }
  // order: relaxed, no other thread has the block.
  expect(header.lock.load_relaxed() == 0, id, "it is locked");
  return expect(!page::PageVersion(header.version.load_relaxed()).is_gone(), id,
                "it says that it was moved, retired or dropped");
}

bool PageWalk::is_of(SnapshotPageId id, const PageBytes& block, PageKind kind,
                     std::uint32_t level) {
  const page::PageHeader& header = *block.header();
  if (header.kind == kind && header.level == level) return true;
  problem(id, "it is of kind " + std::to_string(static_cast<unsigned>(header.kind)) + ", level " +
                  std::to_string(header.level) + "; in its place is kind " +
                  std::to_string(static_cast<unsigned>(kind)) + ", level " + std::to_string(level));
  return false;
}

void PageWalk::problem(SnapshotPageId page, std::string what) {
  Finding finding;
  if (page.is_null()) {
    finding.file = snapshot::manifest_name(manifest_.number);
  } else {
    finding.file = snapshot::snapshot_name(page.snapshot(), page.soc());
    finding.page = page.page();
  }
  if (storage_ != nullptr) finding.storage = storage_->name;
  finding.what = std::move(what);
  findings_->add(std::move(finding));
}

void PageWalk::check_tid(SnapshotPageId page, page::Tid tid, std::uint64_t record) {
  const std::string which = "record " + std::to_string(record);
  if ((tid.word() & page::Tid::kFlags) != 0) {
    problem(page, which + " has TID flags " + std::to_string(tid.word() & page::Tid::kFlags));
  }
  if (!tid.epoch().is_valid() || tid.epoch() > manifest_.covered) {
    problem(page, which + " is of epoch " + std::to_string(tid.epoch().number()) +
                      ", the snapshot covers epochs 1 to " +
                      std::to_string(manifest_.covered.number()));
    return;
  }
  newest_record_ = std::max(newest_record_, tid.epoch());
}

std::optional<std::string> PageWalk::chain(SnapshotPageId first, SnapshotPageId page) {
  const auto block = std::make_unique<PageBytes>();
  std::string payload;
  counts_.chains += 1;
  std::uint32_t all = 0;
  std::uint64_t done = 0;
  SnapshotPageId from = page;
  SnapshotPageId id = first;
  do {
    if (!enter(id, from, PageKind::kOverflow, 0, block.get())) return std::nullopt;
    const auto& part = *block->as<OverflowPage>();
    if (done == 0) {
      all = part.payload_bytes;
      if (!expect(all != 0 && all <= kMaxPayloadBytes, id, "a payload of impossible size")) {
        return std::nullopt;
      }
      counts_.payload_bytes += all;
    }
    const auto here = std::min<std::uint64_t>(all - done, OverflowPage::kDataBytes);
    if (!expect(part.payload_bytes == all && part.bytes_here == here, id,
                "it is not the next part of the payload that leads to it")) {
      return std::nullopt;
    }
    if (gives_rows()) payload.append(part.data, here);
    counts_.chain_pages += 1;
    done += here;
    from = id;
    id = SnapshotPageId(part.next_page);
  } while (done < all);
  if (!expect(id.is_null(), from, "a next page behind the end of its payload")) return std::nullopt;
  return payload;
}

}  // namespace foedus::cli
