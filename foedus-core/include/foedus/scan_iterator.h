#pragma once
// ScanIterator: the input iterator of scans, for range-for. Not for programs.

#include "foedus/cxx20.h"

#include <cstddef>
#include <iterator>

namespace foedus::internal {

// `ScanOf` has the members row_, at_end_ and next().
template <typename ScanOf, typename RowOf>
class ScanIterator {
 public:
  using iterator_concept = std::input_iterator_tag;
  using value_type = RowOf;
  using difference_type = std::ptrdiff_t;
  ScanIterator() = default;
  const RowOf& operator*() const { return scan_->row_; }
  const RowOf* operator->() const { return &scan_->row_; }
  ScanIterator& operator++() {
    scan_->next();
    return *this;
  }
  void operator++(int) { scan_->next(); }
  bool operator==(std::default_sentinel_t) const { return scan_->at_end_; }

 private:
  friend ScanOf;
  explicit ScanIterator(ScanOf* scan) : scan_(scan) {}
  ScanOf* scan_ = nullptr;
};

}  // namespace foedus::internal
