#include "foedus-core/engine/snapshots/snapshot_caches.h"

#include <utility>

#include "foedus-core/base/crc32c.h"
#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/engine/setup/directories.h"
#include "foedus-core/storage/page_check.h"

namespace foedus::engine {

namespace {

// The index of NvmPages in DRAM takes at most memory_bytes / kKeptPagesShare, unless the least size
// of the cache needs more.
constexpr std::uint64_t kKeptPagesShare = 16;

bool reads_lines(const Options& options) {
  return options.files.device != DeviceKind::kFile && options.pages.nvm_cache != NvmCache::kPages &&
         options.pages.snapshot_cache;
}

bool reads_in_place(const Options& options) {
  return reads_lines(options) && (options.pages.nvm_cache == NvmCache::kHybrid ||
                                  options.pages.nvm_cache == NvmCache::kDirect);
}

}  // namespace

Result<std::unique_ptr<SnapshotCaches>> SnapshotCaches::make(const Parts& parts) {
  std::unique_ptr<SnapshotCaches> caches(new SnapshotCaches(parts));
  FOEDUS_CHECK(caches->make_all());
  return caches;
}

Status SnapshotCaches::make_all() {
  const Options& options = *parts_.options;
  // SnapshotFiles checks each page that it reads by broken_rule(). The bound for epochs of records
  // is the clock's epoch, which is above all epochs that snapshots cover.
  files_ = std::make_unique<snapshot::SnapshotFiles>(
      parts_.device,
      [clock = parts_.clock](const page::PageHeader& page) {
        return storage::broken_rule(page, clock->current());
      },
      options.files.buffered_reads || reads_lines(options) ? device::Access::kRead
                                                           : device::Access::kReadDirect);
  FOEDUS_CHECK(make_io_pool());
  FOEDUS_CHECK(make_nvm_pages());
  FOEDUS_TRY(cache_,
             snapshot::PageCache::make(parts_.topology, parts_.budget, options.pages.cache_bytes,
                                       options.pages.huge_pages, options.pages.numa_binding,
                                       files_.get(), parts_.clock, parts_.lender));
  if (reads_lines(options) && !reads_in_place(options)) make_line_caches();
  return {};
}

// Makes tasks for asynchronous reads if the device has no I/O queues: many containers refuse
// io_uring.
Status SnapshotCaches::make_io_pool() {
  return base::catching([&]() -> Status {
    if (parts_.device->make_io_queue() != nullptr) return {};
    io_pool_ = std::make_unique<device::IoPool>(parts_.runtime);
    files_->set_pool(io_pool_.get());
    return {};
  });
}

// Opens the cache of SSD pages on NVM. Its index lies in DRAM. If memory_bytes has no room for the
// index, logs a warning and opens no cache: pages are then read from the SSD.
Status SnapshotCaches::make_nvm_pages() {
  const Options& options = *parts_.options;
  if (options.tiers.ssd_dirs.empty()) return {};
  KeptPagesBytes bytes = kept_pages_bytes(options);
  // Halves the cache until its index takes no more than its share of DRAM, or bytes.least is
  // reached.
  while (snapshot::NvmPages::memory_bytes(bytes.most) > options.memory_bytes / kKeptPagesShare &&
         bytes.most / 2 >= bytes.least) {
    bytes.most /= 2;
  }
  const std::uint64_t memory = snapshot::NvmPages::memory_bytes(bytes.most);
  if (!parts_.budget->try_take(memory)) {
    parts_.operator_log->say_of_gleaner(
        LogLevel::kWarning, Status::error(ErrorCode::kOutOfMemory,
                                          "no page of the SSD is kept on NVM: that takes " +
                                              std::to_string(memory) + " bytes of memory_bytes"));
    return {};
  }
  return base::catching([&]() -> Status {
    nvm_pages_ = snapshot::NvmPages::open(parts_.device, bytes.least, bytes.most);
    files_->set_nvm_pages(nvm_pages_.get());
    return {};
  });
}

void SnapshotCaches::adopt_nvm_pages(const snapshot::Manifest& manifest) {
  if (nvm_pages_ == nullptr) return;
  const Status adopted = base::catching([&]() -> Status {
    FOEDUS_TRY(const std::string bytes, snapshot::encode_manifest(manifest));
    const std::uint64_t number = static_cast<std::uint32_t>(manifest.number);
    return nvm_pages_->adopt(number << 32 | base::crc32c(bytes.data(), bytes.size()));
  });
  if (!adopted.is_ok()) parts_.operator_log->say_of_gleaner(LogLevel::kWarning, adopted);
}

void SnapshotCaches::make_line_caches() {
  const auto frames = parts_.options->pages.nvm_cache == NvmCache::kLines
                          ? snapshot::LineCache::Frames::kOfOnePage
                          : snapshot::LineCache::Frames::kMiniPages;
  for (std::uint32_t soc = 0; soc < parts_.topology->socs(); ++soc) {
    lines_.push_back(std::make_unique<snapshot::LineCache>(cache_.get(), soc, frames));
  }
}

PageReads SnapshotCaches::reads_of(std::uint32_t soc) const {
  PageReads reads{.cache = cache_.get()};
  const Options& options = *parts_.options;
  const bool is_direct = reads_in_place(options) && options.pages.nvm_cache == NvmCache::kDirect;
  if (!options.pages.snapshot_cache || is_direct) reads.page_reader = files_.get();
  if (reads_in_place(options)) reads.line_reads = occ::LineReads::kInPlace;
  if (lines_.empty()) return reads;
  reads.lines = lines_[soc].get();
  if (options.pages.nvm_cache == NvmCache::kAuto) reads.line_reads = occ::LineReads::kCachedIfFull;
  return reads;
}

void SnapshotCaches::add_stats(Stats* stats) const {
  const snapshot::PageCacheStatistics cached = cache_->statistics();
  stats->cache_hits = cached.hits;
  stats->cache_misses = cached.misses;
  stats->cache_bytes = cached.bytes;
  if (nvm_pages_ != nullptr) {
    const snapshot::NvmPagesStatistics near = nvm_pages_->statistics();
    stats->tiers.cached_bytes = near.pages * page::kPageBytes;
    stats->tiers.cached_reads = near.reads;
  }
  snapshot::LineCacheStatistics lines;
  for (const auto& of_soc : lines_) lines.add(of_soc->statistics());
  stats->cache_lines_loaded = lines.loaded;
  stats->cache_pages_outgrown = lines.outgrown;
}

}  // namespace foedus::engine
