#pragma once
// Recovery: the durable log becomes the volatile pages of a database that was just opened. It reads
// the segments up to their cuts, brings the records into serial order, and applies them.
//
//   E10 Records are applied in the order of their TIDs, which is the order of their transactions
//       for every record that two of them wrote; within one transaction in the order of the ring.
//   E11 Records of a storage that was dropped are left out; records of a storage that was never
//       made are corruption.

#include "foedus-core/log/log.h"
#include "foedus/status.h"

namespace foedus::engine {

class Engine;

Status recover(Engine* engine, log::Log* log);

}  // namespace foedus::engine
