#pragma once
// Sites: the ordered accesses in the code under test. Each is found when it runs; one of them at a
// time can be weakened.
//
//   X1  A site is file, function, and name of the access; several of one name in one function are
//       distinguished by the order of their lines. So a list of sites stays valid after changes
//       elsewhere in a file.
//   X2  Each weaker order is tried by itself: seq_cst becomes acq_rel (acquire for loads, release
//       for stores), then relaxed; a relaxed fence is none.

#include <cstddef>
#include <string>
#include <vector>

#include "tests/models/harness/relacy.h"

namespace model {

struct Site {
  const char* file;
  const char* function;
  const char* access;
  int line;
};

enum class Kind { kLoad, kStore, kExchange, kFence };

// Returns the weaker orders of an access, from the strongest on. A relaxed fence is none.
inline std::vector<rl::memory_order> weaker_than(rl::memory_order order, Kind kind) {
  std::vector<rl::memory_order> weaker;
  if (order == rl::mo_seq_cst) {
    weaker.push_back(kind == Kind::kLoad    ? rl::mo_acquire
                     : kind == Kind::kStore ? rl::mo_release
                                            : rl::mo_acq_rel);
  }
  if (order != rl::mo_relaxed) weaker.push_back(rl::mo_relaxed);
  return weaker;
}

class Sites {
 public:
  struct Known {
    Site site;
    rl::memory_order order;
    Kind kind;
    bool is_passed;  // since forget_passed()
  };

  static Sites& all() {
    static Sites sites;
    return sites;
  }

  static std::string file_name(const char* file) {
    const std::string path(file);
    return path.substr(path.rfind('/') + 1);
  }

  // Returns the present order of a site.
  rl::memory_order order_at(const Site& site, rl::memory_order order, Kind kind) {
    const int index = index_of(site, order, kind);
    known_[index].is_passed = true;
    return index == weakened_ ? weakened_to_ : order;
  }

  void weaken(int index, rl::memory_order order) {
    weakened_ = index;
    weakened_to_ = order;
  }
  void restore() { weakened_ = -1; }

  void forget_passed() {
    for (int i = 0; i < count_; ++i) known_[i].is_passed = false;
  }
  std::vector<bool> passed() const {
    std::vector<bool> passed(kSitesMax);
    for (int i = 0; i < count_; ++i) passed[i] = known_[i].is_passed;
    return passed;
  }

  int count() const { return count_; }
  const Known& at(int index) const { return known_[index]; }
  // Returns the name of a site (X1).
  std::string name_of(int index) const {
    const Site& site = known_[index].site;
    int before = 0;
    int same = 0;
    for (int i = 0; i < count_; ++i) {
      if (!is_alike(known_[i].site, site)) continue;
      ++same;
      if (known_[i].site.line < site.line) ++before;
    }
    std::string name = file_name(site.file) + " " + site.function + " " + site.access;
    if (same > 1) name += " #" + std::to_string(before + 1);
    return name;
  }

 private:
  static constexpr int kSitesMax = 256;
  static constexpr int kPlaces = 1024;

  static bool is_alike(const Site& a, const Site& b) {
    return std::string(a.file) == b.file && std::string(a.function) == b.function &&
           std::string(a.access) == b.access;
  }
  static bool is_same(const Site& a, const Site& b) {
    return a.line == b.line && a.file == b.file && a.access == b.access;
  }

  int index_of(const Site& site, rl::memory_order order, Kind kind) {
    std::size_t place = static_cast<std::size_t>(site.line) * 37 +
                        (reinterpret_cast<std::size_t>(site.access) >> 1);
    for (;; ++place) {
      int& index = places_[place % kPlaces];
      if (index != 0 && is_same(known_[index - 1].site, site)) return index - 1;
      if (index != 0) continue;
      if (count_ == kSitesMax) std::abort();
      known_[count_++] = Known{site, order, kind, true};
      index = count_;
      return count_ - 1;
    }
  }

  Known known_[kSitesMax];
  int places_[kPlaces] = {};
  int count_ = 0;
  int weakened_ = -1;
  rl::memory_order weakened_to_ = rl::mo_relaxed;
};

}  // namespace model
