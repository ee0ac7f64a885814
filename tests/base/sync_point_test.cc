#include "foedus-core/base/system/sync_point.h"

#include <gtest/gtest.h>

#include <string>

namespace foedus::base::sync_point_test {
namespace {

std::string places_seen;

TEST(SyncPointTest, calls_the_hook_with_the_place_while_one_is_set) {
  FOEDUS_SYNC_POINT("one");
  set_sync_point_hook([](const char* place) { places_seen.append(place).append(" "); });
  FOEDUS_SYNC_POINT("two");
  FOEDUS_SYNC_POINT("three");
  set_sync_point_hook(nullptr);
  FOEDUS_SYNC_POINT("four");
  EXPECT_EQ(places_seen, "two three ");
}

}  // namespace
}  // namespace foedus::base::sync_point_test
