#pragma once
// Stands in for page/session_pages.h: a session with an unlimited number of pages.

#include <cstdint>

#include "foedus-core/page/page_header.h"
#include "foedus-core/page/page_pool.h"

namespace foedus::page {

class SessionPages {
 public:
  explicit SessionPages(PagePool* pool) : pool_(pool) {}

  PageHeader* allocate() { return pool_->resolve(VolatilePageId(0, ++last_)); }
  void release(PageHeader*) {}
  void retire(PageHeader*) {}

 private:
  PagePool* pool_;
  std::uint64_t last_ = 0;
};

}  // namespace foedus::page
