#include "foedus-core/numa/soc_memory.h"

#include <errno.h>
#include <numaif.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <string>

#include "foedus-core/base/invariant.h"

namespace foedus::numa {

namespace {

constexpr std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

Status out_of_memory(const char* what, std::uint64_t bytes, int error_number,
                     std::string_view hint) {
  return Status::system_error(
      ErrorCode::kOutOfMemory,
      "cannot " + std::string(what) + " " + std::to_string(bytes) + " bytes of memory",
      error_number, hint);
}

// A reservation has a power of two for each SOC. It is refused where it exceeds the addresses that
// the process may have; a larger memory_bytes would only make it larger.
constexpr std::string_view kLessAddresses =
    "lower Options::memory_bytes, or raise the process's limit of addresses (ulimit -v)";
constexpr std::string_view kMoreMemory =
    "give the process more memory (ulimit -v, ulimit -d), or lower Options::memory_bytes";

// Brings the page of `address` into memory and changes nothing. Another thread may use the byte by
// now, so this is inline assembly: an atomic "or" of 0 is correct beside any access.
void touch(char* address) { asm volatile("lock orb $0, (%0)" : : "r"(address) : "memory", "cc"); }

long minor_faults() {
  rusage usage;
  return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_minflt : 0;
}

// Returns whether one fault backs both ends of a huge page of advised memory.
bool is_huge_page_given() {
  constexpr std::uint64_t kBytes = SocMemory::kHugePageBytes;
  void* const probe = mmap(nullptr, 2 * kBytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (probe == MAP_FAILED) return false;
  char* const begin =
      reinterpret_cast<char*>(round_up(reinterpret_cast<std::uintptr_t>(probe), kBytes));
  bool seen = false;
  if (madvise(begin, kBytes, MADV_HUGEPAGE) == 0) {
    const long faults_before = minor_faults();
    touch(begin);
    const long faults_first = minor_faults();
    touch(begin + kBytes - 1);
    seen = faults_first > faults_before && minor_faults() == faults_first;
  }
  munmap(probe, 2 * kBytes);
  return seen;
}

// Returns whether advised memory gets huge pages. One probe of several is enough: the system may
// have none free just now, and faults of the thread's stack or of a sanitizer's memory count as
// well.
bool are_huge_pages_seen() {
  constexpr int kProbes = 8;
  for (int i = 0; i < kProbes; ++i) {
    if (is_huge_page_given()) return true;
  }
  return false;
}

}  // namespace

SocMemory::~SocMemory() {
  if (begin_ != nullptr) munmap(begin_, bytes_);
}

SocMemory& SocMemory::operator=(SocMemory&& other) noexcept {
  std::swap(begin_, other.begin_);
  std::swap(bytes_, other.bytes_);
  std::swap(has_huge_pages_, other.has_huge_pages_);
  std::swap(has_homes_, other.has_homes_);
  std::swap(has_strays_, other.has_strays_);
  return *this;
}

Result<SocMemory> SocMemory::reserve(std::uint64_t bytes, Facility huge_pages) {
  constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 47;  // user addresses have 47 bits
  if (bytes > kBytesMax) {
    return out_of_memory("reserve addresses for", bytes, ENOMEM, kLessAddresses);
  }
  bytes = round_up(bytes, kHugePageBytes);
  const std::uint64_t bytes_mapped = bytes + kHugePageBytes;
  void* const mapped = mmap(nullptr, bytes_mapped, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) {
    return out_of_memory("reserve addresses for", bytes, errno, kLessAddresses);
  }

  // The range is cut to alignment.
  char* const mapped_begin = static_cast<char*>(mapped);
  char* const begin = reinterpret_cast<char*>(
      round_up(reinterpret_cast<std::uintptr_t>(mapped), kHugePageBytes));
  const std::uint64_t bytes_before = static_cast<std::uint64_t>(begin - mapped_begin);
  if (bytes_before != 0) munmap(mapped_begin, bytes_before);
  if (bytes_before != kHugePageBytes) munmap(begin + bytes, kHugePageBytes - bytes_before);

  SocMemory memory;
  memory.begin_ = begin;
  memory.bytes_ = bytes;
  madvise(begin, bytes, MADV_DONTFORK);  // N6
  if (huge_pages == Facility::kOff) {
    madvise(begin, bytes, MADV_NOHUGEPAGE);  // fails where there are none, which is as good
    return memory;
  }
  memory.has_huge_pages_ = madvise(begin, bytes, MADV_HUGEPAGE) == 0 && are_huge_pages_seen();
  if (!memory.has_huge_pages_ && huge_pages == Facility::kRequire) {
    return Status::error(ErrorCode::kNotSupported,
                         "PageOptions::huge_pages is required, but memory advised with "
                         "MADV_HUGEPAGE is not backed by huge pages here");
  }
  return memory;
}

Result<SocMemory> SocMemory::allocate_ring(const Topology& topology, std::uint32_t soc,
                                           std::uint64_t bytes, Facility numa_binding) {
  FOEDUS_INVARIANT(bytes != 0);
  bytes = round_up(bytes, kSmallPageBytes);
  void* const mapped =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return out_of_memory("map", bytes, errno, kMoreMemory);
  SocMemory memory;
  memory.begin_ = static_cast<char*>(mapped);
  memory.bytes_ = bytes;
  madvise(mapped, bytes, MADV_DONTFORK);  // N6
  FOEDUS_CHECK(memory.place(topology, soc, 0, bytes, numa_binding));
  return memory;
}

Status SocMemory::place(const Topology& topology, std::uint32_t soc, std::uint64_t offset,
                        std::uint64_t bytes, Facility numa_binding) {
  FOEDUS_INVARIANT(soc < topology.socs(), soc, topology.socs());
  FOEDUS_INVARIANT(offset + bytes <= bytes_, offset, bytes, bytes_);
  FOEDUS_CHECK(topology.check_binding(numa_binding));
  if (!topology.can_bind(numa_binding)) return {};

  constexpr unsigned kMaskBits = 1024;  // the kernel's bound of NUMA nodes
  constexpr unsigned kWordBits = 64;
  unsigned long mask[kMaskBits / kWordBits] = {};
  const unsigned node = static_cast<unsigned>(topology.node_of(soc));
  FOEDUS_INVARIANT(node < kMaskBits, node);
  mask[node / kWordBits] = 1ul << (node % kWordBits);
  if (mbind(begin_ + offset, bytes, MPOL_PREFERRED, mask, kMaskBits + 1, 0) == 0) {
    has_homes_ = true;
    return {};
  }
  has_strays_ = true;
  if (numa_binding != Facility::kRequire) return {};
  return Status::system_error(ErrorCode::kNotSupported,
                              "cannot place memory on NUMA node " + std::to_string(node), errno);
}

Status SocMemory::commit(std::uint64_t offset, std::uint64_t bytes) {
  FOEDUS_INVARIANT(offset % kSmallPageBytes == 0, offset);
  FOEDUS_INVARIANT(offset + bytes <= bytes_, offset, bytes, bytes_);
  if (mprotect(begin_ + offset, bytes, PROT_READ | PROT_WRITE) == 0) return {};
  return out_of_memory("commit", bytes, errno, kMoreMemory);
}

void SocMemory::prefault(std::uint64_t offset, std::uint64_t bytes) {
  FOEDUS_INVARIANT(offset % kSmallPageBytes == 0, offset);
  FOEDUS_INVARIANT(offset + bytes <= bytes_, offset, bytes, bytes_);
#if defined(MADV_POPULATE_WRITE)
  if (madvise(begin_ + offset, bytes, MADV_POPULATE_WRITE) == 0) return;
#endif
  for (std::uint64_t at = 0; at < bytes; at += kSmallPageBytes) touch(begin_ + offset + at);
}

}  // namespace foedus::numa
