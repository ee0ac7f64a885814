#include "foedus-core/engine/sessions/touch_count.h"

namespace foedus::engine {

namespace {

// Counts volatile pages: those in memory of `soc` as local, others as remote.
class PagesOf {
 public:
  PagesOf(const page::PagePool& pool, std::uint32_t soc) : pool_(pool), soc_(soc) {}

  void add(const page::RecordHeader* record) {
    const std::uintptr_t page = reinterpret_cast<std::uintptr_t>(record) / page::kPageBytes;
    if (page == last_page_) return;
    last_page_ = page;
    const std::uint64_t soc = pool_.soc_of(record);
    if (soc >= pool_.socs()) return;  // a snapshot page in the cache
    ++(soc == soc_ ? local : remote);
  }

  std::uint64_t local = 0;
  std::uint64_t remote = 0;

 private:
  const page::PagePool& pool_;
  const std::uint64_t soc_;
  std::uintptr_t last_page_ = 0;
};

}  // namespace

TouchCount::TouchCount(base::Runtime* runtime, const numa::Topology* topology)
    : runtime_(runtime),
      topology_(topology),
      left_(topology->socs() == 1 ? ~std::uint64_t{0} : kInterval) {}

void TouchCount::look_at(occ::TxnContext* txn) {
  left_ = kInterval;
  const numa::SocRange here = topology_->socs_of(runtime_->processor());
  PagesOf pages(txn->pool(), here.contains(txn->soc()) ? txn->soc() : here.begin);  // E47
  for (const occ::ReadEntry& read : txn->sets().reads()) pages.add(read.record);
  for (const occ::WriteEntry& write : txn->sets().writes().entries()) pages.add(write.record);
  // order: relaxed, one writer, and statistics only.
  local_.store_relaxed(local_.load_relaxed() + pages.local);
  remote_.store_relaxed(remote_.load_relaxed() + pages.remote);
}

}  // namespace foedus::engine
