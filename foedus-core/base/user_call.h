#pragma once
// UserCall: a function that a user gave to the engine, at work in the calling thread. Whatever
// would wait for that thread asks first (Database::close()), and no exception of the function gets
// into the engine.

#include <exception>
#include <string>
#include <utility>

#include "foedus-core/base/out_of_memory.h"

namespace foedus::base {

class UserCall {
 public:
  // For `owner`, the part of the engine that makes the call.
  explicit UserCall(const void* owner) : owner_(owner), outer_(innermost) { innermost = this; }
  ~UserCall() { innermost = outer_; }
  UserCall(const UserCall&) = delete;
  UserCall& operator=(const UserCall&) = delete;

  // Whether the calling thread is within a call for `owner`.
  static bool is_inside(const void* owner) {
    for (const UserCall* call = innermost; call != nullptr; call = call->outer_) {
      if (call->owner_ == owner) return true;
    }
    return false;
  }

 private:
  const void* const owner_;
  const UserCall* const outer_;
  static thread_local constinit const UserCall* innermost;
};

// Calls `function` for `owner`. If it throws, passes on what the exception says to `report`.
template <typename Function, typename Report>
void call_user(const void* owner, Function&& function, Report&& report) noexcept {
  const UserCall call(owner);
  try {
    function();
  } catch (const std::exception& thrown) {
    trying([&] { report(std::string(thrown.what())); });
  } catch (...) {
    trying([&] { report(std::string("an exception of an unknown type")); });
  }
}

}  // namespace foedus::base
