#pragma once
// RecordSource: where a mapper's records come from; the gleaner puts log segments behind it.

#include <cstdint>
#include <string>

#include "foedus-core/log/log_record.h"
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

  // The next record, valid until the next call; false at the end, and on a failure, as status()
  // then says. No fillers. Records of one session and sequence do not come twice, through whatever
  // source of a glean.
  virtual bool next(SourceRecord* record) = 0;
  const Status& status() const { return status_; }

  // kCorruption: the record that came last is `what`; says where it stands.
  virtual Status corrupt(const std::string& what) const {
    return Status::error(ErrorCode::kCorruption, what);
  }

 protected:
  Status status_;
};

}  // namespace foedus::gleaner
