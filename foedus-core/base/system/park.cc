#include "foedus-core/base/system/park.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "foedus-core/base/system/sync_point.h"

namespace foedus::base::internal {

// The system compares 32 bits at the address of the word: its lower half.
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

void park(const void* word, std::uint32_t expected, std::uint64_t timeout_us) {
  FOEDUS_SYNC_POINT("park:sleep");
  timespec timeout;
  timeout.tv_sec = static_cast<time_t>(timeout_us / 1'000'000);
  timeout.tv_nsec = static_cast<long>(timeout_us % 1'000'000) * 1'000;
  // The result does not matter: the caller looks at its word again.
  ::syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected,
            timeout_us == kParkForever ? nullptr : &timeout, nullptr, 0);
}

void unpark(const void* word) {
  ::syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace foedus::base::internal
