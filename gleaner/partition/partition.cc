#include "gleaner/partition/partition.h"

#include <algorithm>
#include <cstddef>

namespace foedus::gleaner {

namespace {

// Samples are grouped with their neighbours, so that the choice takes bounded time.
constexpr std::size_t kGroupsPerPartition = 32;
constexpr std::size_t kGroupsMax = 512;

constexpr std::uint64_t kNone = ~std::uint64_t{0};

std::vector<std::uint64_t> equal_ranges(const storage_meta::StorageMeta& meta,
                                        std::uint32_t partitions) {
  const std::uint64_t step = meta.kind == StorageKind::kArray
                                 ? (meta.records + partitions - 1) / partitions
                                 : kNone / partitions + 1;
  std::vector<std::uint64_t> boundaries;
  for (std::uint32_t i = 1; i < partitions; ++i) boundaries.push_back(i * step);
  return boundaries;
}

// Returns boundaries that give all positions to one partition. Positions before a boundary belong
// to earlier partitions, so this one gets position 0 and all after it.
std::vector<std::uint64_t> all_in_one(std::uint32_t partition, std::uint32_t partitions) {
  std::vector<std::uint64_t> boundaries(partitions - 1, kNone);
  std::fill_n(boundaries.begin(), partition, 0);
  return boundaries;
}

struct Group {
  std::uint64_t begin;  // its first position
  std::size_t count;
  std::vector<std::size_t> by_soc;
};

// Divides samples into groups of equal size, except that all samples of one position are in one
// group.
std::vector<Group> group(const std::vector<storage::PageSample>& samples, std::size_t groups,
                         std::uint32_t socs) {
  const std::size_t size = std::max<std::size_t>(1, samples.size() / groups);
  std::vector<Group> all;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const bool is_new = all.empty() || (all.back().count >= size &&
                                        samples[i].position != samples[i - 1].position);
    if (is_new) all.push_back({samples[i].position, 0, std::vector<std::size_t>(socs, 0)});
    ++all.back().count;
    ++all.back().by_soc[samples[i].soc % socs];
  }
  return all;
}

// Finds the best boundaries (G70) by dynamic programming. best_[p][g] is the best sum of p
// partitions that take the first g groups.
class Choice {
 public:
  Choice(const std::vector<Group>& groups, std::uint32_t partitions, std::uint32_t socs,
         std::size_t samples)
      : groups_(groups),
        partitions_(partitions),
        socs_(socs),
        even_(static_cast<double>(samples) / partitions) {}

  // Returns the index of the first group of each partition but the first.
  std::vector<std::size_t> run() {
    const std::size_t ends = groups_.size() + 1;
    best_.assign(partitions_ + 1, std::vector<double>(ends, kImpossible));
    from_.assign(partitions_ + 1, std::vector<std::size_t>(ends, 0));
    best_[0][0] = 0;
    for (std::uint32_t p = 0; p < partitions_; ++p) {
      for (std::size_t begin = 0; begin < ends; ++begin) {
        if (best_[p][begin] != kImpossible) extend(p, begin);
      }
    }
    std::vector<std::size_t> begins;
    for (std::size_t p = partitions_, end = groups_.size(); p > 1; --p) {
      end = from_[p][end];
      begins.push_back(end);
    }
    std::reverse(begins.begin(), begins.end());
    return begins;
  }

 private:
  static constexpr double kImpossible = -1e300;

  // Extends the sums by partition `p` from group `begin` on, for every end within its share, or
  // after one group.
  void extend(std::uint32_t p, std::size_t begin) {
    double own = 0;
    double taken = 0;
    for (std::size_t end = begin;; ++end) {
      const double sum = best_[p][begin] + own - taken * taken / (2 * even_);
      if (sum > best_[p + 1][end]) {
        best_[p + 1][end] = sum;
        from_[p + 1][end] = begin;
      }
      if (end == groups_.size()) return;
      const Group& next = groups_[end];
      if (taken != 0 && taken + static_cast<double>(next.count) > 2 * even_) return;
      taken += static_cast<double>(next.count);
      own += static_cast<double>(next.by_soc[p % socs_]);
    }
  }

  const std::vector<Group>& groups_;
  const std::uint32_t partitions_;
  const std::uint32_t socs_;
  const double even_;
  std::vector<std::vector<double>> best_;
  std::vector<std::vector<std::size_t>> from_;
};

}  // namespace

std::vector<std::uint64_t> choose_boundaries(const storage_meta::StorageMeta& meta,
                                             std::vector<storage::PageSample> samples,
                                             std::uint32_t partitions, std::uint32_t socs) {
  if (partitions <= 1) return {};
  if (meta.kind == StorageKind::kSequential) {
    return all_in_one(static_cast<std::uint32_t>(meta.id) % partitions, partitions);
  }
  if (samples.size() < partitions) return equal_ranges(meta, partitions);
  std::sort(samples.begin(), samples.end(), [](const auto& a, const auto& b) {
    return a.position != b.position ? a.position < b.position : a.soc < b.soc;
  });
  const std::vector<Group> groups =
      group(samples, std::min(kGroupsPerPartition * partitions, kGroupsMax), socs);
  // If all samples are of few positions, no division gives even shares.
  if (groups.size() < 2 * partitions) return equal_ranges(meta, partitions);
  std::vector<std::uint64_t> boundaries;
  for (const std::size_t begin : Choice(groups, partitions, socs, samples.size()).run()) {
    boundaries.push_back(begin == groups.size() ? kNone : groups[begin].begin);
  }
  return boundaries;
}

}  // namespace foedus::gleaner
