#pragma once
// SocMemory: a piece of address space whose parts are backed by memory of stated SOCs.
//
//   reserved --place()--> reserved, with a home --commit()--> readable and writable --prefault()-->
//   backed
//
//   N4  A reserved address is no memory and any access to it faults; committed memory reads as zero
//       until it is written. Nothing is unmapped before the SocMemory is destroyed.
//   N5  Running out of memory or address space is kOutOfMemory, never an abort. (Where the kernel
//       overcommits, it may still end the process later; prefault() finds that out no sooner.)
//   N6  The range is not inherited by fork(): the child has no mapping there, so it can neither
//       change nor copy pages, and the parent takes no copy-on-write faults.
//   N7  Homes are preferences (MPOL_PREFERRED): a node that is full is no reason to fail or to be
//       killed.

#include <cstdint>
#include <utility>

#include "foedus-core/numa/topology.h"
#include "foedus/options.h"
#include "foedus/status.h"

namespace foedus::numa {

class SocMemory {
 public:
  static constexpr std::uint64_t kSmallPageBytes = 4096;
  static constexpr std::uint64_t kHugePageBytes = 2u << 20;

  SocMemory() = default;
  ~SocMemory();
  SocMemory(SocMemory&& other) noexcept { *this = std::move(other); }
  SocMemory& operator=(SocMemory&& other) noexcept;

  // Reserves `bytes` bytes, rounded up to huge pages, at an address aligned to one. Fails with
  // kOutOfMemory, or with kNotSupported if huge pages are required and cannot be had.
  static Result<SocMemory> reserve(std::uint64_t bytes, Facility huge_pages);

  // Allocates and commits memory of one SOC at once, for a log ring: `bytes` bytes, rounded up to
  // small pages and aligned to one. Fails with kOutOfMemory, or with kNotSupported if binding is
  // required and does not work.
  static Result<SocMemory> allocate_ring(const Topology& topology, std::uint32_t soc,
                                         std::uint64_t bytes, Facility numa_binding);

  // In the following calls offsets and bytes are multiples of kSmallPageBytes and lie within the
  // range.

  // Makes `soc` the home of this part: its memory will come from there. Called before the part is
  // committed. Fails with kNotSupported if binding is required and does not work; does nothing if
  // it is off or SOCs are emulated.
  Status place(const Topology& topology, std::uint32_t soc, std::uint64_t offset,
               std::uint64_t bytes, Facility numa_binding);
  Status commit(std::uint64_t offset, std::uint64_t bytes);
  // Backs committed memory now instead of at its first use. Changes no byte: other threads may read
  // and write there meanwhile.
  void prefault(std::uint64_t offset, std::uint64_t bytes);

  char* begin() const { return begin_; }
  std::uint64_t bytes() const { return bytes_; }
  // Facilities that were obtained: huge pages were seen behind a probe of the same kind; all homes
  // were accepted.
  bool has_huge_pages() const { return has_huge_pages_; }
  bool is_bound() const { return has_homes_ && !has_strays_; }

 private:
  char* begin_ = nullptr;
  std::uint64_t bytes_ = 0;
  bool has_huge_pages_ = false;
  bool has_homes_ = false;   // a part was placed
  bool has_strays_ = false;  // a part could not be placed
};

}  // namespace foedus::numa
