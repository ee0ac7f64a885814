#include "foedus-core/engine/sessions/ddl_log.h"

#include <cstring>

#include "foedus-core/base/system/sync_point.h"

namespace foedus::engine {

namespace {

constexpr std::uint64_t kPublishLookUs = 50;

}  // namespace

Result<log::LogRecord*> DdlLog::prepare(log::LogRecordType type, page::StorageId id,
                                        std::string_view name, std::string_view parameters) {
  if (parts_.log != nullptr && parts_.log->has_failed()) return parts_.log->failure();
  // E28 is a rule for transactions; DDL that would begin after their last epoch is refused here,
  // too. DDL that has begun ends in whatever epoch it gets: the wait for space below, or that of a
  // drop for other commits, may go past the last one, and publish() cannot fail. Its record is
  // valid in any epoch, and those after the last one are enough for days.
  if (parts_.clock->current() >= epoch::kCommitEpochMax) return epoch::epochs_used_up();
  Status status;
  log::LogRecord* const record = parts_.session->log().reserve(
      log::LogRecord::size_of(name.size(), parameters.size()), &status);
  if (record == nullptr) return status;
  record->prepare(type, id, name.size(), parameters.size(), 0);
  std::memcpy(record->key_data(), name.data(), name.size());
  if (!parameters.empty()) {
    std::memcpy(record->payload_data(), parameters.data(), parameters.size());
  }
  return record;
}

Epoch DdlLog::publish(log::LogRecord* record) {
  EngineSession& session = *parts_.session;
  const std::uint32_t number = session.context().session();
  const Epoch epoch = parts_.clock->enter_commit(number);
  FOEDUS_SYNC_POINT("engine:ddl_serialized");
  const page::Tid last = session.context().last_tid();
  const std::uint32_t ordinal = last.epoch() == epoch ? last.ordinal() + 1 : 1;
  const page::Tid tid(epoch, ordinal);
  record->tid = tid.word();
  session.log().publish();
  parts_.clock->leave_commit(number);
  session.context().set_last_tid(tid);
  return epoch;
}

void DdlLog::wait_published(Epoch epoch) {
  parts_.clock->request_advance(epoch);
  while (parts_.clock->published() < epoch) parts_.runtime->pause(kPublishLookUs);
}

}  // namespace foedus::engine
