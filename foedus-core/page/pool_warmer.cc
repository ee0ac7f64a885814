#include "foedus-core/page/pool_warmer.h"

namespace foedus::page {

PoolWarmer::PoolWarmer(base::Runtime* runtime, PagePool* pool) : pool_(pool) {
  pool_->notify_on_growth(runtime, this);
}

std::uint64_t PoolWarmer::step() {
  for (std::uint32_t tried = 0; tried < pool_->socs(); ++tried) {
    const std::uint32_t soc = next_soc_;
    next_soc_ = (next_soc_ + 1) % pool_->socs();
    if (pool_->warm(soc)) return 0;
  }
  return kUntilNotified;
}

}  // namespace foedus::page
