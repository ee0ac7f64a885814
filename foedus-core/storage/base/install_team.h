#pragma once
// InstallTeam: the installers of one storage, a thread each (O19).

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/base/out_of_memory.h"
#include "foedus-core/storage/base/installation.h"
#include "foedus/status.h"

namespace foedus::storage {

// `Installer` is made of a `const Installation&`, which outlives it. It counts what it does in
// own_counts(), and asks InstallCounts::wants_more() whether pages are to be dropped.
template <typename Installer>
class InstallTeam {
 public:
  // `done`: the counts of the caller's installer so far. Pages that it has dropped count against
  // pages_to_drop. REQUIRES: installation.is_shared().
  InstallTeam(const Installation& installation, const InstallCounts& done)
      : workers_(installation.workers), dropped_(done.pages_dropped) {
    for (std::size_t i = 0; i < workers_->workers().size(); ++i) {
      members_.push_back(std::make_unique<Member>(installation.of_worker(i, &dropped_)));
    }
  }
  InstallTeam(const InstallTeam&) = delete;
  InstallTeam& operator=(const InstallTeam&) = delete;

  // Calls install(installer, item) once for each item below `items`, until one fails. Each thread
  // takes items that no other has, those of its own SOC by soc_of(item) first. Adds to `counts`
  // what was done. Returns the failure of the first worker that has one.
  template <typename SocOf, typename Install>
  Status run(std::size_t items, SocOf&& soc_of, Install&& install, InstallCounts* counts) {
    std::vector<base::AtomicWord<std::uint32_t>> takers(items);
    std::vector<std::uint32_t> socs(items);
    for (std::size_t item = 0; item < items; ++item) socs[item] = soc_of(item);
    base::AtomicWord<std::uint32_t> has_failed;
    const auto work = [&](Member* member, bool is_near) -> Status {
      for (std::size_t item = 0; item < items; ++item) {
        if (is_near && socs[item] != member->installation.soc) continue;
        // order: relaxed three times: the work on an item is one thread's own, and
        // InstallWorkers::run() hands its results on.
        if (has_failed.load_relaxed() != 0) return {};
        if (takers[item].load_relaxed() != 0 || takers[item].fetch_add_relaxed(1) != 0) continue;
        FOEDUS_CHECK(install(member->installer, item));
      }
      return {};
    };
    workers_->run([&](std::size_t worker) {
      Member* const member = members_[worker].get();
      for (const bool is_near : {true, false}) {
        if (!member->status.is_ok()) break;
        member->status = base::catching([&] { return work(member, is_near); });
      }
      if (!member->status.is_ok()) has_failed.store_relaxed(1);  // order: relaxed, see above
    });
    Status first;
    for (const auto& member : members_) {
      counts->add(member->installer.own_counts());
      if (first.is_ok()) first = std::move(member->status);
    }
    return first;
  }

 private:
  struct Member {
    explicit Member(const Installation& its) : installation(its), installer(installation) {}
    const Installation installation;
    Installer installer;
    Status status;
  };

  InstallWorkers* const workers_;
  base::AtomicWord<std::uint64_t> dropped_;  // pages, by all members and the caller
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace foedus::storage
