#pragma once
// FailingDevice: a directory in memory that keeps exactly the promises V1..V4 of device.h and no
// more. A test asks for a crash, an error at the n-th call, a full device or a flipped bit.
//
// A file has the image that reads see, the image that is sure to survive a power failure, and the
// list of writes in between. A failed sync gives that list up, as a kernel does that marks such
// pages clean. A later successful sync does not bring the bytes to the device, each of their
// sectors may survive a power failure or not, and reads see them as before. With
// reread_after_failed_sync() the surviving sectors are chosen at once, and reads see these, as if
// the pages had been dropped. A size that was given up is synced again once the file is written at
// its end, or once the size changes. Names have a second, synced table.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "foedus-core/device/device.h"
#include "tests/testing/disk_image.h"

namespace foedus::testing {

enum class Call : std::uint8_t {
  kOpen,
  kCreate,
  kRead,
  kWrite,
  kSync,
  kPreallocate,
  kTruncate,
  kSize,
  kList,
  kRemove,
  kRename,
  kSyncDirectory,
  kDiscard,
  kLink
};
inline constexpr std::size_t kCallKinds = 14;

// Returns whether a call changes a file or a name, or syncs.
inline bool is_changing(Call kind) {
  return kind != Call::kOpen && kind != Call::kRead && kind != Call::kSize && kind != Call::kList;
}

// A call that is about to begin.
struct CallSeen {
  Call kind;
  std::string name;          // of the file; empty: none
  std::uint64_t offset = 0;  // kWrite, kRead; kPreallocate, kTruncate: the size asked for
  const std::vector<char>* bytes = nullptr;  // kWrite
};

class FailingDevice : public device::Device {
 public:
  explicit FailingDevice(std::string path = "/failing") : path_(std::move(path)) {}

  // ---- faults --------------------------------------------------------------------------------

  // Lets the call of `kind` after `skip` more of them, and if `sticky` all later ones, return
  // `error_number`. A write that fails has written some of its sectors, from the first one on;
  // their count is drawn from the number of the call and its offset.
  void fail(Call kind, std::uint64_t skip, int error_number, bool sticky = false);
  void clear_faults();
  // Sets which of the given-up sectors reads see after a failed sync: random ones, none with
  // kDropAll, or all with kKeepAll, the default.
  void reread_after_failed_sync(std::uint64_t seed);
  // Lets power fail at the first changing call after `skip` more of them. That call is not done, or
  // in part if it is a write; every later call fails with EIO until crash_power().
  void lose_power_after(std::uint64_t skip);
  bool has_lost_power() const { return power_is_lost_; }
  // Limits the bytes of all files together, removed files that are still open included. Writes and
  // preallocations beyond it fail with ENOSPC.
  void set_capacity(std::uint64_t bytes) { capacity_bytes_ = bytes; }
  static constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};
  std::uint64_t used_bytes() const;
  // Plants a bug: the sync of a file, or of the directory, after `skip` more of its kind reports
  // success and does nothing; if `sticky`, so do all later ones.
  void skip_sync(Call kind, std::uint64_t skip, bool sticky = false);
  // Sets a function that is called before each call, in the caller's thread. It may use the
  // functions under "looking". Null: none.
  using Observer = std::function<void(const CallSeen&)>;
  void set_observer(Observer observer) { observer_ = std::move(observer); }
  // Leaves the state after a power failure. `seed` chooses the unsynced sectors and names that
  // survive; kDropAll and kKeepAll are the extremes. All open files become unusable.
  static constexpr std::uint64_t kDropAll = 0;
  static constexpr std::uint64_t kKeepAll = ~std::uint64_t{0};
  void crash_power(std::uint64_t seed);
  // Ends the process: open files become unusable, and nothing else is lost.
  void crash_process();

  // Returns whether all devices are persistent memory (V17), as the environment says. A write then
  // needs no sync. A write in which power fails leaves random words, but no first word of a sector.
  static bool is_persistent_memory();

  // ---- looking -------------------------------------------------------------------------------

  std::uint64_t calls(Call kind) const { return calls_[static_cast<std::size_t>(kind)]; }
  // Returns the number of calls that change a file or a name, or sync.
  std::uint64_t changing_calls() const;
  std::vector<std::string> names() const;
  bool exists(const std::string& name) const;
  // Returns whether File::will_read() was called for this offset.
  bool was_announced(const std::string& name, std::uint64_t offset) const;
  std::vector<char> bytes_of(const std::string& name) const;
  std::uint64_t size_of(const std::string& name) const;
  // Returns a device with the synced state only, as after a power failure that drops all else.
  std::unique_ptr<FailingDevice> synced_copy() const;
  // Changes bytes without a call of the engine, synced image included.
  void flip_bit(const std::string& name, std::uint64_t offset, unsigned bit);
  void overwrite(const std::string& name, std::uint64_t offset, const std::string& bytes);
  void set_size(const std::string& name, std::uint64_t bytes);
  void drop_file(const std::string& name);
  // Copies the device without faults and open files. Both share the bytes until one of them writes.
  std::unique_ptr<FailingDevice> copy() const;
  // Does the first `bytes` bytes of `call`, a write in which power fails, in the image that reads
  // see.
  void begin_write(const CallSeen& call, std::size_t bytes);
  // Returns a hash of names, bytes, and bytes that survive a power failure.
  std::uint64_t digest() const;

  // ---- Device --------------------------------------------------------------------------------

  const std::string& path() const override { return path_; }
  Result<std::unique_ptr<device::File>> open(std::string_view name, device::Access access) override;
  Result<std::vector<std::string>> list() const override;
  Status remove(std::string_view name) override;
  Status rename(std::string_view from, std::string_view to) override;
  // Counts as a call of `other`, whose names it changes. REQUIRES: neither device writes to the
  // file from then on. Each has a copy of the file, so a power failure of one is none of the other.
  Status link(std::string_view name, device::Device* other) override;
  Status sync_directory() override;
  // The new bytes are zero at once; after a power failure they are zero or as before.
  Status discard(std::string_view name, const Range* ranges, std::size_t count) override;
  std::unique_ptr<device::IoQueue> make_io_queue() override;
  // Lets make_io_queue() return none from now on, as where the system refuses io_uring.
  void refuse_io_queues() { refuses_queues_ = true; }

 private:
  friend class FailingFile;
  struct Write {
    std::uint64_t offset;
    std::shared_ptr<const std::vector<char>> bytes;
    void take_over(const Write& newer);
  };
  struct Content {
    DiskImage visible;
    DiskImage synced;
    std::vector<Write> unsynced;
    // Writes that failed syncs gave up, one sector each, with the bytes that were synced since.
    std::vector<Write> given_up;
    // Size of the file that a failed sync gave up. A sync makes the size durable once it is another
    // one, or once a later write ends there.
    static constexpr std::uint64_t kNoSize = ~std::uint64_t{0};
    std::uint64_t size_given_up = kNoSize;
    std::uint64_t discarded = 0;  // bytes that take no space
    std::uint64_t hole = 0;       // bytes at the end without space so far
    std::weak_ptr<const char> open;  // held by the files that are open
    std::uint64_t room() const {
      return visible.size() - std::min<std::uint64_t>(visible.size(), discarded + hole);
    }
    void write_unsynced(std::uint64_t offset, const char* bytes, std::size_t count);
    void sync();
    void give_up();
  };
  struct Fault {
    std::uint64_t skip;
    int error_number;
    bool sticky;
  };
  using Names = std::map<std::string, std::shared_ptr<Content>>;

  // Runs the hook before a call. REQUIRES: mutex_ is not held.
  void observe(CallSeen call) const {
    if (observer_) observer_(call);
  }
  bool skips_sync_locked(Call kind);
  // Counts the call. Returns 0, or the errno with which it must fail. REQUIRES: mutex_ is held.
  int count_locked(Call kind) const;
  std::uint64_t used_bytes_locked() const;
  static void crash_content(Content* content, std::uint64_t seed, base::Random* random);
  void fail_sync_locked(Content* content);

  const std::string path_;
  Observer observer_;
  mutable std::mutex mutex_;

  // Guarded by mutex_.
  Names names_;
  Names synced_names_;
  std::vector<std::shared_ptr<Content>> removed_;  // some of them may be open
  std::uint64_t generation_ = 1;  // files opened in an older one are unusable
  std::uint64_t capacity_bytes_ = ~std::uint64_t{0};
  std::uint64_t reread_seed_ = kKeepAll;
  mutable std::map<Call, std::vector<Fault>> faults_;
  std::map<Call, Fault> skipped_syncs_;
  mutable std::uint64_t calls_[kCallKinds] = {};
  bool refuses_queues_ = false;
  std::set<std::pair<std::string, std::uint64_t>> announced_;  // by File::will_read()
  mutable std::uint64_t power_skip_ = ~std::uint64_t{0};
  mutable bool power_is_lost_ = false;
};

}  // namespace foedus::testing
