#pragma once
// PageSample: the position (partitioning key) of a volatile page with records, and the SOC that
// changed it last. The gleaner divides a storage by such samples (paper §7.2).

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace foedus::storage {

struct PageSample {
  std::uint64_t position;  // of its first record, as the gleaner sorts; see below
  std::uint32_t soc;
};

// A sample of bounded size: every n-th of the added pages, with n a power of two that grows with
// their number. The choice depends on the order of additions alone.
class PageSamples {
 public:
  // Keeps fewer than `samples_max` samples, and at least half as many once so many pages were
  // added. REQUIRES: `samples_max` is even and not 0.
  explicit PageSamples(std::size_t samples_max) : samples_max_(samples_max) {}

  // Counts the next page. Returns whether it is one of every n-th; others need not be looked at.
  bool is_next_taken() { return (++seen_ & (stride_ - 1)) == 0; }
  // Adds a page for which is_next_taken() returned true.
  void add(std::uint64_t position, std::uint32_t soc) {
    samples_.push_back({position, soc});
    if (samples_.size() >= samples_max_) halve();
  }
  // Adds another sample of the same size. The result is as dense as the sparser of both.
  void add_all(PageSamples other) {
    while (stride_ < other.stride_) halve();
    while (other.stride_ < stride_) other.halve();
    samples_.insert(samples_.end(), other.samples_.begin(), other.samples_.end());
    seen_ += other.seen_;
    while (samples_.size() >= samples_max_) halve();
  }
  std::vector<PageSample> take() { return std::move(samples_); }

 private:
  void halve() {
    stride_ *= 2;
    for (std::size_t i = 0; i < samples_.size() / 2; ++i) samples_[i] = samples_[2 * i + 1];
    samples_.resize(samples_.size() / 2);
  }

  std::size_t samples_max_;
  std::uint64_t seen_ = 0;
  std::uint64_t stride_ = 1;
  std::vector<PageSample> samples_;
};

// Each kind has, in its stats.h:
//
//   // Samples the volatile pages with records, in no order. Positions: the index (array), the
//   // hash, the first slice of the key (Master-Tree; pages of its first layer only). Transactions
//   // may run: pages that move meanwhile may be missing or there twice. REQUIRES: the caller is
//   // pinned.
//   void sample_pages(const page::PagePool& pool, const occ::StorageControl& control,
//                     PageSamples* samples);

}  // namespace foedus::storage
