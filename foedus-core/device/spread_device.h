#pragma once
// SpreadDevice: a directory whose large files lie in several others. The main directory
// (Options::dir) has the lock, the savepoint and the manifests; of the others (Options::dirs, one
// for each SOC, say), number n % count has the large files with number n: log segments
// "log-<n>-...", snapshot files "snapshot-...-<n>", sorted runs "run-...-<n>-...".
//
//   V11 A large file is found in whichever directory it lies, so the order and the number of the
//       others may change from one open to the next. It is made where its number says.
//   V12 No name lies in two directories, after no crash: a name is made only where no other
//       directory has it, one that is removed from elsewhere than it would be made is removed
//       durably, and what earlier users removed is removed durably before the first change.
//   V13 Each directory has a mark (directory_mark.h). The first change writes in this order, each
//       step durable before the next: the mark of the main directory, which names the others; the
//       marks of new ones; whatever was to be changed. So a directory that holds files is marked,
//       and the main directory names it; a crash in between leaves others that hold nothing yet.
//   V14 One of the others that holds files of a database and is not marked as one that the main
//       directory names is refused: it is another database's, or what it holds is out of date,
//       because the database was opened without it since.
//   V15 sync_directory() syncs each directory that was changed, the main one last: what V3
//       promises, it promises of all. Each is taken as changed in the beginning: what lies there
//       may be visible, and not durable.

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foedus-core/base/clock.h"
#include "foedus-core/device/device.h"
#include "foedus-core/device/directory_mark.h"
#include "foedus/status.h"

namespace foedus::device {

// Returns the number in the name of a large file; nothing for any other name.
std::optional<std::uint32_t> number_in_name(std::string_view name);

class SpreadDevice final : public Device {
 public:
  // Looks at all directories and changes nothing. `main`, `others` and `ssd` outlive it; they are
  // of one class. `seed`: of identities of new ones. "ssd-..." files are made in those of `ssd`,
  // and no others (tiered_device.h).
  // kInvalidArgument: V14; or one is of another database, or `main` is one of the others of a
  // database. kCorruption: a mark is damaged, or a large file lies in two. kWrongVersion. kIoError.
  static Result<std::unique_ptr<SpreadDevice>> make(Device* main, std::vector<Device*> others,
                                                    std::uint64_t seed,
                                                    const std::vector<Device*>& ssd = {});
  // From now on they live as long as this.
  void keep(std::vector<std::unique_ptr<Device>> devices) { kept_ = std::move(devices); }

  // Directories that hold files, as far as the main one knows, and were not given: paths by which
  // they were named last. The first change forgets them.
  std::vector<std::string> left_out() const;

  const std::string& path() const override { return parts_[0]->device->path(); }
  // V11. kAlreadyExists: also, another directory has it.
  Result<std::unique_ptr<File>> open(std::string_view name, Access access) override;
  // All of the main directory, and large files of the others.
  Result<std::vector<std::string>> list() const override;
  Status remove(std::string_view name) override;
  // A file stays in its directory. kIoError: also, another directory has a file `to`.
  Status rename(std::string_view from, std::string_view to) override;
  // V15.
  Status sync_directory() override;
  Status discard(std::string_view name, const Range* ranges, std::size_t count) override;
  // For files of all of them.
  std::unique_ptr<ReadQueue> make_read_queue() override;

 private:
  struct Part {
    Device* device = nullptr;
    DirectoryMark::Part mark;  // of the others
    bool is_marked = false;
    std::mutex mutex;
    // Guarded by mutex. A sync covers the changes that were counted before it began.
    std::uint64_t changes = 1;
    std::uint64_t synced_changes = 0;
  };

  SpreadDevice(Device* main, const std::vector<Device*>& others, std::size_t ssd_count);
  Status look(std::uint64_t seed);
  Status look_at_other(Part* part);
  Status check_names() const;
  // Index of where a file of that name is made.
  std::size_t place_of(std::string_view name) const;
  // Calls `act` for the directories that may have that name, where it would be made first, until
  // one does not answer kNotFound; `*found` is its index.
  template <typename Act>
  auto search(std::string_view name, std::size_t* found, Act act) const;
  Status check_only_in(std::size_t index, std::string_view name) const;
  static void note_change(Part* part);
  static Status sync_part(Part* part);
  // V13. Before the first change; none at once afterwards.
  Status prepare_change();
  Status prepare_change_locked();

  const std::size_t ssd_count_;  // of the last parts

  // Constant after make().
  std::vector<std::unique_ptr<Part>> parts_;  // the main one, then the others
  std::vector<std::unique_ptr<Device>> kept_;
  DirectoryMark main_mark_;  // as it should be

  std::mutex mutex_;
  // Guarded by mutex_, which the first change takes; left_out() is for before it.
  std::optional<DirectoryMark> found_mark_;  // as it is
  bool is_prepared_ = false;
};

}  // namespace foedus::device
