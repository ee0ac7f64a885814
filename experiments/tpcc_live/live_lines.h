#pragma once
// LiveLines: the JSON lines of this program. Each has `event` and `ms`, the milliseconds since the
// process began.

#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "experiments/common/json_line.h"
#include "experiments/tpcc/run.h"

namespace experiments::tpcc {

class LiveLines {
 public:
  LiveLines() : start_ns_(steady_ns()) {}

  void event(std::string_view name) const { event(name, JsonObject()); }
  // Writes one line. Any thread: the kernel keeps a short write to a pipe together.
  void event(std::string_view name, const JsonObject& members) const {
    JsonObject line;
    line.add("event", name);
    line.add("ms", static_cast<double>(steady_ns() - start_ns_) * 1e-6);
    for (const JsonObject::Member& member : members.members()) {
      line.add_raw(member.name, member.json);
    }
    const std::string text = line.text() + "\n";
    // A parent that has ended reads no more, and ends this process, too.
    [[maybe_unused]] const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
  }

 private:
  const std::uint64_t start_ns_;
};

}  // namespace experiments::tpcc
