#pragma once
// SpreadDevice: a directory whose large files lie in several others. The main directory
// (Options::dir) has the lock, the savepoint and the manifests. The others (FileOptions::dirs) are,
// say, one for each SOC. Large files of logger or reducer n are made in directory n % count of
// these: log segments "log-<n>-...", snapshot files "snapshot-...-<n>", sorted runs
// "run-...-<n>-...".
//
//   V11 A large file is found in whichever directory it lies. So the order and the number of the
//       others may change from one open to the next. It is made where its number says.
//   V12 No name lies in two directories, after any crash. A name is made only where no other
//       directory has it. If a name is removed from another directory than the one where it would
//       be made, its removal is made durable at once: otherwise a crash could bring it back beside
//       a new file. Removals by earlier processes are made durable before the first change.
//   V13 Each directory has a mark (directory_mark.h). The first change writes in this order, each
//       step durable before the next: the mark of the main directory, which names the others; the
//       marks of new ones; the change itself. So a directory that holds files is marked, and the
//       main directory names it. A directory that a crash leaves without a mark holds no file yet.
//   V14 A directory that holds files of a database, and is not marked as one that the main
//       directory names, is refused. It is another database's, or its files are out of date,
//       because the database was opened without it since.
//   V15 sync_directory() syncs each directory that was changed, the main one last, and so keeps V3
//       for all. When the device is made, each counts as changed: names that an earlier process
//       left may be visible and not durable.

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/device/device.h"
#include "foedus-core/device/spread/directory_mark.h"
#include "foedus/status.h"

namespace foedus::device {

// Returns the number in the name of a large file; nothing for any other name.
std::optional<std::uint32_t> number_in_name(std::string_view name);

class SpreadDevice final : public Device {
 public:
  // Looks at all directories and changes nothing. `main`, `others` and `ssd` outlive the device.
  // They are of one class, because a queue of `main` reads files of all. `seed`: for the identities
  // of new ones. "ssd-..." files, and no others, are made in those of `ssd` (tiered_device.h).
  // kInvalidArgument: V14; or a directory is of another database, two are copies of one, or `main`
  // is one of the others of a database. kCorruption: a mark is damaged, or a large file lies in two
  // directories. kWrongVersion. kIoError.
  static Result<std::unique_ptr<SpreadDevice>> make(Device* main, std::vector<Device*> others,
                                                    std::uint64_t seed,
                                                    const std::vector<Device*>& ssd = {});
  // Keeps `devices` for as long as this object lives.
  void keep(std::vector<std::unique_ptr<Device>> devices) { kept_ = std::move(devices); }

  // Returns the directories that were not given to make(), but may hold files by the mark of the
  // main one. Each is given by the path by which it was named last. The first change forgets them.
  std::vector<std::string> left_out() const;

  const std::string& path() const override { return parts_[0]->device->path(); }
  // Opens a file wherever it lies (V11). kAlreadyExists: also, another directory has it.
  Result<std::unique_ptr<File>> open(std::string_view name, Access access) override;
  // Returns all names of the main directory, and large files of the others.
  Result<std::vector<std::string>> list() const override;
  Status remove(std::string_view name) override;
  // Renames a file, which stays in its directory. kIoError: also, another directory has a file
  // `to`.
  Status rename(std::string_view from, std::string_view to) override;
  // Syncs each directory that was changed (V15).
  Status sync_directory() override;
  Status discard(std::string_view name, const Range* ranges, std::size_t count) override;
  // Returns a queue for files of all directories.
  std::unique_ptr<IoQueue> make_io_queue() override;

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
  // Returns the index of the directory in which a file of that name is made.
  std::size_t place_of(std::string_view name) const;
  // Calls `act` for the directories that may have that name, first the one where it would be made,
  // until one does not answer kNotFound; `*found` is its index.
  template <typename Act>
  auto search(std::string_view name, std::size_t* found, Act act) const;
  Status check_only_in(std::size_t index, std::string_view name) const;
  static void note_change(Part* part);
  static Status sync_part(Part* part);
  // Writes the marks before the first change (V13), and syncs all directories (V12). Later calls
  // return at once.
  Status prepare_change();
  Status prepare_change_locked();

  const std::size_t ssd_count_;  // how many of the last parts are of the SSD tier

  // Constant after make().
  std::vector<std::unique_ptr<Part>> parts_;  // the main one, then the others
  std::vector<std::unique_ptr<Device>> kept_;
  DirectoryMark main_mark_;  // the main directory's mark as it should be

  std::mutex mutex_;
  // Guarded by mutex_, which the first change takes. left_out() is called before that.
  std::optional<DirectoryMark> found_mark_;  // the main directory's mark as it is
  bool is_prepared_ = false;
};

}  // namespace foedus::device
