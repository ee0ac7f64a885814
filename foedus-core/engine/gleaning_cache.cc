// Gleaning: the caches of snapshot pages, and the tasks that read files for them.
#include <algorithm>
#include <utility>

#include "foedus-core/base/crc32c.h"
#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/engine/directories.h"
#include "foedus-core/engine/engine.h"
#include "foedus-core/engine/gleaning.h"
#include "foedus-core/storage/page_check.h"

namespace foedus::engine {

namespace {

// Least memory of volatile pages for each installer; its stock is a sixty-fourth of that.
constexpr std::uint64_t kPageBytesPerInstaller = 32u << 20;
// At most one part in this many of memory holds the directory of NvmPages.
constexpr std::uint64_t kKeptPagesShare = 16;

bool reads_lines(const Options& options) {
  return options.device != DeviceKind::kFile && options.nvm_cache != NvmCache::kPages &&
         options.snapshot_cache;
}

bool reads_in_place(const Options& options) {
  return reads_lines(options) &&
         (options.nvm_cache == NvmCache::kHybrid || options.nvm_cache == NvmCache::kDirect);
}

}  // namespace

Status Gleaning::make_cache() {
  const Options& options = engine_->options();
  // SnapshotFiles checks pages against the clock, whose epoch is above all that a snapshot covers.
  files_ = std::make_unique<snapshot::SnapshotFiles>(
      engine_->device(), [clock = &engine_->clock()](const page::PageHeader& page) {
        return storage::broken_rule(page, clock->current());
      },
      options.buffered_reads || reads_lines(options) ? device::Access::kRead
                                                     : device::Access::kReadDirect);
  FOEDUS_CHECK(make_device_tasks());
  FOEDUS_CHECK(make_nvm_pages());
  FOEDUS_TRY(cache_,
             snapshot::PageCache::make(&engine_->topology(), &engine_->budget(),
                                       options.glean.cache_bytes, options.huge_pages,
                                       options.numa_binding, files_.get(), &engine_->clock(),
                                       engine_->cache_borrows() ? &engine_->pool() : nullptr));
  if (reads_lines(options) && !reads_in_place(options)) make_line_caches();
  pages_ = std::make_unique<page::SessionPages>(&engine_->pool(), &engine_->clock(), 0);
  pages_->fill_stock();  // to exchange pages takes pages
  const std::uint64_t most = engine_->pool().bytes_max() / kPageBytesPerInstaller;
  const auto installers =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(options.glean.installers, most));
  if (installers > 1) {
    install_threads_ = std::make_unique<InstallThreads>(
        engine_, installers, storage::InstallWorkers::Worker{pages_.get(), session_, 0},
        install_sessions_);
  }
  last_us_ = engine_->runtime().now_us();
  return {};
}

// Makes tasks that read where the system refuses io_uring, as many containers do.
Status Gleaning::make_device_tasks() {
  return base::catching([&]() -> Status {
    closer_ = std::make_unique<device::FileCloser>(&engine_->runtime());
    if (engine_->device()->make_read_queue() != nullptr) return {};
    read_pool_ = std::make_unique<device::ReadPool>(&engine_->runtime());
    files_->set_pool(read_pool_.get());
    return {};
  });
}

// Opens the cache of SSD pages on NVM. Without memory for it, pages are read from the SSD.
Status Gleaning::make_nvm_pages() {
  const Options& options = engine_->options();
  if (options.ssd_dirs.empty()) return {};
  KeptPagesBytes bytes = kept_pages_bytes(options);
  // Halves the cache until its directory fits into DRAM.
  while (snapshot::NvmPages::memory_bytes(bytes.most) > options.memory_bytes / kKeptPagesShare &&
         bytes.most / 2 >= bytes.least) {
    bytes.most /= 2;
  }
  const std::uint64_t memory = snapshot::NvmPages::memory_bytes(bytes.most);
  if (!engine_->budget().try_take(memory)) {
    engine_->operator_log().say_of_gleaner(
        LogLevel::kWarning, Status::error(ErrorCode::kOutOfMemory,
                                          "no page of the SSD is kept on NVM: that takes " +
                                              std::to_string(memory) + " bytes of memory_bytes"));
    return {};
  }
  return base::catching([&]() -> Status {
    nvm_pages_ = snapshot::NvmPages::open(engine_->device(), bytes.least, bytes.most);
    files_->set_nvm_pages(nvm_pages_.get());
    return {};
  });
}

// Adopts the pages that an earlier run kept (K27). After a failure, pages are read from the SSD.
void Gleaning::adopt_nvm_pages(const snapshot::Manifest& manifest) {
  if (nvm_pages_ == nullptr) return;
  const Status adopted = base::catching([&]() -> Status {
    FOEDUS_TRY(const std::string bytes, snapshot::encode_manifest(manifest));
    const std::uint64_t number = static_cast<std::uint32_t>(manifest.number);
    return nvm_pages_->adopt(number << 32 | base::crc32c(bytes.data(), bytes.size()));
  });
  if (!adopted.is_ok()) engine_->operator_log().say_of_gleaner(LogLevel::kWarning, adopted);
}

void Gleaning::make_line_caches() {
  const auto frames = engine_->options().nvm_cache == NvmCache::kLines
                          ? snapshot::LineCache::Frames::kOfOnePage
                          : snapshot::LineCache::Frames::kMiniPages;
  for (std::uint32_t soc = 0; soc < engine_->topology().socs(); ++soc) {
    lines_.push_back(std::make_unique<snapshot::LineCache>(cache_.get(), soc, frames));
  }
}

void Gleaning::lend_cache(EngineSession::Parts* parts) const {
  parts->cache = cache_.get();
  const Options& options = engine_->options();
  const bool is_direct = reads_in_place(options) && options.nvm_cache == NvmCache::kDirect;
  if (!options.snapshot_cache || is_direct) parts->page_reader = files_.get();
  if (reads_in_place(options)) parts->line_reads = occ::LineReads::kInPlace;
  if (lines_.empty()) return;
  parts->lines = lines_[parts->soc].get();
  if (options.nvm_cache == NvmCache::kAuto) parts->line_reads = occ::LineReads::kCachedIfFull;
}

void Gleaning::add_cache_stats(Stats* stats) const {
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
