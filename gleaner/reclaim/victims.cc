#include "gleaner/reclaim/victims.h"

#include <algorithm>
#include <tuple>

#include "foedus-core/base/invariant.h"
#include "foedus-core/snapshot/files/format.h"

namespace foedus::gleaner {

namespace {

using snapshot::ManifestFile;

// Moved pages become one file, together with the pages above them. Half of the pages that ids can
// name in a file leaves room for these. The next call continues with the rest.
constexpr std::uint64_t kMovedPagesMax = snapshot::kFilePagesMax / 2;

// A walk over hash storages reads all live pages. The goal is then at most this, for fewer walks
// that free more.
constexpr std::uint32_t kGoalOfWholeWalk = 150;

// Returns true if most live pages are of hash storages.
bool is_mostly_hash(const snapshot::Manifest& manifest) {
  std::uint64_t live = 0;
  std::uint64_t live_hash = 0;
  for (const snapshot::ManifestStorage& storage : manifest.storages) {
    for (const snapshot::LivePages& pages : storage.live) {
      live += pages.pages;
      if (storage.kind == StorageKind::kHash) live_hash += pages.pages;
    }
  }
  return live_hash * 2 > live;
}

// Returns the file's pages, with page 0, which no storage owns.
std::uint64_t total_of(const ManifestFile& file) { return std::uint64_t{file.pages} + 1; }

bool is_older(const ManifestFile& left, const ManifestFile& right) {
  return std::tie(left.snapshot, left.soc) < std::tie(right.snapshot, right.soc);
}

bool has_smaller_share(const ManifestFile& left, const ManifestFile& right) {
  const std::uint64_t left_share = left.live_pages * total_of(right);
  const std::uint64_t right_share = right.live_pages * total_of(left);
  return left_share != right_share ? left_share < right_share : is_older(left, right);
}

bool has_fewer_live(const ManifestFile& left, const ManifestFile& right) {
  if (left.live_pages != right.live_pages) return left.live_pages < right.live_pages;
  return is_older(left, right);
}

class Choice {
 public:
  Choice(const snapshot::Manifest& manifest, const ReclaimOptions& options)
      : options_(options), goal_(options.total_percent_goal), left_(manifest.files) {
    if (is_mostly_hash(manifest)) goal_ = std::min(goal_, kGoalOfWholeWalk);
    for (const ManifestFile& file : left_) {
      total_ += total_of(file);
      live_ += file.live_pages;
    }
  }

  void choose_by_share() {
    if (total_ < options_.total_pages_min || !is_above(options_.total_percent_max)) return;
    std::sort(left_.begin(), left_.end(), has_smaller_share);
    while (is_above(goal_) && take_first()) continue;
  }
  // Chooses more files if there are too many. The chosen files become one, so a single file is not
  // chosen alone.
  void choose_by_number() {
    const std::uint64_t files_max = this->files_max();
    if (left_.size() + (chosen_.empty() ? 0 : 1) <= files_max) return;
    std::sort(left_.begin(), left_.end(), has_fewer_live);
    const bool is_more = !chosen_.empty();
    const auto wants_more = [&] {
      return left_.size() >= files_max / 2 + 1 &&
             (left_.size() + 1 > files_max || moved_ < options_.merged_pages_max);
    };
    while (wants_more() && take_first()) continue;
    if (!is_more && chosen_.size() == 1) chosen_.clear();
  }
  std::vector<ManifestFile> chosen() {
    std::sort(chosen_.begin(), chosen_.end(), is_older);
    return std::move(chosen_);
  }

 private:
  std::uint64_t files_max() const {
    const std::uint64_t of_large_files = total_ / options_.large_file_pages;
    return std::clamp<std::uint64_t>(of_large_files, options_.files_max,
                                     4 * std::uint64_t{options_.files_max});
  }
  bool is_above(std::uint32_t percent) const { return total_ * 100 > live_ * percent; }

  bool take_first() {
    if (left_.empty()) return false;
    const ManifestFile file = left_.front();
    const std::uint64_t moved_max = std::min(options_.moved_pages_max, kMovedPagesMax);
    if (!chosen_.empty() && moved_ + file.live_pages > moved_max) return false;
    moved_ += file.live_pages;
    total_ -= total_of(file) - file.live_pages;
    chosen_.push_back(file);
    left_.erase(left_.begin());
    return true;
  }

  const ReclaimOptions& options_;
  std::uint32_t goal_;
  std::vector<ManifestFile> left_;
  std::vector<ManifestFile> chosen_;
  std::uint64_t total_ = 0;  // as if the chosen files were moved
  std::uint64_t live_ = 0;
  std::uint64_t moved_ = 0;
};

}  // namespace

std::vector<ManifestFile> choose_victims(const snapshot::Manifest& manifest,
                                         const ReclaimOptions& options) {
  FOEDUS_INVARIANT(options.total_percent_goal > 100, options.total_percent_goal);
  FOEDUS_INVARIANT(options.total_percent_goal <= options.total_percent_max,
                   options.total_percent_goal, options.total_percent_max);
  FOEDUS_INVARIANT(options.files_max >= 2, options.files_max);
  Choice choice(manifest, options);
  choice.choose_by_share();
  choice.choose_by_number();
  return choice.chosen();
}

}  // namespace foedus::gleaner
