// foedus/txn.h: operations on arrays and sequential storages.
#include <algorithm>
#include <memory>
#include <string>

#include "foedus-core/engine/txn_calls.h"
#include "foedus-core/occ/read_range.h"
#include "foedus-core/storage/array/array_calls.h"
#include "foedus-core/storage/array/array_snapshot_read.h"
#include "foedus-core/storage/array/array_storage.h"
#include "foedus-core/storage/sequential/sequential_storage.h"
#include "foedus/txn.h"

namespace foedus {

namespace {

namespace array = storage::array;
using engine::Call;

std::string_view index_bytes(const std::uint64_t& index) {
  return {reinterpret_cast<const char*>(&index), sizeof(index)};
}

// Reads in the rare ways: with a record lock, or from a snapshot.
[[gnu::noinline]] Status read_otherwise(const Call& call, std::uint64_t index, bool for_update,
                                        occ::ReadRange* range) {
  if (call.context().read_mode() != occ::ReadMode::kSnapshot) {
    return array::get_for_update(call.context(), call.control(), index, range);
  }
  if (for_update) return call.no_lock_in_snapshot();
  return array::get_in_snapshot(call.context(), call.control(), call.root_in_snapshot(), index,
                                range);
}

Status read(const Call& call, std::uint64_t index, bool for_update, std::uint32_t offset,
            std::span<std::byte> out) {
  FOEDUS_CHECK(call.check_index(index, false));
  FOEDUS_CHECK(call.check_part(offset, out.size()));
  occ::ReadRange range;
  range.out = reinterpret_cast<char*>(out.data());
  range.out_bytes = static_cast<std::uint32_t>(out.size());
  range.offset = offset;
  if (for_update || call.context().read_mode() != occ::ReadMode::kOptimistic) [[unlikely]] {
    Status status = read_otherwise(call, index, for_update, &range);
    call.explain(&status, index_bytes(index));
    return status;
  }
  Status status = array::get(call.context(), call.control(), index, &range);
  call.explain(&status, index_bytes(index));
  return status;
}

[[gnu::noinline]] Status read_slowly(engine::SessionSlot* slot, std::uint64_t turn,
                                     const Array& storage, std::uint64_t index,
                                     std::uint32_t offset, std::span<std::byte> out) {
  return engine::operation(slot, turn, [&]() FOEDUS_IN_LINE -> Status {
    return read(Call(slot, turn, storage), index, false, offset, out);
  });
}

// Reads in the common case: the record is in a volatile page, and is not being written. Returns
// false in other cases: the caller must then call read(), and `out` may hold bytes of a torn read.
[[gnu::always_inline]] inline bool try_read(const Call& call, std::uint64_t index,
                                            std::uint32_t offset, std::span<std::byte> out) {
  return call.is_ready_for(index, offset, out.size()) &&
         call.context().read_mode() == occ::ReadMode::kOptimistic &&
         array::try_get(call.context(), call.control(),
                        array::find_volatile(call.context().pool(), call.control(), index), offset,
                        out);
}

// The fast path of a user's read: makes the Call, then calls the other try_read(). Returns false
// where that one does, and if the session has to announce its operations (E36). The caller then
// calls read_slowly(), which announces the read.
[[gnu::always_inline]] inline bool try_read(engine::SessionSlot* slot, std::uint64_t turn,
                                            const Array& storage, std::uint64_t index,
                                            std::uint32_t offset, std::span<std::byte> out) {
  if (slot->is_tracked.load_relaxed() != 0) [[unlikely]] return false;  // order: constant
  return try_read(Call(slot, turn, storage), index, offset, out);
}

// Prefetches the record. Returns whether a read of a page may be pending: the caller then calls
// ColdPages::send() if the device is to begin at once.
bool prefetch_one(const Call& call, std::uint64_t index) {
  if (!call.is_ready_for(index, 0, 0)) return false;
  occ::TxnContext& context = call.context();
  if (call.is_of_snapshot()) [[unlikely]] {
    const page::SnapshotPageId root = call.root_in_snapshot();
    base::trying([&] { array::prefetch_in_snapshot(context, call.control(), root, index); });
    return true;
  }
  if (array::try_prefetch(context.pool(), call.control(), index)) [[likely]] return false;
  base::trying([&] { array::prefetch(context, call.control(), index); });
  return true;
}

[[gnu::noinline]] void prefetch_slowly(engine::SessionSlot* slot, std::uint64_t turn,
                                       const Array& storage, std::uint64_t index) {
  const engine::OperationMark mark(slot, turn);
  const Call call(slot, turn, storage);
  if (!prefetch_one(call, index)) return;
  base::trying([&] { call.context().cold_pages().send(); });
}

// Does what Txn::prefetch() does.
[[gnu::always_inline]] inline void prefetch_of(engine::SessionSlot* slot, std::uint64_t turn,
                                               const Array& storage, std::uint64_t index) {
  if (slot->is_tracked.load_relaxed() == 0) [[likely]] {  // order: constant
    const Call call(slot, turn, storage);
    if (!call.is_ready_for(index, 0, 0)) return;
    const bool is_begun =
        !call.is_of_snapshot() && array::try_prefetch(call.context().pool(), call.control(), index);
    if (is_begun) [[likely]]
      return;
  }
  prefetch_slowly(slot, turn, storage, index);
}

// Writes to a record that find_to_write() has returned. Being a function, it constructs its Status
// in the caller's result, without a move.
[[gnu::always_inline]] inline Status write_found(const Call& call, page::RecordHeader* record,
                                                 std::uint64_t index, std::uint32_t offset,
                                                 std::string_view part) {
  Status status = array::add_write(call.context(), call.control(), record, index, offset, part);
  call.explain(&status, index_bytes(index));
  return status;
}

// Begins one of the reads of get_many(). Returns the record if it is in a volatile page. Otherwise
// prefetches the record's snapshot page, and returns null. Returns null, too, if the request is out
// of range. REQUIRES: is_ready_to_read().
[[gnu::always_inline]] inline page::RecordHeader* begin_read(const Call& call,
                                                             const array::ArrayShape& shape,
                                                             bool is_of_snapshot,
                                                             const ArrayReadRequest& request) {
  if (!call.is_within(request.index, request.offset, request.out.size())) [[unlikely]] {
    return nullptr;
  }
  if (!is_of_snapshot) [[likely]] {
    page::RecordHeader* const record =
        array::find_volatile(call.context().pool(), call.control(), shape, request.index);
    if (record != nullptr) [[likely]] {
      array::prefetch_part(record, request.offset, request.out.size());
      return record;
    }
  }
  prefetch_one(call, request.index);
  return nullptr;
}

}  // namespace

Txn::Txn(engine::EngineSession* session)
    : slot_(&session->slot()), turn_(session->context().turn()) {}

Txn::Txn(Txn&& other) noexcept : slot_(other.slot_), turn_(std::exchange(other.turn_, kNoTurn)) {}

Txn::~Txn() { rollback(); }

Status Txn::wrong_size(const Storage& storage, std::size_t found, std::size_t expected,
                       std::string_view key) const {
  return base::catching([&]() -> Status {
    FOEDUS_CHECK(Call(slot_, turn_, storage).check(false));
    Status status = Status::error(ErrorCode::kInvalidArgument,
                                  "the payload has " + std::to_string(found) +
                                      " bytes, the type " + std::to_string(expected));
    status.at_key(key.data(), key.size());
    return std::move(status.at_storage(storage.name()));
  });
}

Status Txn::get(const Array& storage, std::uint64_t index, std::span<std::byte> out) {
  if (try_read(slot_, turn_, storage, index, 0, out)) [[likely]] return {};
  return read_slowly(slot_, turn_, storage, index, 0, out);
}

Status Txn::read_at(const Array& storage, std::uint64_t index, std::uint32_t offset,
                    std::span<std::byte> out) {
  if (try_read(slot_, turn_, storage, index, offset, out)) [[likely]] return {};
  return read_slowly(slot_, turn_, storage, index, offset, out);
}

Status Txn::get_for_update(const Array& storage, std::uint64_t index, std::span<std::byte> out) {
  return engine::operation(slot_, turn_, [&]() FOEDUS_IN_LINE -> Status {
    return read(Call(slot_, turn_, storage), index, true, 0, out);
  });
}

Status Txn::get_many(const Array& storage, std::span<ArrayReadRequest> requests) {
  return engine::operation(slot_, turn_, [&]() FOEDUS_IN_LINE -> Status {
    const Call call(slot_, turn_, storage);
    FOEDUS_CHECK(call.check(false));
    // Asks once for all requests. The answer stays true: no row begins to wait (E38) after the
    // storage's first use, and a read that dooms the transaction ends this call.
    const bool is_ready = call.is_ready_to_read();
    const bool is_of_snapshot = call.is_of_snapshot();
    const bool is_optimistic = call.context().read_mode() == occ::ReadMode::kOptimistic;
    const bool has_written = !call.context().sets().writes().is_empty();
    const array::ArrayShape shape = array::shape_of(call.control()->meta.payload_bytes);
    constexpr std::size_t kAhead = engine::kPrefetchDistance;
    page::RecordHeader* begun[kAhead];
    const auto begin = [&](std::size_t i) FOEDUS_IN_LINE {
      begun[i % kAhead] =
          is_ready ? begin_read(call, shape, is_of_snapshot, requests[i]) : nullptr;
    };
    const std::size_t count = requests.size();
    for (std::size_t i = 0; i < std::min(kAhead, count); ++i) begin(i);
    for (std::size_t i = 0; i < count; ++i) {
      const ArrayReadRequest& due = requests[i];
      // The record may have moved since it was found. If so, try_get() sees that in the record's
      // TID, and fails.
      const bool is_read = is_optimistic &&
                           array::try_get(call.context(), call.control(), begun[i % kAhead],
                                          due.offset, due.out, has_written);
      if (i + kAhead < count) begin(i + kAhead);
      if (is_read) [[likely]] continue;
      FOEDUS_CHECK(read(call, due.index, false, due.offset, due.out));
    }
    return {};
  });
}

void Txn::prefetch(const Array& storage, std::uint64_t index) {
  prefetch_of(slot_, turn_, storage, index);
}

Status Txn::put(const Array& storage, std::uint64_t index, std::string_view payload) {
  if (payload.size() == storage.payload_bytes()) return write_at(storage, index, 0, payload);
  return engine::operation(slot_, turn_, [&]() FOEDUS_IN_LINE -> Status {
    FOEDUS_CHECK(Call(slot_, turn_, storage).check_index(index, true));
    return wrong_size(storage, storage.payload_bytes(), payload.size());
  });
}

Status Txn::write_at(const Array& storage, std::uint64_t index, std::uint32_t offset,
                     std::string_view part) {
  // The fast path announces no operation, so it is only for sessions that need not (E36).
  if (slot_->is_tracked.load_relaxed() == 0) [[likely]] {  // order: constant
    const Call call(slot_, turn_, storage);
    page::RecordHeader* const record = call.is_ready_to_write(index, offset, part.size())
                                           ? array::find_to_write(call.context(), call.control(),
                                                                  index)
                                           : nullptr;
    if (record != nullptr) [[likely]] {
      return write_found(call, record, index, offset, part);
    }
  }
  return engine::operation(slot_, turn_, [&]() FOEDUS_IN_LINE -> Status {
    const Call call(slot_, turn_, storage);
    FOEDUS_CHECK(call.check_index(index, true));
    FOEDUS_CHECK(call.check_part(offset, part.size()));
    Status status = array::write_at(call.context(), call.control(), index, offset, part);
    call.explain(&status, index_bytes(index));
    return status;
  });
}

Status Txn::increment(const Array& storage, std::uint64_t index, std::uint32_t offset,
                      std::int64_t delta) {
  return engine::operation(slot_, turn_, [&]() FOEDUS_IN_LINE -> Status {
    const Call call(slot_, turn_, storage);
    FOEDUS_CHECK(call.check_index(index, true));
    FOEDUS_CHECK(call.check_part(offset, sizeof(delta)));
    Status status = array::increment(call.context(), call.control(), index, offset, delta);
    call.explain(&status, index_bytes(index));
    return status;
  });
}

ArrayScan Txn::scan(const Array& storage, std::uint64_t low, std::uint64_t high,
                    ArrayScanOptions options) {
  ArrayScan scan;
  scan.slot_ = slot_;
  scan.turn_ = turn_;
  scan.storage_ = storage;
  scan.low_ = low;
  scan.high_ = std::min(high, storage.records());
  scan.reverse_ = options.reverse;
  scan.count_ = std::min(scan.high_ - std::min(scan.low_, scan.high_), options.limit);
  scan.failure_ = base::catching([&]() -> Status {
    FOEDUS_CHECK(Call(slot_, turn_, storage).check(false));
    scan.payload_ = std::make_unique_for_overwrite<std::byte[]>(storage.payload_bytes());
    return {};
  });
  scan.at_end_ = !scan.failure_.is_ok();
  return scan;
}

void ArrayScan::next() {
  if (at_end_) return;
  at_end_ = read_ == count_;
  if (at_end_) return;
  for (; prefetched_ < std::min(count_, read_ + engine::kPrefetchDistance); ++prefetched_) {
    prefetch_of(slot_, turn_, storage_, index_of(prefetched_));
  }
  const std::uint64_t index = index_of(read_++);
  const std::span<std::byte> payload(payload_.get(), storage_.payload_bytes());
  // One more copy of try_read() here would no longer be compiled into get_many().
  failure_ = read_slowly(slot_, turn_, storage_, index, 0, payload);
  at_end_ = !failure_.is_ok();
  row_ = {index, {reinterpret_cast<const char*>(payload.data()), payload.size()}};
}

Status Txn::append(const Sequential& storage, std::string_view payload) {
  return engine::operation(slot_, turn_, [&]() FOEDUS_IN_LINE -> Status {
    const Call call(slot_, turn_, storage);
    FOEDUS_CHECK(call.check(true));
    FOEDUS_CHECK(call.check_payload(payload, kMaxSequentialPayloadBytes));
    Status status = storage::sequential::append(call.context(), call.control(), payload);
    call.explain(&status, {});
    return status;
  });
}

}  // namespace foedus
