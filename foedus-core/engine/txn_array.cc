// foedus/txn.h: operations on arrays and sequential storages, and the end of a transaction.
#include <string>

#include "foedus-core/engine/txn_calls.h"
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

// With a lock, or from a snapshot.
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
    return call.explain(read_otherwise(call, index, for_update, &range), index_bytes(index));
  }
  return call.explain(array::get(call.context(), call.control(), index, &range),
                      index_bytes(index));
}

}  // namespace

Txn::Txn(engine::EngineSession* session)
    : slot_(&session->slot()), turn_(session->context().turn()) {}

Txn::Txn(Txn&& other) noexcept : slot_(other.slot_), turn_(std::exchange(other.turn_, kNoTurn)) {}

Txn::~Txn() { rollback(); }

Status Txn::wrong_size(const Storage& storage, std::size_t found, std::size_t expected) const {
  return base::catching([&]() -> Status {
    FOEDUS_CHECK(Call(slot_, turn_, storage).check(false));
    Status status = Status::error(ErrorCode::kInvalidArgument,
                                  "the payload has " + std::to_string(found) +
                                      " bytes, the type " + std::to_string(expected));
    return std::move(status.at_storage(storage.name()));
  });
}

Status Txn::get(const Array& storage, std::uint64_t index, std::span<std::byte> out) {
  return engine::operation(slot_, turn_, [&]() FOEDUS_IN_LINE -> Status {
    return read(Call(slot_, turn_, storage), index, false, 0, out);
  });
}

Status Txn::read_at(const Array& storage, std::uint64_t index, std::uint32_t offset,
                    std::span<std::byte> out) {
  return engine::operation(slot_, turn_, [&]() FOEDUS_IN_LINE -> Status {
    return read(Call(slot_, turn_, storage), index, false, offset, out);
  });
}

Status Txn::get_for_update(const Array& storage, std::uint64_t index, std::span<std::byte> out) {
  return engine::operation(slot_, turn_, [&]() FOEDUS_IN_LINE -> Status {
    return read(Call(slot_, turn_, storage), index, true, 0, out);
  });
}

void Txn::prefetch(const Array& storage, std::uint64_t index) {
  const Call call(slot_, turn_, storage);
  base::trying([&] {
    if (call.check_index(index, false).is_ok() && !call.is_of_snapshot()) {
      array::prefetch(call.context(), call.control(), index);
    }
  });
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
  return engine::operation(slot_, turn_, [&]() FOEDUS_IN_LINE -> Status {
    const Call call(slot_, turn_, storage);
    FOEDUS_CHECK(call.check_index(index, true));
    FOEDUS_CHECK(call.check_part(offset, part.size()));
    return call.explain(array::write_at(call.context(), call.control(), index, offset, part),
                        index_bytes(index));
  });
}

Status Txn::increment(const Array& storage, std::uint64_t index, std::uint32_t offset,
                      std::int64_t delta) {
  return engine::operation(slot_, turn_, [&]() FOEDUS_IN_LINE -> Status {
    const Call call(slot_, turn_, storage);
    FOEDUS_CHECK(call.check_index(index, true));
    FOEDUS_CHECK(call.check_part(offset, sizeof(delta)));
    return call.explain(array::increment(call.context(), call.control(), index, offset, delta),
                        index_bytes(index));
  });
}

Status Txn::append(const Sequential& storage, std::string_view payload) {
  return engine::operation(slot_, turn_, [&]() FOEDUS_IN_LINE -> Status {
    const Call call(slot_, turn_, storage);
    FOEDUS_CHECK(call.check(true));
    FOEDUS_CHECK(call.check_payload(payload, kMaxSequentialPayloadBytes));
    return call.explain(storage::sequential::append(call.context(), call.control(), payload), {});
  });
}

Result<Ticket> Txn::commit() {
  if (Status open = engine::check_txn(slot_, turn_); !open.is_ok()) {
    rollback();
    return open;
  }
  engine::EngineSession* const session = slot_->session.load_relaxed();  // order: E30
  if (session->is_in_transact()) {
    return Status::error(ErrorCode::kInvalidArgument, "transact() commits; return success instead");
  }
  turn_ = kNoTurn;
  Result<Ticket> ticket = base::catching([session] { return session->commit(); });
  const std::uint64_t owed_bytes = session->take_owed_bytes();
  engine::Engine& engine = session->engine();
  slot_->release(engine::SessionState::kHeld);
  if (owed_bytes != 0) [[unlikely]] engine.throttle()->wait(owed_bytes);
  return ticket;
}

void Txn::rollback() {
  const std::uint64_t turn = std::exchange(turn_, kNoTurn);
  if (!engine::is_txn_open(slot_, turn) && !slot_->is_revoked(turn)) return;
  engine::EngineSession* const session = slot_->session.load_relaxed();  // order: E30
  // Within transact() the loop ends the transaction.
  if (session->is_in_transact()) return session->set_wants_rollback();
  session->rollback();
  slot_->release(engine::SessionState::kHeld);
}

Status Txn::verify() {
  FOEDUS_CHECK(engine::check_txn(slot_, turn_));
  // order: relaxed: E30
  return engine::operation(slot_, turn_,
                           [this] { return slot_->session.load_relaxed()->verify(); });
}

}  // namespace foedus
