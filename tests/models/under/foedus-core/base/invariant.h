#pragma once
// Stands in for base/invariant.h: a failed invariant is a finding of the current execution.

#include <string_view>

#include "tests/models/harness/relacy.h"

namespace foedus::base {

template <typename... Values>
void invariant_failed_with(const rl::debug_info& where, const char* condition, const Values&...) {
  rl::ctx().fail_test(condition, rl::test_result_user_assert_failed, where);
}

}  // namespace foedus::base

#define FOEDUS_INVARIANT(condition, ...)                                                        \
  do {                                                                                          \
    if (!(condition)) {                                                                         \
      ::foedus::base::invariant_failed_with(MODEL_HERE, #condition __VA_OPT__(, ) __VA_ARGS__); \
    }                                                                                           \
  } while (false)
