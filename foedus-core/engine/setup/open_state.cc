#include "foedus-core/engine/setup/open_state.h"

#include <utility>

namespace foedus::engine {

Status OpenState::why_not_open() const {
  FOEDUS_CHECK(check_process());
  return Status::error(ErrorCode::kClosed, "the database was closed");
}

Status OpenState::wait_recovered(std::uint64_t timeout_us) const {
  FOEDUS_CHECK(check_open());
  if (is_recovered()) return {};
  const bool is_over =
      runtime_->wait(&recovery_ended_, timeout_us, [this] { return is_recovery_over(); });
  if (is_over) return recovery_status_;
  return Status::error(ErrorCode::kTimeout, "recovery is still at work");
}

void OpenState::end_recovery(Status status) {
  if (status.is_ok()) {
    recovered_in_.store_release(generation_);  // order: release, pairs with check_recovered()
  }
  recovery_status_ = std::move(status);
  over_.store_release(1);  // order: release, pairs with is_recovery_over()
  runtime_->wake(&recovery_ended_);
}

void OpenState::set_open() {
  // order: release, pairs with check_open(), which then finds all that Engine::start() has made.
  opened_in_.store_release(generation_);
}

void OpenState::set_closed() {
  opened_in_.store_release(0);  // order: release, as set_open()
}

void OpenState::set_not_recovered() {
  // order: release, as set_open(). No end_recovery() can follow: the task that runs it has stopped.
  recovered_in_.store_release(0);
}

}  // namespace foedus::engine
