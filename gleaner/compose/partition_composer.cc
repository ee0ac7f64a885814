#include "gleaner/compose/partition_composer.h"

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/base/system/clock.h"
#include "gleaner/compose/kinds.h"

namespace foedus::gleaner {

namespace {

class NoRecords final : public RecordStream {
 public:
  const StreamRecord* next() override { return nullptr; }
};

}  // namespace

Composition PartitionComposer::composition(std::size_t index) {
  return {&(*parts_.storages)[index], (*parts_.roots)[index], &old_pages_, parts_.writer,
          &accountings_[index]};
}

Composition PartitionComposer::composition_of(page::StorageId storage) const {
  const std::uint32_t index = parts_.table->index_of(storage);
  FOEDUS_INVARIANT(index != PartitionTable::kDropped, static_cast<std::uint32_t>(storage));
  return {&(*parts_.storages)[index], (*parts_.roots)[index], parts_.previous, nullptr, nullptr};
}

std::uint64_t PartitionComposer::step() {
  if (is_done()) return kUntilNotified;
  bool has_more = false;
  const std::uint64_t begin_us = base::thread_cpu_us();
  status_ = compose_next(&has_more);
  cpu_us_ += base::thread_cpu_us() - begin_us;
  return status_.is_ok() && has_more ? 0 : end();
}

std::uint64_t PartitionComposer::step_failed(const std::bad_alloc& thrown) noexcept {
  status_ = base::out_of_memory(thrown);
  return end();
}

std::uint64_t PartitionComposer::end() {
  done_.store_release(1);  // order: see is_done()
  parts_.runtime->wake(parts_.finished);
  return kUntilNotified;
}

Status PartitionComposer::compose_next(bool* has_more) {
  FOEDUS_TRY(const std::optional<StorageStream> head, parts_.records->next_storage());
  *has_more = head.has_value();
  if (!head.has_value()) return {};
  const std::uint32_t index = parts_.table->index_of(head->storage);
  FOEDUS_INVARIANT(index != PartitionTable::kDropped, static_cast<std::uint32_t>(head->storage));
  const auto range = parts_.table->storages()[index].range_of(parts_.partition);
  FOEDUS_INVARIANT(range.has_value(), index, parts_.partition);
  FOEDUS_TRY(subtrees_[index], compose(composition(index), *range, head->records));
  return {};
}

Result<std::vector<Subtree>> PartitionComposer::compose_nothing(std::size_t index) {
  const auto range = parts_.table->storages()[index].range_of(parts_.partition);
  if (!range.has_value()) return std::vector<Subtree>();
  NoRecords none;
  return compose(composition(index), *range, &none);
}

}  // namespace foedus::gleaner
