#pragma once
// DdlLog: commits the log records of creation and drop of storages (log/FORMAT.md). It does so in
// the engine's own session, which the catalog's mutex guards.

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

  // Writes a record to the session's log buffer, and waits for space there if it has none. The
  // record has no effect until publish(), which cannot fail.
  Result<log::LogRecord*> prepare(log::LogRecordType type, page::StorageId id,
                                  std::string_view name, std::string_view parameters);
  // Commits the record. Returns its epoch: the record is durable once that epoch is.
  Epoch publish(log::LogRecord* record);
  // Waits until all commits up to `epoch` are published.
  void wait_published(Epoch epoch);
  // Returns the session's stock of pages: new storages take pages from it, and dropped ones give
  // theirs to it.
  page::SessionPages* pages() { return &parts_.session->pages(); }

 private:
  const Parts parts_;
};

}  // namespace foedus::engine
