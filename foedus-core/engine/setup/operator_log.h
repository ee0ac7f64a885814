#pragma once
// OperatorLog: passes lines of text from all parts of the engine to the operator
// (Options::log_sink).

#include <string_view>

#include "foedus/options.h"
#include "foedus/status.h"

namespace foedus::engine {

class OperatorLog {
 public:
  // `sink` must throw nothing. If it is empty, lines are dropped.
  explicit OperatorLog(LogSink sink);
  OperatorLog(const OperatorLog&) = delete;
  OperatorLog& operator=(const OperatorLog&) = delete;

  // Returns whether there is a sink. If not, callers need not compose a line.
  bool has_sink() const { return static_cast<bool>(sink_); }
  // Passes a line to the operator's sink.
  void say(LogLevel level, std::string_view line) const;
  // Passes the message of `status` on, as a line of the gleaner. Drops it if memory for the line
  // runs out.
  void say_of_gleaner(LogLevel level, const Status& status) const noexcept;

 private:
  const LogSink sink_;
};

}  // namespace foedus::engine
