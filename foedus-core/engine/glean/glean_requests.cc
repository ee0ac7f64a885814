#include "foedus-core/engine/glean/glean_requests.h"

#include <string>
#include <utility>

#include "foedus-core/base/user_call.h"

namespace foedus::engine {

std::uint64_t GleanRequests::add(const GleanProgressSink& progress) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t request = ++requested_;
  if (progress) {
    progress_ = &progress;
    progress_request_ = request;
  }
  return request;
}

Result<GleanReport> GleanRequests::wait(std::uint64_t request) {
  parts_.runtime->wait(&finished_, base::Runtime::kForever, [&] {
    const std::lock_guard lock(mutex_);
    return answered_ >= request || has_ended_;
  });
  const std::lock_guard lock(mutex_);
  if (answered_ < request) return Status::error(ErrorCode::kClosed, "the database was closed");
  // answer_ alone does not tell whether this request got its glean: answer_ may be the error of a
  // later glean.
  if (fulfilled_ < request) return answer_;
  return report_;
}

void GleanRequests::end() {
  {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
  }
  parts_.runtime->wake(&finished_);
  parts_.snapshots->end();
}

bool GleanRequests::is_in_sink() const { return base::UserCall::is_inside(this); }

void GleanRequests::add_stats(Stats* stats) const {
  const std::lock_guard lock(mutex_);
  stats->gleans = gleans_;
  stats->gleaned_records = gleaned_records_;
  stats->glean_cpu_us = cpu_us_;
  stats->snapshot_pages_written = pages_written_;
  stats->volatile_pages_dropped = pages_dropped_;
  stats->volatile_pages_spared = pages_spared_;
}

std::uint64_t GleanRequests::newest() const {
  const std::lock_guard lock(mutex_);
  return requested_;
}

bool GleanRequests::is_waiting() const {
  const std::lock_guard lock(mutex_);
  return requested_ != answered_;
}

void GleanRequests::answer(std::uint64_t request, Status status) noexcept {
  parts_.snapshots->set_trouble(status);
  parts_.newest->set_has_failed(!status.is_ok());
  {
    const std::lock_guard lock(mutex_);
    answered_ = request;
    if (status.is_ok()) fulfilled_ = request;
    answer_ = std::move(status);
    // wait() of the request returns now, and its sink is valid no longer.
    if (progress_request_ <= request) progress_ = nullptr;
  }
  parts_.runtime->wake(&finished_);
}

// Calls the sink without the mutex, because the sink may call Database::stats(), which locks it.
// The sink stays valid until the gleaner's task answers.
void GleanRequests::tell(const GleanProgress& progress) const {
  const GleanProgressSink* sink;
  {
    const std::lock_guard lock(mutex_);
    sink = progress_;
  }
  if (sink == nullptr) return;
  base::call_user(
      this, [&] { (*sink)(progress); },
      [this](const std::string& what) {
        parts_.operator_log->say(LogLevel::kError,
                                 "the progress sink of a glean has thrown: " + what);
      });
}

void GleanRequests::count(const GleanReport& report) {
  const std::lock_guard lock(mutex_);
  report_ = report;
  ++gleans_;
  pages_dropped_ += report.pages_dropped;
  pages_spared_ += report.pages_spared;
  pages_written_ += report.pages_written;
  gleaned_records_ += report.records_read;
  cpu_us_ += report.total_cpu_us;
}

}  // namespace foedus::engine
