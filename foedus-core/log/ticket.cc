// The methods of foedus/ticket.h.
#include "foedus/ticket.h"

#include <utility>

#include "foedus-core/base/user_call.h"
#include "foedus-core/log/durability.h"

namespace foedus {

bool Ticket::is_durable() const { return waits_ == nullptr || waits_->is_durable(epoch_); }

Status Ticket::wait_durable(std::uint64_t timeout_us) const {
  if (is_durable()) return {};
  return waits_->wait(epoch_, timeout_us);
}

void Ticket::on_durable(std::function<void(const Status&)> callback) const {
  if (waits_ == nullptr) {
    if (!callback) return;
    base::call_user(
        this, [&] { callback(Status()); }, [](const std::string&) {});
  } else {
    waits_->on_durable(epoch_, std::move(callback));
  }
}

}  // namespace foedus
