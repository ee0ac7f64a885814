#pragma once
// Device: a directory of files, through which the engine accesses all files. What a crash may do:
//
//   V1  A write is visible to every later read at once, and survives the end of the process, but
//       not a power failure. After one, each 512-byte sector that was written since the last sync
//       is old or new, independent of all others. So is each one that truncate() has cut off.
//   V2  When File::sync() has returned success, all bytes that were written before it, and the
//       file's size, survive a power failure. That includes writes through another File of the same
//       name. After a failed sync nothing is known of these bytes: the system may have dropped them
//       and not report it again. So a later success says nothing about them unless they were
//       written again.
//   V3  Creation, renaming and removal of a name survive a power failure once
//       Device::sync_directory() has returned success after it; not by File::sync().
//   V4  An error is a Status that names the file and errno: kOutOfSpace for a full file system,
//       quota or limit of a file's size, else kIoError, or what the function says. A function
//       completes system calls that were interrupted or short; but an interrupted sync has failed
//       (V2).
//
// Every function may be called from any thread; two writes of overlapping bytes must not overlap in
// time.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "foedus/status.h"

namespace foedus::device {

// Alignment of memory, offset and length that direct I/O asks for.
inline constexpr std::size_t kBlockBytes = 4096;

// The unit that a disk writes atomically (V1), and the bytes at its begin that a MappedFile stores
// last (V17).
inline constexpr std::size_t kSectorBytes = 512;
inline constexpr std::size_t kFirstWordBytes = 8;

struct ConstBytes {
  const void* data;
  std::size_t bytes;
};
struct Bytes {
  void* data;
  std::size_t bytes;
};

class File {
 public:
  static constexpr std::size_t kWritePartsMax = 8;
  static constexpr std::size_t kReadPartsMax = 64;

  virtual ~File() = default;

  // Returns directory and name, as messages give them.
  virtual const std::string& path() const = 0;
  // Reads up to `bytes` bytes at `offset`; fewer only if the file ends there. Returns how many.
  virtual Result<std::size_t> read_at(std::uint64_t offset, void* to, std::size_t bytes) const = 0;
  // Reads as read_at() does, to places that are filled one after the other; with one call where the
  // system has such calls. REQUIRES: count <= kReadPartsMax.
  virtual Result<std::size_t> read_parts_at(std::uint64_t offset, const Bytes* parts,
                                            std::size_t count) const;
  // Announces that these bytes are read soon, so that a device that serves many requests at a time
  // can begin. Waits for nothing, and changes only the time that the read takes.
  virtual void will_read(std::uint64_t offset, std::size_t bytes) const {
    static_cast<void>(offset);
    static_cast<void>(bytes);
  }
  // Reads pieces that need not follow one another. Where the file lies in memory, their latencies
  // overlap. False: the file ends before or in one of them.
  struct Piece {
    std::uint64_t offset;
    void* to;
    std::size_t bytes;
  };
  virtual Result<bool> read_pieces(const Piece* pieces, std::size_t count) const;
  // Returns true if a small piece at `offset` is read in less time than a whole block.
  virtual bool has_small_reads(std::uint64_t offset) const {
    static_cast<void>(offset);
    return true;
  }
  // Writes all parts one after the other. On failure some of the bytes may be written. REQUIRES:
  // count <= kWritePartsMax; if is_direct(), all multiples of kBlockBytes.
  virtual Status write_parts_at(std::uint64_t offset, const ConstBytes* parts,
                                std::size_t count) = 0;
  Status write_at(std::uint64_t offset, const void* from, std::size_t bytes) {
    const ConstBytes part{from, bytes};
    return write_parts_at(offset, &part, 1);
  }
  // Makes earlier writes durable (V2).
  virtual Status sync() = 0;
  // Makes the file at least `bytes` long. New bytes are zero, and have space on the device where
  // the file system can promise it.
  virtual Status preallocate(std::uint64_t bytes) = 0;
  // Cuts or extends the file to `bytes`.
  virtual Status truncate(std::uint64_t bytes) = 0;
  virtual Result<std::uint64_t> size() const = 0;
  // Returns true if reads and writes bypass the system's page cache and must be aligned.
  virtual bool is_direct() const = 0;
};

enum class Access : std::uint8_t {
  kRead,       // an existing file
  kReadDirect,  // an existing file, with direct I/O if the device has it
  kReadWrite,  // an existing file
  kReadWriteDirect,  // an existing file, with direct I/O if the device has it
  kCreate,     // a new file; an existing one is an error
  kCreateDirect,  // a new file, with direct I/O if the device has it
};

class IoQueue;

class Device {
 public:
  virtual ~Device() = default;

  virtual const std::string& path() const = 0;
  // Opens or makes a file. kNotFound: there is no such file, and `access` is not one of kCreate...
  // kAlreadyExists: there is one, and `access` is kCreate... kInvalidArgument: `name` is not the
  // plain name of a file in this directory. kIoError: also, it is not a regular file; symbolic
  // links are never followed.
  virtual Result<std::unique_ptr<File>> open(std::string_view name, Access access) = 0;
  // Returns the names of all entries but "." and "..", in no particular order.
  virtual Result<std::vector<std::string>> list() const = 0;
  // Removes a name. kNotFound: there is none.
  virtual Status remove(std::string_view name) = 0;
  // Renames a file; replaces `to` if it exists. kIoError: also, there is no `from`.
  virtual Status rename(std::string_view from, std::string_view to) = 0;
  // Makes file `name` of this directory a file of `other`, too, under the same name: a hard link.
  // Neither directory may change its bytes from then on (V5). The new name is durable once
  // other->sync_directory() has returned success (V3). kNotSupported: the system makes no such
  // link, or the devices are no directories of one file system. kAlreadyExists: `other` has a file
  // of that name. kNotFound: no such file.
  virtual Status link(std::string_view name, Device* other);
  // Makes changes of names durable (V3).
  virtual Status sync_directory() = 0;
  // Gives back the space of ranges of a file, whose size stays. From then on, and after a power
  // failure, each byte of them is zero or what it was. A concurrent read, also one from a mapping,
  // gets either. kNotSupported: the file system cannot. kNotFound: no such file. REQUIRES: offsets
  // and bytes are multiples of kBlockBytes.
  struct Range {
    std::uint64_t offset;
    std::uint64_t bytes;
  };
  virtual Status discard(std::string_view name, const Range* ranges, std::size_t count);
  // Moves parts of files that need not be where they are, so that there is space for new files. May
  // take long. REQUIRES: one thread at a time; no thread makes or removes files meanwhile.
  virtual Status make_room() { return {}; }
  // Lends space that files do not need now to a borrower, which makes a file of its own longer.
  // Returns how many bytes are lent, `most` or less, until return_room(). `moves`: if they are
  // fewer than `most`, a later make_room() may move files to have more space to lend. Any thread.
  virtual std::uint64_t lend_room(std::uint64_t most, bool moves) {
    static_cast<void>(moves);
    return most;
  }
  virtual void return_room(std::uint64_t) {}
  // Counts as lent the space that the borrower had before the device was opened.
  virtual void keep_lent(std::uint64_t) {}
  // Returns true if make_room() is to make space for a borrower. Any thread.
  virtual bool wants_room() const { return false; }
  // Returns a queue for reads and writes of this device's files. Null: the system refuses what a
  // queue needs; then tasks can read and write in its place (pooled_io.h).
  virtual std::unique_ptr<IoQueue> make_io_queue();
};

// Opens a file that existed before, to read or to change it. kIoError: also, the file has vanished.
// Device::open()'s kNotFound would tell a program that a key or a storage does not exist.
Result<std::unique_ptr<File>> open_existing(Device* device, std::string_view name, Access access);

// Returns `removed`, or a success if the file was gone already.
Status unless_gone(Status removed);

}  // namespace foedus::device
