#pragma once
// Changes that a commit makes to a record in place, and to the statistics of its page. REQUIRES,
// for all functions: the record is locked and marked being-written.

#include <cstdint>

#include "foedus-core/base/copy_bytes.h"
#include "foedus-core/base/increment.h"
#include "foedus-core/log/ring/record.h"
#include "foedus-core/page/page_header.h"

namespace foedus::storage::moves {

// Changes the part of the payload at `payload` that the log record of a write_at or an increment
// names.
inline void change_part(char* payload, const log::LogRecord& record) {
  char* const at = payload + record.payload_offset;
  if (record.type == log::LogRecordType::kIncrement) {
    const std::uint64_t value = base::incremented(at, record.payload_data());
    base::racy_write(at, &value, sizeof(value));
  } else {
    base::racy_write(at, record.payload_data(), record.payload_bytes());
  }
}

// Notes which SOC has modified the page last (paper §7.2). The word is written only if it changes,
// so that the cache line stays shared among the processors of one SOC.
inline void note_soc(page::PageHeader* page, std::uint32_t soc) {
  // order: relaxed twice, statistics.
  if (page->last_soc.load_relaxed() != soc) page->last_soc.store_relaxed(soc);
}

}  // namespace foedus::storage::moves
