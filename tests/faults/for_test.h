#pragma once
// Who calls: the engine, whose calls of the system are counted and failed, or the test, whose are
// not.

namespace foedus::faults {

inline thread_local int for_test = 0;

// Calls of this thread are those of the test, for the length of a block.
class ForTest {
 public:
  ForTest() { ++for_test; }
  ~ForTest() { --for_test; }
  ForTest(const ForTest&) = delete;
  ForTest& operator=(const ForTest&) = delete;
};

}  // namespace foedus::faults
