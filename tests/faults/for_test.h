#pragma once
// Separates system calls of the engine, which are counted and failed, from those of the test, which
// are not.

namespace foedus::faults {

inline thread_local int for_test = 0;

// Makes calls of this thread those of the test, to the end of a block.
class ForTest {
 public:
  ForTest() { ++for_test; }
  ~ForTest() { --for_test; }
  ForTest(const ForTest&) = delete;
  ForTest& operator=(const ForTest&) = delete;
};

}  // namespace foedus::faults
