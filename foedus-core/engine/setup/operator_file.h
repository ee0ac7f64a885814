#pragma once
// OperatorFile: the sink for messages where the user has none. A task writes them to the file LOG
// in the directory of the database (device/posix/text_log.h).
//
//   E58 A thread that has a message composes its line and adds it to a buffer. The mutex of the
//       buffer is held while a line is copied or the buffer is exchanged, and never during a system
//       call of the file. If the task falls behind by kPendingBytesMax, further lines are counted
//       and dropped. So a slow or full device never keeps a transaction, the clock or a logger
//       waiting.
//   E59 Nothing is written before start(), which comes when open() may write to the directory (E7),
//       nor in a child of fork() (E12).

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "foedus-core/base/system/process.h"
#include "foedus-core/base/system/task.h"
#include "foedus-core/device/posix/text_log.h"
#include "foedus/options.h"

namespace foedus::engine {

class OperatorFile final : public base::Task {
 public:
  static constexpr std::size_t kPendingBytesMax = 256u << 10;

  explicit OperatorFile(base::Runtime* runtime) : runtime_(runtime) {}

  // Adds a line, with time, level and thread. Any thread. Drops it if there is no memory for it.
  void say(LogLevel level, std::string_view line) noexcept;

  // Makes the file in `directory`, and begins to write: first the lines `about`, then those that
  // say() was given. Throws std::bad_alloc. REQUIRES: this process holds the directory.
  void start(const std::string& directory, std::uint64_t bytes_max,
             const std::vector<std::string>& about = {});
  // Writes the lines that wait, and closes the file. Lines that come later are dropped. Does
  // nothing after the first call.
  void stop();
  // Closes the file in a child of fork(), without a look at what its parent's threads had in hand.
  void abandon() { file_.reset(); }

  const char* name() const override { return "foedus-text"; }
  std::uint64_t step() override;

 private:
  base::Runtime* const runtime_;
  const std::uint64_t generation_ = base::process_generation();
  // Used by the task, and by others before it starts and after it has stopped.
  std::unique_ptr<device::TextLog> file_;

  std::mutex mutex_;
  // Guarded by mutex_.
  std::string pending_;     // whole lines
  std::uint64_t lost_ = 0;  // lines that were dropped since the last step
  bool is_running_ = false;
  bool is_closed_ = false;
};

}  // namespace foedus::engine
