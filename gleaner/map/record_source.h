#pragma once
// RecordSource: the interface from which a mapper reads its records. The gleaner implements it with
// log segments.

#include <cstdint>
#include <string>

#include "foedus-core/log/ring/record.h"
#include "foedus/status.h"

namespace foedus::gleaner {

struct SourceRecord {
  std::uint32_t session = 0;
  std::uint64_t sequence = 0;  // as in StreamRecord
  const log::LogRecord* log = nullptr;
};

class RecordSource {
 public:
  virtual ~RecordSource() = default;

  // Reads the next record, valid until the next call. Returns false at the end and after a failure;
  // status() says which. Fillers are left out. No two records of a glean have the same session and
  // sequence, whatever their sources.
  virtual bool next(SourceRecord* record) = 0;
  const Status& status() const { return status_; }

  // Returns kCorruption with the message `what` about the last record, and where it stands.
  virtual Status corrupt(const std::string& what) const {
    return Status::error(ErrorCode::kCorruption, what);
  }

 protected:
  Status status_;
};

}  // namespace foedus::gleaner
