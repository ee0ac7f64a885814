// foedus/txn.h: operations on Master-Trees and hashes.
#include <algorithm>
#include <cstring>

#include "foedus-core/base/system/sync_point.h"
#include "foedus-core/engine/txn_calls.h"
#include "foedus-core/occ/read_range.h"
#include "foedus-core/storage/kinds.h"
#include "foedus/txn.h"

namespace foedus {

namespace {

using engine::Call;
using storage::WriteMode;

// Calls `function` with the operations of the storage's kind (storage/kinds.h).
template <typename Function>
[[gnu::always_inline]] inline decltype(auto) visit(const Call& call, Function&& function) {
  return storage::visit_keyed(call.control()->meta.kind, function);
}

// Reads in the rare ways: with a record lock, or from a snapshot.
[[gnu::noinline]] Status read_otherwise(const Call& call, std::string_view key, bool for_update,
                                        occ::ReadRange* range) {
  occ::TxnContext& context = call.context();
  if (context.read_mode() != occ::ReadMode::kSnapshot) {
    return visit(
        call, [&](auto kind) { return kind.get_for_update(context, call.control(), key, range); });
  }
  if (for_update) return call.no_lock_in_snapshot();
  const page::SnapshotPageId root = call.root_in_snapshot();
  return visit(call, [&](auto kind) {
    return kind.get_in_snapshot(context, call.control(), root, key, range);
  });
}

Status read(const Call& call, std::string_view key, bool for_update, occ::ReadRange* range) {
  occ::TxnContext& context = call.context();
  if (for_update || context.read_mode() != occ::ReadMode::kOptimistic) [[unlikely]] {
    Status status = read_otherwise(call, key, for_update, range);
    call.explain(&status, key);
    return status;
  }
  return visit(call, [&](auto kind) FOEDUS_IN_LINE {
    Status status = kind.get(context, call.control(), key, range);
    call.explain(&status, key);
    return status;
  });
}

occ::ReadRange range_of(std::span<std::byte> out) {
  occ::ReadRange range;
  range.out = reinterpret_cast<char*>(out.data());
  range.out_bytes = static_cast<std::uint32_t>(std::min<std::size_t>(out.size(), kMaxPayloadBytes));
  return range;
}

// Prefetches the row. Returns whether a read of a page may be pending: the caller then calls
// ColdPages::send() if the device is to begin at once.
bool prefetch_one(const Call& call, std::string_view key) {
  if (!call.check_bound(key).is_ok()) return false;
  occ::TxnContext& context = call.context();
  base::trying([&] {
    visit(call, [&](auto kind) {
      if (call.is_of_snapshot()) [[unlikely]] {
        kind.prefetch_in_snapshot(context, call.control(), call.root_in_snapshot(), key);
      } else {
        kind.prefetch(context, call.control(), key);
      }
    });
  });
  return true;
}

// Returns the error of the first check of a write that fails. If none does, the storage has waiting
// rows (E38), and the row of the key is applied now: returns ok, and the write goes on.
[[gnu::cold, gnu::noinline]] Status refuse_write(const Call& call, std::string_view key,
                                                 std::string_view payload) {
  FOEDUS_CHECK(call.check_key(key, true));
  return call.check_payload(payload, kMaxPayloadBytes);
}

[[gnu::always_inline]] inline Status write_whole(const Call& call, WriteMode mode,
                                                 std::string_view key,
                                                 const std::string_view& payload) {
  if (!call.is_ready_to_write(key, payload)) [[unlikely]] {
    FOEDUS_CHECK(refuse_write(call, key, payload));
  }
  return visit(call, [&](auto kind) FOEDUS_IN_LINE {
    Status status = kind.write_whole(call.context(), call.control(), mode, key, payload);
    call.explain(&status, key);
    return status;
  });
}

[[gnu::always_inline]] inline Status write_part(const Call& call, log::LogRecordType type,
                                                std::string_view key, std::uint32_t offset,
                                                const std::string_view& part) {
  return visit(call, [&](auto kind) FOEDUS_IN_LINE {
    Status status = kind.write_part(call.context(), call.control(), type, key, offset, part);
    call.explain(&status, key);
    return status;
  });
}

}  // namespace

Result<std::size_t> Txn::get(const KeyedStorage& storage, std::string_view key,
                             std::span<std::byte> out) {
  return engine::operation(slot_, turn_, [&]() FOEDUS_IN_LINE -> Result<std::size_t> {
    const Call call(slot_, turn_, storage);
    FOEDUS_CHECK(call.check_key(key, false));
    occ::ReadRange range = range_of(out);
    FOEDUS_CHECK(read(call, key, false, &range));
    return std::size_t{range.payload_bytes};
  });
}

Result<std::string> Txn::get(const KeyedStorage& storage, std::string_view key) {
  return engine::operation(slot_, turn_, [&]() FOEDUS_IN_LINE -> Result<std::string> {
    constexpr std::size_t kFirstGuess = 512;
    std::string payload(kFirstGuess, '\0');
    for (;;) {
      FOEDUS_TRY(const std::size_t size,
                 get(storage, key, std::as_writable_bytes(std::span<char>(payload))));
      const bool is_whole = size <= payload.size();
      payload.resize(size);
      if (is_whole) return payload;
      // Reads again until the payload fits: another transaction may have made it longer meanwhile.
      // Verification at the commit would find the change, but the transaction may never commit.
      FOEDUS_SYNC_POINT("txn:get_again");
    }
  });
}

Status Txn::read_at(const KeyedStorage& storage, std::string_view key, std::uint32_t offset,
                    std::span<std::byte> out) {
  return engine::operation(slot_, turn_, [&]() FOEDUS_IN_LINE -> Status {
    const Call call(slot_, turn_, storage);
    FOEDUS_CHECK(call.check_key(key, false));
    occ::ReadRange range = range_of(out);
    range.offset = offset;
    FOEDUS_CHECK(read(call, key, false, &range));
    if (offset + out.size() <= range.payload_bytes) return {};
    Status status = Status::error(ErrorCode::kInvalidArgument,
                                      "the payload ends at " + std::to_string(range.payload_bytes) +
                                          ", before the part that was asked for");
    call.explain(&status, key);
    return status;
  });
}

Result<std::size_t> Txn::get_for_update(const KeyedStorage& storage, std::string_view key,
                                        std::span<std::byte> out) {
  return engine::operation(slot_, turn_, [&]() FOEDUS_IN_LINE -> Result<std::size_t> {
    const Call call(slot_, turn_, storage);
    FOEDUS_CHECK(call.check_key(key, false));
    occ::ReadRange range = range_of(out);
    FOEDUS_CHECK(read(call, key, true, &range));
    return std::size_t{range.payload_bytes};
  });
}

Result<bool> Txn::contains(const KeyedStorage& storage, std::string_view key) {
  return engine::operation(slot_, turn_, [&]() FOEDUS_IN_LINE -> Result<bool> {
    const Call call(slot_, turn_, storage);
    FOEDUS_CHECK(call.check_key(key, false));
    occ::ReadRange range;
    Status status = read(call, key, false, &range);
    if (status.is_ok()) return true;
    if (status.code() == ErrorCode::kNotFound) return false;
    return status;
  });
}

Status Txn::get_many(const KeyedStorage& storage, std::span<ReadRequest> requests) {
  return engine::operation(slot_, turn_, [&]() FOEDUS_IN_LINE -> Status {
    const Call call(slot_, turn_, storage);
    FOEDUS_CHECK(call.check(false));
    const std::size_t ahead = std::min(engine::kPrefetchDistance, requests.size());
    for (std::size_t i = 0; i < ahead; ++i) prefetch_one(call, requests[i].key);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (i + ahead < requests.size()) prefetch_one(call, requests[i + ahead].key);
      ReadRequest& request = requests[i];
      FOEDUS_CHECK(call.check_key(request.key, false));
      occ::ReadRange range = range_of(request.out);
      Status status = read(call, request.key, false, &range);
      request.found = status.is_ok();
      request.payload_bytes = request.found ? range.payload_bytes : 0;
      if (!request.found && status.code() != ErrorCode::kNotFound) return status;
    }
    return {};
  });
}

void Txn::prefetch(const KeyedStorage& storage, std::string_view key) {
  const engine::OperationMark mark(slot_, turn_);
  base::trying([&] {
    const Call call(slot_, turn_, storage);
    if (prefetch_one(call, key)) call.context().cold_pages().send();
  });
}

Status Txn::put(const KeyedStorage& storage, std::string_view key, std::string_view payload) {
  return engine::operation(slot_, turn_, [&]() FOEDUS_IN_LINE -> Status {
    return write_whole(Call(slot_, turn_, storage), WriteMode::kPut, key, payload);
  });
}

Status Txn::insert(const KeyedStorage& storage, std::string_view key, std::string_view payload) {
  return engine::operation(slot_, turn_, [&]() FOEDUS_IN_LINE -> Status {
    return write_whole(Call(slot_, turn_, storage), WriteMode::kInsert, key, payload);
  });
}

Status Txn::update(const KeyedStorage& storage, std::string_view key, std::string_view payload) {
  return engine::operation(slot_, turn_, [&]() FOEDUS_IN_LINE -> Status {
    return write_whole(Call(slot_, turn_, storage), WriteMode::kUpdate, key, payload);
  });
}

Status Txn::write_at(const KeyedStorage& storage, std::string_view key, std::uint32_t offset,
                     std::string_view part) {
  return engine::operation(slot_, turn_, [&]() FOEDUS_IN_LINE -> Status {
    const Call call(slot_, turn_, storage);
    if (!call.is_ready_to_write(key, part)) [[unlikely]] {
      FOEDUS_CHECK(refuse_write(call, key, part));
    }
    return write_part(call, log::LogRecordType::kWriteAt, key, offset, part);
  });
}

Status Txn::increment(const KeyedStorage& storage, std::string_view key, std::uint32_t offset,
                      std::int64_t delta) {
  return engine::operation(slot_, turn_, [&]() FOEDUS_IN_LINE -> Status {
    const Call call(slot_, turn_, storage);
    FOEDUS_CHECK(call.check_key(key, true));
    const std::string_view part(reinterpret_cast<const char*>(&delta), sizeof(delta));
    return write_part(call, log::LogRecordType::kIncrement, key, offset, part);
  });
}

Status Txn::erase(const KeyedStorage& storage, std::string_view key) {
  return engine::operation(slot_, turn_, [&]() FOEDUS_IN_LINE -> Status {
    const Call call(slot_, turn_, storage);
    FOEDUS_CHECK(call.check_key(key, true));
    Status status =
        visit(call, [&](auto kind) { return kind.erase(call.context(), call.control(), key); });
    call.explain(&status, key);
    return status;
  });
}

}  // namespace foedus
