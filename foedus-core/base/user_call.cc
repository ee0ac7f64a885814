#include "foedus-core/base/user_call.h"

namespace foedus::base {

thread_local constinit const UserCall* UserCall::innermost = nullptr;

}  // namespace foedus::base
