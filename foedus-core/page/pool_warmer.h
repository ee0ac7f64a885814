#pragma once
// PoolWarmer: backs memory of the page pool ahead of its first use. A fault of 2 MiB takes 130–250
// us and must not hit a transaction. The task sleeps until the pool enters another extent, and does
// nothing while the pool reuses pages.

#include "foedus-core/base/system/task.h"
#include "foedus-core/page/page_pool.h"

namespace foedus::page {

class PoolWarmer : public base::Task {
 public:
  // Called before the pool is used. The pool and the runtime must outlive it.
  PoolWarmer(base::Runtime* runtime, PagePool* pool);

  const char* name() const override { return "foedus-pool"; }
  // Commits or backs at most one extent.
  std::uint64_t step() override;

 private:
  PagePool* const pool_;
  std::uint32_t next_soc_ = 0;  // SOCs take turns
};

}  // namespace foedus::page
