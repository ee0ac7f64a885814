#include "gleaner/stage_tasks.h"

namespace foedus::gleaner {

namespace {

constexpr std::uint64_t kProgressUs = 50'000;  // between two calls of GleanOrder::progress
constexpr std::uint64_t kGivenUpUs = 10'000;   // between two calls of GleanOrder::is_given_up

}  // namespace

Status check_given_up(const engine::GleanOrder& order) {
  if (!order.is_given_up || !order.is_given_up()) return {};
  return Status::error(ErrorCode::kClosed, "the glean was cancelled");
}

Status wait_for_tasks(const engine::GleanOrder& order, base::WaitPoint* finished, base::Ready ready,
                      const std::function<GleanProgress()>& progress) {
  const std::uint64_t look_us = order.is_given_up ? kGivenUpUs
                                : order.progress  ? kProgressUs
                                                  : base::Runtime::kForever;
  std::uint64_t untold_us = 0;
  while (!order.runtime->wait(finished, look_us, ready)) {
    FOEDUS_CHECK(check_given_up(order));
    untold_us += look_us;
    if (untold_us < kProgressUs) continue;
    untold_us = 0;
    if (order.progress) order.progress(progress());
  }
  return {};
}

}  // namespace foedus::gleaner
