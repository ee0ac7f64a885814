#include "foedus-core/device/posix/mapped_file.h"

#include <fcntl.h>
#ifdef FOEDUS_HAVE_LIBPMEM
#include <libpmem.h>
#endif
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "foedus-core/base/out_of_memory.h"

#ifndef FOEDUS_HAVE_LIBPMEM
// Without libpmem no memory counts as persistent, so that nothing is mapped to be written.
static void* pmem_map_file(const char*, std::size_t, int, mode_t, std::size_t*, int*) {
  return nullptr;
}
static int pmem_unmap(void*, std::size_t) { return 0; }
static void* pmem_memcpy_nodrain(void* to, const void* from, std::size_t bytes) {
  return std::memcpy(to, from, bytes);
}
static void pmem_flush(const void*, std::size_t) {}
static void pmem_drain() {}
#endif

namespace foedus::device {

namespace {

// Returns how many of the bytes at `offset`, all in one sector, belong to its first word.
std::size_t first_word_bytes(std::uint64_t offset, std::size_t bytes) {
  const std::uint64_t in_sector = offset % kSectorBytes;
  return in_sector >= kFirstWordBytes
             ? 0
             : std::min<std::size_t>(kFirstWordBytes - in_sector, bytes);
}

// Calls `visit` for each piece that lies in one sector: its begin, its bytes, and how many of these
// are of the first word.
template <typename Visit>
void for_each_sector(std::uint64_t offset, std::size_t bytes, Visit&& visit) {
  for (std::size_t at = 0; at < bytes;) {
    const std::size_t piece =
        std::min<std::size_t>(kSectorBytes - (offset + at) % kSectorBytes, bytes - at);
    visit(at, piece, first_word_bytes(offset + at, piece));
    at += piece;
  }
}

void store_all_but_first_words(char* to, std::uint64_t offset, const ConstBytes& part) {
  const char* const from = static_cast<const char*>(part.data);
  for_each_sector(offset, part.bytes, [&](std::size_t at, std::size_t piece, std::size_t first) {
    if (piece != first) ::pmem_memcpy_nodrain(to + at + first, from + at + first, piece - first);
  });
}

void store_first_word(char* to, const char* from, std::size_t bytes) {
  if (bytes == kFirstWordBytes) {  // by one store, which a power failure does not tear
    std::uint64_t word;
    std::memcpy(&word, from, sizeof(word));
    reinterpret_cast<base::AtomicWord<std::uint64_t>*>(to)->store_relaxed(word);
  } else if (bytes != 0) {
    std::memcpy(to, from, bytes);
  }
  if (bytes != 0) ::pmem_flush(to, bytes);
}

// Stores the first words of all sectors of a part. `is_begin`: the write begins with this part, and
// its own first word is left out (V17).
void store_first_words(char* to, std::uint64_t offset, const ConstBytes& part, bool is_begin) {
  const char* const from = static_cast<const char*>(part.data);
  for_each_sector(offset, part.bytes, [&](std::size_t at, std::size_t, std::size_t first) {
    if (!is_begin || at != 0) store_first_word(to + at, from + at, first);
  });
}

// Returns a path that leads to the open file and nothing else: libpmem takes no descriptor.
std::string path_of_descriptor(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

// Maps all of a file, if its memory is persistent; else returns null.
char* map_persistent(int fd, std::size_t* bytes) {
  int is_persistent = 0;
  void* const begin =
      ::pmem_map_file(path_of_descriptor(fd).c_str(), 0, 0, 0, bytes, &is_persistent);
  if (begin == nullptr || is_persistent != 0) return static_cast<char*>(begin);
  ::pmem_unmap(begin, *bytes);
  return nullptr;
}

// Maps all of a file to be read, whatever its memory is; null if that is impossible. The mapping is
// read-only, so that no stray store of the process changes the file.
char* map_to_read(int fd, std::size_t* bytes) {
  struct stat about;
  if (::fstat(fd, &about) != 0 || about.st_size <= 0) return nullptr;
  *bytes = static_cast<std::size_t>(about.st_size);
  void* const begin = ::mmap(nullptr, *bytes, PROT_READ, MAP_SHARED, fd, 0);
  return begin == MAP_FAILED ? nullptr : static_cast<char*>(begin);
}

}  // namespace

std::shared_ptr<CallChanges> CallChanges::of(int fd) {
  struct stat about;
  // fstat() does not fail for an open file; if it did, the first sync would be a call all the same.
  if (::fstat(fd, &about) != 0) return std::make_shared<CallChanges>();
  static std::mutex mutex;
  static std::map<std::pair<dev_t, ino_t>, std::weak_ptr<CallChanges>> open_files;
  const std::lock_guard lock(mutex);
  std::erase_if(open_files, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<CallChanges>& known = open_files[{about.st_dev, about.st_ino}];
  std::shared_ptr<CallChanges> changes = known.lock();
  if (changes != nullptr) return changes;
  changes = std::make_shared<CallChanges>();
  known = changes;
  return changes;
}

MappedFile::MappedFile(std::string path, int fd, Access access,
                       std::shared_ptr<CallChanges> changes)
    : PosixFile(std::move(path), fd, false), access_(access), changes_(std::move(changes)) {
  const Result<std::uint64_t> bytes = size();
  if (!bytes.is_ok() || *bytes == 0) return;
  if (access_ == Access::kReadWrite && !has_blocks(*bytes)) return;
  map(*bytes);
}

MappedFile::~MappedFile() {
  for (const auto& mapping : all_) {
    if (access_ == Access::kRead) {
      ::munmap(mapping->begin, mapping->bytes);
    } else {
      ::pmem_unmap(mapping->begin, mapping->bytes);
    }
  }
}

void MappedFile::map(std::uint64_t bytes) {
  base::trying([&] {
    const std::lock_guard lock(mutex_);
    all_.reserve(all_.size() + 1);
    auto mapping = std::make_unique<Mapping>();
    mapping->begin = access_ == Access::kRead ? map_to_read(descriptor(), &mapping->bytes)
                                              : map_persistent(descriptor(), &mapping->bytes);
    if (mapping->begin == nullptr) return;
    const Mapping* const made = mapping.get();
    all_.push_back(std::move(mapping));
    // order: release twice, pairs with mapped(): a thread that sees the mapping sees all of it, and
    // one that sees the new bytes_ sees a mapping with at least as many.
    mapping_.store_release(made);
    bytes_.store_release(std::min<std::uint64_t>(made->bytes, bytes));
  });
}

char* MappedFile::mapped(std::uint64_t offset, std::uint64_t bytes) const {
  // order: acquire, pairs with map(): the mapping loaded next has at least this many bytes.
  const std::uint64_t end = bytes_.load_acquire();
  if (offset > end || bytes > end - offset) return nullptr;
  const Mapping* const mapping = mapping_.load_acquire();  // order: acquire, as above
  return mapping == nullptr ? nullptr : mapping->begin + offset;
}

std::uint64_t MappedFile::mapped_bytes() const {
  return bytes_.load_acquire();  // order: acquire, as in mapped()
}

Result<std::size_t> MappedFile::read_at(std::uint64_t offset, void* to, std::size_t bytes) const {
  const char* const from = mapped(offset, bytes);
  if (from == nullptr) return PosixFile::read_at(offset, to, bytes);
  std::memcpy(to, from, bytes);
  return bytes;
}

Result<std::size_t> MappedFile::read_parts_at(std::uint64_t offset, const Bytes* parts,
                                              std::size_t count) const {
  std::size_t all = 0;
  for (std::size_t i = 0; i < count; ++i) all += parts[i].bytes;
  const char* from = mapped(offset, all);
  if (from == nullptr) return PosixFile::read_parts_at(offset, parts, count);
  for (std::size_t i = 0; i < count; from += parts[i++].bytes) {
    std::memcpy(parts[i].data, from, parts[i].bytes);
  }
  return all;
}

// Announces nothing if the bytes are mapped: they need no read of a device.
void MappedFile::will_read(std::uint64_t offset, std::size_t bytes) const {
  if (mapped(offset, bytes) == nullptr) PosixFile::will_read(offset, bytes);
}

Status MappedFile::write_parts_at(std::uint64_t offset, const ConstBytes* parts,
                                  std::size_t count) {
  std::size_t all = 0;
  for (std::size_t i = 0; i < count; ++i) all += parts[i].bytes;
  char* const begin = access_ == Access::kRead ? nullptr : mapped(offset, all);
  if (begin == nullptr) return changed(PosixFile::write_parts_at(offset, parts, count));
  // The write's own first word is in the first part that has bytes.
  std::size_t begin_part = 0;
  while (begin_part < count && parts[begin_part].bytes == 0) ++begin_part;
  if (begin_part == count) return {};
  std::uint64_t at = offset;
  for (std::size_t i = 0; i < count; at += parts[i++].bytes) {
    store_all_but_first_words(begin + (at - offset), at, parts[i]);
  }
  ::pmem_drain();  // V17: before the first words
  at = offset;
  for (std::size_t i = 0; i < count; at += parts[i++].bytes) {
    store_first_words(begin + (at - offset), at, parts[i], i == begin_part);
  }
  ::pmem_drain();  // V17: before the first of all
  const ConstBytes& first = parts[begin_part];
  store_first_word(begin, static_cast<const char*>(first.data),
                   first_word_bytes(offset, std::min(first.bytes, kSectorBytes)));
  ::pmem_drain();  // V17: before it returns
  return {};
}

Status MappedFile::changed(Status status) {
  // order: seq_cst, its release pairs with sync(): the change was made before it is counted.
  changes_->made.fetch_add_seq_cst(1);
  return status;
}

Status MappedFile::sync() {
  const std::uint64_t made = changes_->made.load_acquire();  // order: acquire, as in changed()
  // order: acquire, pairs with the exchange below: the sync that made them durable has ended.
  std::uint64_t durable = changes_->durable.load_acquire();
  if (durable >= made) return {};
  FOEDUS_CHECK(PosixFile::sync());
  while (durable < made && !changes_->durable.compare_exchange_acq_rel(durable, made)) {
  }
  return {};
}

Status MappedFile::preallocate(std::uint64_t bytes) {
  FOEDUS_CHECK(changed(PosixFile::preallocate(bytes)));
  if (mapped_bytes() < bytes && access_ == Access::kReadWrite && has_blocks(bytes)) {
    map(bytes);
  }
  return {};
}

Status MappedFile::truncate(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  // order: relaxed, changed under the mutex; release, as in map().
  bytes_.store_release(std::min(bytes_.load_relaxed(), bytes));
  return changed(PosixFile::truncate(bytes));
}

bool maps_files(int directory_fd) {
  const int fd = ::openat(directory_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  constexpr off_t kBytes = 1 << 16;
  std::size_t bytes = 0;
  char* const begin = ::fallocate(fd, 0, 0, kBytes) == 0 ? map_persistent(fd, &bytes) : nullptr;
  if (begin != nullptr) ::pmem_unmap(begin, bytes);
  ::close(fd);
  return begin != nullptr;
}

}  // namespace foedus::device
