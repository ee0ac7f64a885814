#pragma once
// DdlLog: creation and drop of storages as log records (log/FORMAT.md). They are committed by a
// session of the engine's own, which is guarded by the catalog's mutex.

#include <string_view>

#include "foedus-core/base/system/task.h"
#include "foedus-core/engine/sessions/session.h"
#include "foedus-core/epoch/epoch_clock.h"
#include "foedus-core/log/log.h"
#include "foedus-core/log/ring/record.h"
#include "foedus/epoch.h"
#include "foedus/status.h"

namespace foedus::engine {

class DdlLog {
 public:
  struct Parts {
    base::Runtime* runtime = nullptr;
    epoch::EpochClock* clock = nullptr;
    const log::Log* log = nullptr;     // null: Logging::kNone
    EngineSession* session = nullptr;  // the engine's own
  };
  explicit DdlLog(const Parts& parts) : parts_(parts) {}
  DdlLog(const DdlLog&) = delete;
  DdlLog& operator=(const DdlLog&) = delete;

  // Prepares a record in the session's log; it has no effect until it is published. Waits for space
  // there; publish() cannot fail.
  Result<log::LogRecord*> prepare(log::LogRecordType type, page::StorageId id,
                                  std::string_view name, std::string_view parameters);
  // Commits the record. Returns its epoch, with which it will be durable.
  Epoch publish(log::LogRecord* record);
  // Returns when every commit of `epoch` and before is published.
  void wait_published(Epoch epoch);
  // Returns the stock of pages for storages that are created and dropped.
  page::SessionPages* pages() { return &parts_.session->pages(); }

 private:
  const Parts parts_;
};

}  // namespace foedus::engine
