#pragma once
// MappedFile: a file on non-volatile memory, read and written by loads and stores (libpmem). Where
// the memory below a file is not persistent, a file that is opened to be written is an ordinary
// PosixFile in every respect. A file that is opened to be read is mapped whatever it lies on.
//
//   V17 A write within the mapping is persistent when it returns, because the writer uses
//       non-temporal stores and fences. So sync() has nothing to do for it, and a log whose space
//       was preallocated makes no system call. A power failure in the midst of such a write leaves
//       each aligned 8 bytes old or new, not each sector (V1). But the first 8 bytes of each sector
//       are stored after a fence: where they are new, everything except first words is new. If the
//       write begins at the start of a sector, its own first 8 bytes come last: where they are new,
//       all of it is new.
//   V18 To be written, only bytes that have blocks are mapped: those of an existing file when it is
//       opened, those of a new one when it is preallocated. A store to a hole of a full file system
//       would end the process, where a call returns kOutOfSpace. So a file that may have holes is
//       written by calls, and so is growth beyond the mapping, which sync() makes durable.
//   V19 A mapping stays until the file is closed. If a longer one is made, later accesses use that.
//
// If another process cuts a file while it is mapped, or the memory has lost its contents, an access
// raises SIGBUS. No library can turn that into an error without taking over the program's signal
// handlers.

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "foedus-core/base/atomic_word.h"
#include "foedus-core/device/posix/file.h"

namespace foedus::device {

// CallChanges: how many changes of a file were made by calls, and how many of them are durable. All
// objects that have the file open share one, because V2 covers writes through any of them.
struct CallChanges {
  // Returns the changes of the file that descriptor `fd` has open. Throws std::bad_alloc.
  static std::shared_ptr<CallChanges> of(int fd);

  // The first one stands for what was changed before the file was opened, so the first sync() is a
  // call.
  base::AtomicWord<std::uint64_t> made{1};
  base::AtomicWord<std::uint64_t> durable;
};

class MappedFile final : public PosixFile {
 public:
  enum class Access : std::uint8_t { kRead, kReadWrite };

  // Owns the descriptor, which is not of direct I/O; `changes` are those of its file. Maps the
  // file's bytes, if that is possible.
  MappedFile(std::string path, int fd, Access access, std::shared_ptr<CallChanges> changes);
  ~MappedFile() override;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  Result<std::size_t> read_at(std::uint64_t offset, void* to, std::size_t bytes) const override;
  Result<std::size_t> read_parts_at(std::uint64_t offset, const Bytes* parts,
                                    std::size_t count) const override;
  void will_read(std::uint64_t offset, std::size_t bytes) const override;
  Status write_parts_at(std::uint64_t offset, const ConstBytes* parts, std::size_t count) override;
  Status sync() override;
  Status preallocate(std::uint64_t bytes) override;
  // REQUIRES: no thread reads or writes the bytes that are cut off.
  Status truncate(std::uint64_t bytes) override;
  bool is_written_by_calls() const override { return false; }

  // Returns how many bytes, from the first one on, are read and written without a call.
  std::uint64_t mapped_bytes() const;

 private:
  struct Mapping {
    char* begin;
    std::uint64_t bytes;
  };

  // Maps the file's first `bytes` bytes, or all if it has fewer.
  void map(std::uint64_t bytes);
  // Counts a change that was made by a call, and returns `status`, the call's result.
  Status changed(Status status);
  // Returns the address of bytes in the mapping; null: some of them are not mapped.
  char* mapped(std::uint64_t offset, std::uint64_t bytes) const;

  const Access access_;
  base::AtomicWord<const Mapping*> mapping_;  // the newest; null: there is none
  base::AtomicWord<std::uint64_t> bytes_;     // bytes of it that may be touched
  const std::shared_ptr<CallChanges> changes_;

  std::mutex mutex_;  // held while a mapping is made or cut
  std::vector<std::unique_ptr<const Mapping>> all_;  // V19; guarded by mutex_
};

// Returns true if files of a directory are mapped: the memory below it is persistent, or the
// environment says that it is to be taken for that (PMEM_IS_PMEM_FORCE=1). Makes a file for a
// moment to find out.
bool maps_files(int directory_fd);

}  // namespace foedus::device
