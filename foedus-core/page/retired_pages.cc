#include "foedus-core/page/retired_pages.h"

#include <new>
#include <utility>

#include "foedus-core/base/invariant.h"

namespace foedus::page {

struct RetiredPages::Chunk {
  struct Entry {
    VolatilePageId id;
    std::uint64_t stamp;
  };
  static constexpr std::uint32_t kEntries = (kPageBytes - 24) / sizeof(Entry);

  explicit Chunk(bool heap) : is_on_heap(heap) {}

  Chunk* next = nullptr;
  std::uint32_t begin = 0;  // entries before it were popped
  std::uint32_t end = 0;    // entries before it were pushed
  bool is_on_heap;
  Entry entries[kEntries];
};

RetiredPages::~RetiredPages() {
  static_assert(sizeof(Chunk) <= kPageBytes);
  while (first_ != nullptr) {
    Chunk* const chunk = std::exchange(first_, first_->next);
    if (chunk->is_on_heap) delete chunk;
  }
}

std::uint64_t RetiredPages::oldest_stamp() const {
  if (count() == 0) return kNever;
  // Chunks before the last are not empty: pop() drops them when they become so.
  FOEDUS_INVARIANT(first_->begin < first_->end, first_->begin, first_->end);
  return first_->entries[first_->begin].stamp;
}

bool RetiredPages::has_room() const { return last_ != nullptr && last_->end < Chunk::kEntries; }

bool RetiredPages::try_add_chunk(PageHeader* page) {
  FOEDUS_INVARIANT(count() != 0 || first_ == nullptr, count());
  Chunk* const chunk = page != nullptr ? new (static_cast<void*>(page)) Chunk(false)
                                       : new (std::nothrow) Chunk(true);
  if (chunk == nullptr) return false;
  if (first_ == nullptr) {
    first_ = chunk;
  } else {
    last_->next = chunk;
  }
  last_ = chunk;
  return true;
}

void RetiredPages::push(VolatilePageId id, std::uint64_t stamp) {
  FOEDUS_INVARIANT(has_room(), count());
  last_->entries[last_->end++] = {id, stamp};
  count_.store_relaxed(count() + 1);  // order: a statistic for others
}

VolatilePageId RetiredPages::pop(PageHeader** emptied) {
  FOEDUS_INVARIANT(count() != 0);
  Chunk* const chunk = first_;
  const VolatilePageId id = chunk->entries[chunk->begin++].id;
  count_.store_relaxed(count() - 1);  // order: a statistic for others
  *emptied = nullptr;
  if (chunk->begin == chunk->end) {
    first_ = chunk->next;
    if (first_ == nullptr) last_ = nullptr;
    if (chunk->is_on_heap) {
      delete chunk;
    } else {
      *emptied = reinterpret_cast<PageHeader*>(chunk);
    }
  }
  return id;
}

void RetiredPages::append(RetiredPages* other) {
  FOEDUS_INVARIANT(other != this);
  if (other->count() == 0) return;
  if (first_ == nullptr) {
    first_ = other->first_;
  } else {
    last_->next = other->first_;
  }
  last_ = other->last_;
  // order: relaxed twice, a statistic for others.
  count_.store_relaxed(count() + other->count());
  other->count_.store_relaxed(0);
  other->first_ = nullptr;
  other->last_ = nullptr;
}

}  // namespace foedus::page
