#pragma once
// Options: what a program may choose when it opens a database. Every option but `dir` has a default
// that works on a laptop and in a container without privileges. None can be changed while the
// database is open; Database::effective_options() tells what was really obtained.

#include "foedus/cxx20.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace foedus {

// Limits of the engine. Beyond them: kTooLarge or kInvalidArgument, nothing is changed.
inline constexpr std::size_t kMaxKeyBytes = 1024;                // Master-Tree, hash
inline constexpr std::size_t kMaxPayloadBytes = 4u << 20;        // Master-Tree, hash
inline constexpr std::size_t kMaxArrayPayloadBytes = 2000;       // array: fixed-size payloads
inline constexpr std::size_t kMaxSequentialPayloadBytes = 3072;  // sequential
inline constexpr std::size_t kMaxStorageNameBytes = 64;
inline constexpr std::uint32_t kMaxSocs = 64;
inline constexpr std::uint32_t kMaxSessions = 1024;

// Facility: how the engine uses a facility that the machine may not have.
enum class Facility : std::uint8_t {
  kOff,      // do not use it
  kTry,      // use it if it works, say so in effective_options() if it does not
  kRequire,  // Database::open() fails with kNotSupported if it does not work
};

// How the files of a database are read and written.
enum class DeviceKind : std::uint8_t {
  kFile,  // by system calls, with direct I/O where there is some
  // By loads and stores (libpmem) where the directory lies on persistent memory, a DAX file system.
  // Commits become durable without a system call. With PMEM_IS_PMEM_FORCE=1 in the environment any
  // file system is taken for one: the end of the process loses nothing then, a power failure may.
  // Elsewhere the same as kFile, which effective_options() and a line to the log sink say.
  kMapped,
  // Emulated non-volatile memory, whose speed is nvm_latency_ns and the options beside it. It is
  // kMapped or, where memory is not persistent, kFile; each access takes at least as long as memory
  // of that speed would. Stats::nvm counts the accesses. For experiments, with a directory in
  // memory (/dev/shm).
  kEmulated,
};

// Parts of snapshot pages that DRAM keeps where they lie on non-volatile memory
// (DeviceKind::kMapped and kEmulated; else it is kPages). Lines are of 64 bytes. Pages that a scan
// comes to, those that a write copies, and those of payloads larger than a page are always whole,
// and so are those above the rows but with kDirect. The techniques, and their comparison, are those
// of Van Renen et al., "Managing Non-Volatile Memory in Database Systems", SIGMOD'18.
enum class NvmCache : std::uint8_t {
  // kMiniPages once the cache is full, and whole pages until then. kPages for emulated memory with
  // nvm_latency_ns above 1,000: a read of a row waits for two or three lines one after the other,
  // where a page is waited for once.
  kAuto,
  // Up to 32 lines of each page of rows, those that reads of single rows looked at; a page with
  // more is loaded whole. They take up to three quarters of the memory of the cache. Lines are not
  // checked against the checksum of their page.
  kMiniPages,
  kLines,  // the same, with room for nearly all lines of each page, so each takes that of a page
  kPages,  // whole pages
  // Nothing of the pages of rows: a read of a row reads the lines that it needs from the memory
  // each time (as FPTree does, Oukid et al., SIGMOD'16). The cache keeps pages above the rows, and
  // whole pages as said above; a read of a row passes the latter by. On the SSD tier
  // (Options::ssd_dirs) it is kPages. Lines are not checked against the checksum of their page.
  kHybrid,
  // Nothing at all ("NVM Direct" of that paper): a read of a row reads the lines that it needs of
  // each page on its way from the memory. Whole pages are read anew at each access. Gleans use the
  // cache as ever. With snapshot_cache == false it is kPages. Checksums: as with kHybrid.
  kDirect,
};

enum class Logging : std::uint8_t {
  kFiles,  // commits become durable in log files; the only setting that survives a crash
  kNone,   // nothing is written; every commit is "durable" at once; the directory is refused if it
           // has logs or snapshots. For measurements.
};

// When a commit returns, and what a crash may undo afterwards. Whatever is chosen, a transaction is
// undone as a whole or not at all, and none that another one built on without the other one.
enum class Durability : std::uint8_t {
  // Commit returns as soon as the transaction is serializable and visible. A crash of the process,
  // not only of the machine, may undo the commits of the last moments: some epochs (see
  // epoch_interval_us) and a sync of the device, 10 to 30 ms by default. The ticket of the commit
  // says when that is over: Ticket::wait_durable(), on_durable().
  kAsync,
  // Commit returns when no crash of process or machine can undo it any more: a sync of the device
  // later. Concurrent commits share one.
  kSync,
};

// OpenUntil: the state at which Database::open() returns.
enum class OpenUntil : std::uint8_t {
  kRecovered,         // all that was committed before is there; its errors are those of open()
  kSnapshotReadable,  // the snapshots that the directory holds can be read: milliseconds, however
                      // much there is to recover. The rest goes on in the background; what needs
                      // it waits, see Database::wait_recovered().
};

enum class LogLevel : std::uint8_t { kInfo, kWarning, kError };

// Receives what the engine has to say to an operator, one line a call, from any thread. Must
// neither call into the database nor throw.
using LogSink = std::function<void(LogLevel, std::string_view)>;

// When the log gleaner makes a snapshot, and what it may use. Read at open.
struct GleanOptions {
  // A glean starts by itself once so many bytes of log are in no snapshot. It bounds the log, the
  // time that recovery takes, and how often a page is written: fewer bytes, more writing. 0: not by
  // bytes. At least 1 MiB.
  std::uint64_t log_bytes = 64u << 20;
  // A glean also starts once the next snapshot is expected to write this many pages of 4 KiB. The
  // estimate takes the pages that the last one wrote for a byte of log. The limit bounds the time
  // of a recovery that cannot apply rows on first touch (touch_bytes), where changes fall all over
  // a database that is large beside memory_bytes. Fewer pages mean more writing. Where the gleaner
  // does not keep up, writing transactions are slowed: to its pace at some three times as many, to
  // half of it from six times on. 0: not by pages. At least 1024.
  std::uint64_t pages = 0;
  // A glean also starts when the newest snapshot is this old, in microseconds, and there is any
  // newer log. 0: not by time.
  std::uint64_t interval_us = 60'000'000;
  // Bytes of log in no snapshot at which writing transactions wait for the gleaner. They are slowed
  // to its pace before, evenly, from an eighth of it on, or from log_bytes if that is more; log
  // that the running glean has done does not count. At a quarter of it a glean starts by itself.
  // 0: eight times log_bytes, or three eighths of memory_bytes if that is less and at least twice
  // log_bytes. At least twice log_bytes.
  std::uint64_t log_bytes_max = 0;
  // close() makes a last snapshot if that is expected to take no longer, in microseconds. The next
  // open() then finds nothing to recover. 0: never, and the log stays until then.
  std::uint64_t close_us = 1'000'000;
  // After a crash with fewer bytes of log in no snapshot, open() makes a snapshot of them before it
  // returns. More bytes are only sorted; a transaction that first touches a row applies it, while a
  // snapshot is made. That needs memory for the rows and for what they are sorted by, eight bytes
  // for three of log: memory_bytes of the gleaner, and up to half of that of volatile pages.
  // Without that memory open() makes the snapshot.
  std::uint64_t touch_bytes = 8u << 20;
  // Above this percentage of the memory of volatile pages a glean starts by itself. It drops pages
  // that did not change since, until the percentage is met, and down to a third of it where writers
  // had to wait for room. The next glean begins halfway between if it will write hardly more than
  // was logged. Writing transactions are slowed so that what is left lasts until then. 0..90; 0:
  // all pages that did not change are dropped, at each glean.
  std::uint32_t volatile_percent = 60;
  // Threads that read the log; that sort and write pages, a file each; and that install a snapshot,
  // and drop volatile pages. 0: for each SOC one mapper and one installer for every six of its
  // processors, and one reducer for every three, rounded up, but two reducers at least. Installers
  // are fewer where volatile pages have less than 32 MiB for each. 0..64.
  std::uint32_t mappers = 0;
  std::uint32_t reducers = 0;
  std::uint32_t installers = 0;
  // Memory of mappers and reducers, part of memory_bytes. 0: a quarter of it, at most 1.5 GiB. At
  // least 16 MiB. What does not fit is spilled, however large rows are. Beside it each reducer has
  // up to 1 MiB, and while pages are written up to three copies of the row at hand.
  std::uint64_t memory_bytes = 0;
  // Memory of the cache of snapshot pages, part of memory_bytes. 0: a quarter of it, and beyond
  // that what volatile pages leave idle of their own, until they want it; Options of a database
  // then tell the quarter. Any other: no more than that. For each SOC 512 KiB .. 512 GiB.
  std::uint64_t cache_bytes = 0;
};

struct Options {
  // Directory of the database; made if it is missing (its parent must exist). No default.
  std::string dir;

  // Directories in which the large files lie, on a device each, say; made if they are missing. Log
  // segments "log-<n>-...", snapshot files "snapshot-...-<n>" and what a glean spills of number n
  // are made in dirs[n % dirs.size()], so that with one directory for each SOC each has its own.
  // Empty: in `dir`. At most 64. The lock, the savepoint and the manifests stay in `dir`.
  //
  // A file is found in whichever of them it lies. So a database that was made without `dirs` opens
  // with them, and with more of them, fewer, or others, in any order, as long as `dir` and these
  // name every directory that has files which the database needs. Each directory is locked as `dir`
  // is, and is marked (foedus.directory) before its first file is made. Database::open() fails with
  // kInvalidArgument, and marks, makes and removes no file of a database, if one is named twice, is
  // `dir`, is of another database, holds files of this one that are out of date because it was
  // opened without that directory since, or if one with needed files is left out. A directory that
  // is full is as a full `dir`: kOutOfSpace for writers, until there is room.
  std::vector<std::string> dirs = {};

  // Directories of the SSD tier, made if they are missing; at most 64. Where they are given, `dir`
  // and `dirs` are the tier of non-volatile memory, of `nvm_bytes`. Snapshots are written there;
  // what was not read lately moves to the SSD, in pieces of 256 KiB, before memory is full; what
  // does not fit goes to the SSD at once, by way of a buffer on memory. The buffer has a 64th of
  // nvm_bytes, 1 MiB .. 16 MiB, and takes as much DRAM beside memory_bytes. Memory that snapshots
  // leave keeps single pages of the SSD that are read again, for which more pieces move, up to
  // seven eighths of it. The log stays on memory and is not counted. `ssd_bytes` is the limit of
  // the SSD tier; 0: there is none.
  // Gleans fail with kOutOfSpace when both tiers are full. "ssd-...-<n>" is made in
  // ssd_dirs[n % ssd_dirs.size()]; all that is said of `dirs` holds for these directories, too. The
  // database opens without them if none of its snapshots has moved. ssd_dirs needs nvm_bytes, of
  // 4 MiB at least, and the other way round.
  std::vector<std::string> ssd_dirs = {};
  std::uint64_t nvm_bytes = 0;
  std::uint64_t ssd_bytes = 0;

  // SOCs to spread memory, loggers and sessions over. 0: one per NUMA node of the machine that has
  // memory and processors which the process may use. Any other number is emulated if it is not the
  // machine's: the processors are dealt out to SOCs in contiguous blocks, or SOCs to processors if
  // there are more of them. Range 0..kMaxSocs. A directory opens with any number.
  //
  // transact() uses a session of the SOC of the processor that its thread runs on, or one of
  // another SOC where no more can be made; a Session belongs to the SOC of the processor that ran
  // new_session(). What a session needs of memory comes from its SOC.
  std::uint32_t socs = 0;

  // Loggers of each SOC: threads, bound to its processors as other threads of the engine are, each
  // of which writes the log buffers of a part of its sessions to segments of its own. 0: one. More
  // of them write at the same time where one does not keep a device busy; a commit that is waited
  // for costs a sync of each. 0 .. kMaxSocs, and at most kMaxSocs of all SOCs together. Logger l
  // belongs to SOC l % socs, and writes "log-<l>-..." to dirs[l % dirs.size()]. Sessions of a SOC
  // are dealt out to its loggers in turn. A directory opens with any number.
  std::uint32_t loggers_per_soc = 0;

  // Bound of volatile pages, cached snapshot pages, log buffers and the gleaner's memory together,
  // in bytes. 64 MiB .. 4 TiB. 0: half of the machine's memory or of what the process's cgroup
  // grants, or a quarter of the addresses that RLIMIT_AS leaves, whichever is least, but no less
  // than 64 MiB; the log sink is told which. Address space is reserved at open, memory is taken as
  // it is used.
  std::uint64_t memory_bytes = 0;

  // Size up to which one session's log buffer grows, in bytes; a power of two, 64 KiB .. 1 GiB. It
  // begins with 64 KiB. A transaction's log records must fit into half of the largest, or its
  // writes fail with kTooLarge.
  std::uint64_t log_buffer_bytes = 16u << 20;

  // Size at which a log segment file is full and the next one starts, in bytes. 1 MiB .. 4 GiB.
  // After a crash open() reads the newest one of each logger before anything else, to find the end
  // of the log.
  std::uint64_t log_segment_bytes = 32u << 20;

  // Sessions that may exist at the same time. 1 .. kMaxSessions. Threads need no session of their
  // own: transact() uses any that is free, and waits for one where all are in use. It makes fewer
  // than sessions_max if memory_bytes is small. new_session() makes all of them while there is
  // memory for another log buffer, else it fails with kOutOfMemory.
  std::uint32_t sessions_max = 128;

  // How often the clock starts a new epoch while there are commits, in microseconds; a synchronous
  // commit does not wait for it. 100 .. 1,000,000.
  std::uint64_t epoch_interval_us = 10'000;

  // A transaction that is open for longer, in microseconds, is rolled back where it stands. Its
  // locks, its snapshot and the pages that wait for it are given up. Its operations and commit()
  // return kTimeout from then on. A transaction in the midst of an operation is rolled back when
  // that returns. Checked a few times within that time. 0: transactions may be open for ever. At
  // least 1,000.
  std::uint64_t transaction_timeout_us = 0;

  // Stratified snapshots that can be read at the same time, the newest ones; older ones are removed
  // once no transaction reads them. Fewer are kept where their files would take more than three
  // pages for each live one and 4 MiB, or on a device that is full. What is not kept is not found
  // by TxnOptions::as_of. 1 .. 1000.
  std::uint32_t snapshots_kept = 2;

  Facility huge_pages = Facility::kTry;  // transparent huge pages behind page pools
  // With real SOCs (see `socs`): the memory of a SOC (volatile pages, cached snapshot pages, log
  // buffers, memory of the gleaner) is placed on its NUMA node, as long as that has any left, and
  // the threads of the engine that belong to a SOC (loggers, mappers, reducers, composers,
  // installers) are bound to its processors, if there is more than one SOC. Other threads of the
  // engine run where the thread that opens the database may run. Threads of the program are never
  // bound: where they run is the program's choice, and sessions follow it. Emulated SOCs bind
  // nothing, and kRequire fails.
  Facility numa_binding = Facility::kTry;
  DeviceKind device = DeviceKind::kFile;
  // The speed of emulated memory (DeviceKind::kEmulated). An access takes its latency, and the
  // transfer of its bytes at that many million bytes a second of each directory.
  // nvm_latency_ns: 0 .. 1,000,000, of reads. nvm_write_latency_ns: the same range; 0: that of
  // reads. nvm_bandwidth_mb: 0 .. 1,000,000; 0: a transfer takes no time.
  std::uint64_t nvm_latency_ns = 500;
  std::uint64_t nvm_write_latency_ns = 0;
  std::uint64_t nvm_bandwidth_mb = 0;
  // Latency, of reads and of writes, and bandwidth of the directories in ssd_dirs. Ranges as above.
  std::uint64_t ssd_latency_ns = 0;
  std::uint64_t ssd_bandwidth_mb = 0;
  NvmCache nvm_cache = NvmCache::kAuto;
  // false: a transaction reads each page of a snapshot from the device whenever it comes to it, as
  // the paper's FOEDUS-NoSC does (§9.3.2). For measurements of the cache.
  bool snapshot_cache = true;
  // O_DIRECT for log segments and snapshots. Mapped files need none.
  Facility direct_io = Facility::kTry;
  // Transactions read snapshots through the system's page cache, which then keeps pages beside
  // those in memory_bytes. false: past it, where direct I/O works. Gleans read through it.
  bool buffered_reads = false;
  Logging logging = Logging::kFiles;
  // The durability of transactions that do not choose for themselves (TxnOptions::durability). By
  // default a crash of the process may undo the commits of the last moments, see
  // Durability::kAsync.
  Durability durability = Durability::kAsync;
  OpenUntil open_until = OpenUntil::kRecovered;

  GleanOptions glean = {};

  LogSink log_sink = {};  // empty: silent
};

// EffectiveOptions: the values in force on this machine.
struct EffectiveOptions {
  Options options;  // with every 0 replaced by the number in force
  std::uint32_t loggers = 0;  // of all SOCs together; 0: Logging::kNone
  bool huge_pages = false;
  bool numa_binding = false;  // all that Options::numa_binding names was seen to work
  bool direct_io = false;
};

}  // namespace foedus
