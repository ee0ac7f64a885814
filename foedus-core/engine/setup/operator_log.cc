#include "foedus-core/engine/setup/operator_log.h"

#include <utility>

#include "foedus-core/base/out_of_memory.h"

namespace foedus::engine {

OperatorLog::OperatorLog(LogSink sink) : sink_(std::move(sink)) {}

void OperatorLog::say(LogLevel level, std::string_view line) const {
  if (sink_) sink_(level, line);
}

void OperatorLog::say_of_gleaner(LogLevel level, const Status& status) const noexcept {
  base::trying([&] { say(level, "gleaner: " + status.message()); });
}

}  // namespace foedus::engine
