#include "foedus-core/engine/sessions/session_factory.h"

#include <algorithm>
#include <string>
#include <utility>

#include "foedus-core/base/invariant.h"
#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/engine/sessions/unapplied.h"
#include "foedus-core/engine/setup/memory_shares.h"

namespace foedus::engine {

void SessionFactory::set_user_parts(const UserParts& parts) {
  parts_.session.throttle = parts.throttle;
  parts_.session.watch = parts.watch;
}

Result<std::unique_ptr<EngineSession>> SessionFactory::make_user(std::uint32_t number,
                                                                 std::uint32_t soc,
                                                                 std::uint32_t turn) {
  const std::uint64_t ring_bytes =
      std::min(SessionMemory::kFirstRingBytes, options_.log.buffer_bytes);
  if (!parts_.memory->try_take(ring_bytes)) {
    return Status::error(
        ErrorCode::kOutOfMemory,
        "no memory for the log buffer of another session: " + std::to_string(number) +
            " sessions have " + std::to_string(parts_.memory->taken()) +
            " bytes, and volatile pages what is left of memory_bytes (" +
            std::to_string(options_.memory_bytes) + ")");
  }
  const SessionShape shape{
      .number = number,
      .soc = soc,
      // Logger l is of SOC l % socs. Sessions of a SOC take its loggers in turn.
      .logger = soc + turn % options_.log.loggers_per_soc * options_.socs,
      .log_buffer_bytes = ring_bytes,
      .log_buffer_bytes_max = options_.log.buffer_bytes,
      .memory = parts_.memory};
  auto session = base::catching([&] { return make(shape); });
  if (!session.is_ok()) {
    parts_.memory->give_back(ring_bytes);
    return session;
  }
  attach(shape, session->get());  // if it throws, the session's destructor gives the memory back
  return session;
}

Result<std::unique_ptr<EngineSession>> SessionFactory::make_own() {
  const bool is_room = parts_.budget->try_take(kOwnRingBytes);
  FOEDUS_INVARIANT(is_room, parts_.budget->remaining());  // E29: the bytes were set aside
  const std::uint32_t number = options_.sessions_max;
  const SessionShape shape{.number = number,
                           .soc = 0,
                           .log_buffer_bytes = kOwnRingBytes,
                           .log_buffer_bytes_max = kOwnRingBytes,
                           .memory = nullptr};
  FOEDUS_TRY(auto session, make(shape));
  attach(shape, session.get());
  return session;
}

Result<std::unique_ptr<EngineSession>> SessionFactory::make_applier(std::uint32_t index) {
  FOEDUS_INVARIANT(index <= Unapplied::kSessions, index);
  const std::uint64_t ring_bytes = SessionMemory::kFirstRingBytes;
  if (!parts_.memory->try_take(ring_bytes)) {
    return Status::error(ErrorCode::kOutOfMemory, "no memory for sessions that apply the log");
  }
  // An earlier run may have had a larger log.buffer_bytes. So rows of the tail may be too large for
  // a buffer of this run's users, and the buffers made here may grow larger.
  const std::uint64_t bytes_max =
      std::max<std::uint64_t>(options_.log.buffer_bytes, 4 * kMaxPayloadBytes);
  const std::uint32_t number = options_.sessions_max + 2 + index;
  auto session = base::catching([&] {
    return make({.is_logged = false,
                 .number = number,
                 // Threads of all SOCs use these sessions, so the sessions are spread over the SOCs
                 // in turn.
                 .soc = index % parts_.session.topology->socs(),
                 .log_buffer_bytes = ring_bytes,
                 .log_buffer_bytes_max = bytes_max,
                 .memory = parts_.memory});
  });
  if (!session.is_ok()) parts_.memory->give_back(ring_bytes);
  return session;
}

Result<std::unique_ptr<EngineSession>> SessionFactory::make(const SessionShape& shape) {
  FOEDUS_TRY(numa::SocMemory ring,
             numa::SocMemory::allocate_ring(*parts_.session.topology, shape.soc,
                                            shape.log_buffer_bytes, options_.pages.numa_binding));
  EngineSession::Parts parts = parts_.session;
  parts.shape = shape;
  const bool is_logged = shape.is_logged && parts_.log != nullptr;
  parts.room = is_logged ? parts_.log->space(shape.logger) : nullptr;
  if (parts_.caches != nullptr) parts.reads = parts_.caches->reads_of(shape.soc);
  return std::make_unique<EngineSession>(parts, std::move(ring));
}

void SessionFactory::attach(const SessionShape& shape, EngineSession* session) {
  if (parts_.log != nullptr) parts_.log->attach(shape.logger, &session->log());
}

}  // namespace foedus::engine
