#pragma once
// nap(): what a test does between two looks at a state that other threads change. A loop of yields
// would take a processor from them.

#include <chrono>
#include <thread>

namespace foedus::testing {

inline void nap() { std::this_thread::sleep_for(std::chrono::microseconds(200)); }

}  // namespace foedus::testing
