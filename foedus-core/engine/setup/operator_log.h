#pragma once
// OperatorLog: the lines that the engine's parts say to the operator (Options::log_sink).

#include <string_view>

#include "foedus/options.h"
#include "foedus/status.h"

namespace foedus::engine {

class OperatorLog {
 public:
  // `sink` throws nothing; empty: the operator does not listen.
  explicit OperatorLog(LogSink sink);
  OperatorLog(const OperatorLog&) = delete;
  OperatorLog& operator=(const OperatorLog&) = delete;

  // Returns whether an operator listens; without a sink callers make no text.
  bool has_sink() const { return static_cast<bool>(sink_); }
  // Passes a line to the operator's sink.
  void say(LogLevel level, std::string_view line) const;
  // Says what went wrong in the gleaner, if there is memory for the line.
  void say_of_gleaner(LogLevel level, const Status& status) const noexcept;

 private:
  const LogSink sink_;
};

}  // namespace foedus::engine
