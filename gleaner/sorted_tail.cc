#include "gleaner/sorted_tail.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "foedus-core/base/invariant.h"
#include "gleaner/glean.h"
#include "gleaner/reduce/reducer.h"

namespace foedus::gleaner {

namespace {

class SortedOrder final : public engine::SortedTail {
 public:
  explicit SortedOrder(engine::GleanOrder order) : order_(std::move(order)), glean_(order_) {
    if (order_.previous == nullptr) return;
    previous_ = *order_.previous;
    order_.previous = &*previous_;
  }

  Status sort() {
    FOEDUS_CHECK(glean_.sort());
    collect();
    return {};
  }

  bool is_in_memory() const override { return is_in_memory_; }
  std::uint64_t bytes() const override {
    std::uint64_t bytes = 0;
    for (const auto& reducer : glean_.reducers()) bytes += reducer->bytes_in_memory();
    return bytes;
  }
  const std::vector<storage_meta::StorageMeta>& storages() const override {
    return order_.storages;
  }
  std::size_t record_count(std::size_t storage) const override {
    std::size_t count = 0;
    for (const SortedGroup& part : parts_[storage]) count += part.items.size();
    return count;
  }

  const log::LogRecord& record(std::size_t storage, std::size_t index) const override {
    for (const SortedGroup& part : parts_[storage]) {
      if (index < part.items.size()) return *part.entry(index).log();
      index -= part.items.size();
    }
    FOEDUS_INVARIANT(false, storage, index);
  }

  std::size_t find(std::size_t storage, std::string_view key) const override {
    const std::uint64_t position = position_of(order_.storages[storage].kind, key);
    std::size_t before = 0;
    for (const SortedGroup& part : parts_[storage]) {
      // The search compares keys only where positions are equal.
      const auto [first, last] = std::ranges::equal_range(part.items, position, {},
                                                          &SortItem::position);
      const auto key_of = [&](const SortItem& item) {
        return item.entry(part.memory)->log()->key();
      };
      const auto at = std::ranges::lower_bound(first, last, key, {}, key_of);
      before += static_cast<std::size_t>(at - part.items.begin());
      if (at != part.items.end()) break;
    }
    return before;
  }

  void follow(const snapshot::Manifest& previous) override {
    FOEDUS_INVARIANT(previous_.has_value() && previous_->covered == previous.covered);
    *previous_ = previous;
  }

  Result<snapshot::Manifest> compose(GleanReport* report) override {
    return glean_.compose(report);
  }

 private:
  // Collects each storage's parts in the order of reducers. Partitions ascend with positions (G10),
  // so the parts one after another are in the storage's order.
  void collect() {
    parts_.resize(order_.storages.size());
    for (const auto& reducer : glean_.reducers()) {
      is_in_memory_ = is_in_memory_ && reducer->is_all_in_memory();
      page::StorageId before{};
      for (const SortedGroup& group : reducer->in_memory()) {
        is_in_memory_ = is_in_memory_ && group.storage != before;
        before = group.storage;
        const auto meta = std::ranges::lower_bound(order_.storages, group.storage, {},
                                                   &storage_meta::StorageMeta::id);
        FOEDUS_INVARIANT(meta != order_.storages.end() && meta->id == group.storage,
                         static_cast<std::uint32_t>(group.storage));
        const auto storage = static_cast<std::size_t>(meta - order_.storages.begin());
        parts_[storage].push_back(group);
      }
    }
  }

  engine::GleanOrder order_;
  std::optional<snapshot::Manifest> previous_;  // the order points to it
  Glean glean_;
  bool is_in_memory_ = true;
  std::vector<std::vector<SortedGroup>> parts_;  // by storage; only parts with records
};

}  // namespace

Result<std::unique_ptr<engine::SortedTail>> sort_order(engine::GleanOrder order) {
  auto sorted = std::make_unique<SortedOrder>(std::move(order));
  FOEDUS_CHECK(sorted->sort());
  return std::unique_ptr<engine::SortedTail>(std::move(sorted));
}

}  // namespace foedus::gleaner
