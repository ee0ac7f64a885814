#pragma once
// Options: the settings that a program chooses when it opens a database. Every option except `dir`
// has a default that works on a laptop and in a container without privileges. No option can be
// changed while the database is open. Database::effective_options() returns what was obtained.

#include "foedus/cxx20.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "foedus/limits.h"

namespace foedus {

// Facility: how the engine uses a facility that the machine may not have.
enum class Facility : std::uint8_t {
  kOff,      // do not use it
  kTry,      // use it if it works; effective_options() says whether it does
  kRequire,  // Database::open() fails with kNotSupported if it does not work
};

// How the files of a database are read and written.
enum class DeviceKind : std::uint8_t {
  kFile,  // by system calls, with direct I/O where it works
  // By loads and stores (libpmem) if the directory lies on persistent memory, a DAX file system.
  // Commits become durable without a system call. With PMEM_IS_PMEM_FORCE=1 in the environment the
  // engine takes any file system for persistent memory. Then the end of the process loses nothing,
  // but a power failure may. On other file systems the engine uses kFile instead;
  // effective_options() and a line to the log sink say so.
  kMapped,
  // Emulated non-volatile memory with the speed in EmulationOptions. Files are used as with
  // kMapped. If the directory does not lie on persistent memory, they are mapped for reads only,
  // and written by system calls. Each access takes at least as long as memory of that speed would.
  // Stats::nvm counts the accesses. For experiments, with a directory in memory (/dev/shm).
  kEmulated,
};

// Which parts of snapshot pages DRAM keeps if the snapshots lie on non-volatile memory
// (DeviceKind::kMapped and kEmulated). On other devices, and with snapshot_cache == false, pages
// are always whole, whatever the value. Lines have 64 bytes. Pages are always whole if a scan reads
// them, if a write copies them, or if they belong to payloads larger than a page. Except with
// kDirect, pages above the rows are whole, too. The techniques and their comparison are those of
// Van Renen et al., "Managing Non-Volatile Memory in Database Systems", SIGMOD'18.
enum class NvmCache : std::uint8_t {
  // kMiniPages once the cache is full, and whole pages until then. kPages for emulated memory with
  // nvm_latency_ns above 1,000: a read of a row waits for two or three lines in turn, but for a
  // page only once.
  kAuto,
  // Up to 32 lines of each page of rows, those that reads of single rows used. A page that needs
  // more is loaded whole. Lines take up to three quarters of the cache's memory. They are not
  // checked against the checksum of their page.
  kMiniPages,
  // Up to 59 lines of each page of rows, which take the memory of a whole page. Otherwise like
  // kMiniPages.
  kLines,
  kPages,  // whole pages
  // No lines of the pages of rows: a read of a row reads its lines from non-volatile memory each
  // time (as in FPTree, Oukid et al., SIGMOD'16). The cache keeps pages above the rows, and pages
  // of rows that were read whole for a scan, a copy or a large payload. A read of one row does not
  // use these whole pages of rows. For pages on the SSD tier (TierOptions::ssd_dirs), kHybrid works
  // as kPages. Lines are not checked against the checksum of their page.
  kHybrid,
  // No parts of pages ("NVM Direct" of Van Renen et al.): a read of a row reads its lines of each
  // page on its path from non-volatile memory. Whole pages are read anew at each access. Gleans use
  // the cache as always. Lines are not checked against the checksum of their page.
  kDirect,
};

enum class Logging : std::uint8_t {
  kFiles,  // commits become durable in log files; the only setting that survives a crash
  kNone,   // no log: every commit is "durable" at once, and open() refuses a directory with logs
           // or snapshots. For measurements.
};

// When a commit returns, and which commits a crash may undo. With any setting, a crash undoes a
// transaction as a whole or not at all, and with it all transactions that depend on it.
enum class Durability : std::uint8_t {
  // Commit returns as soon as the transaction is serializable and visible. A crash of the process,
  // not only of the machine, may undo the last commits: those of the last few epochs (see
  // epoch_interval_us) and of the time of a device sync. By default that is 10 to 30 ms. The
  // commit's ticket tells when it is durable: Ticket::wait_durable(), on_durable().
  kAsync,
  // Commit returns once no crash of process or machine can undo it, one sync of the device later.
  // Concurrent commits share a sync.
  kSync,
};

// OpenUntil: the state at which Database::open() returns.
enum class OpenUntil : std::uint8_t {
  kRecovered,         // all earlier commits are recovered; open() returns the errors of recovery
  kSnapshotReadable,  // the snapshots in the directory can be read. That takes milliseconds,
                      // however much there is to recover. Recovery goes on in the background, and
                      // calls that need it wait, see Database::wait_recovered().
};

enum class LogLevel : std::uint8_t { kInfo, kWarning, kError };

// Receives the engine's messages for an operator, one line a call, from any thread. It must neither
// call into the database nor throw.
using LogSink = std::function<void(LogLevel, std::string_view)>;

// When the log gleaner makes a snapshot, and which resources it may use. Read at open.
struct GleanOptions {
  // A glean starts by itself once this many bytes of log are in no snapshot. The limit bounds the
  // log and the time of recovery. With a lower limit, gleans write the same page more often. 0: no
  // glean starts for this reason. Other values: at least 1 MiB.
  std::uint64_t log_bytes = 64u << 20;
  // A glean also starts this long after the last one began, or after open(), if there is newer log.
  // In microseconds. 0: no glean starts for this reason.
  std::uint64_t interval_us = 60'000'000;
  // Bytes of log in no snapshot at which writing transactions wait for the gleaner. At a quarter of
  // this limit a glean starts by itself. Writers are slowed gradually to the gleaner's pace once
  // the log that no glean has processed exceeds an eighth of the limit, or log_bytes if that is
  // more. 0: three eighths of GleanOptions::memory_bytes if that is two to eight times log_bytes,
  // otherwise eight times log_bytes; no limit if log_bytes is 0, too. Other values: at least twice
  // log_bytes, and 2 MiB.
  std::uint64_t log_bytes_max = 0;
  // close() makes a last snapshot if that is expected to take no longer than this, in microseconds.
  // The next open() then has nothing to recover. 0: never, and the log stays until that open().
  std::uint64_t close_us = 1'000'000;
  // After a crash with fewer bytes of log in no snapshot, open() makes a snapshot of them before it
  // returns. With more log, open() only sorts it. A transaction that first touches a row then
  // applies the row's log, while a snapshot is made in the background. This needs memory for the
  // rows, and to sort them 8 bytes for each 3 bytes of log. It is taken from the gleaner's
  // memory_bytes, and from up to half of the memory of volatile pages. Without that memory open()
  // makes the snapshot.
  std::uint64_t touch_bytes = 8u << 20;
  // Threads of a glean, of all SOCs together, 0..64. Mappers read the log. Reducers sort, and write
  // pages, a file each. Installers install a snapshot, and drop volatile pages. 0: each SOC has a
  // mapper and an installer for every six of its processors, and a reducer for every three, rounded
  // up. In all there are at least two reducers, and fewer installers if volatile pages have less
  // than 32 MiB for each.
  std::uint32_t mappers = 0;
  std::uint32_t reducers = 0;
  std::uint32_t installers = 0;
  // Memory of mappers and reducers in bytes, part of Options::memory_bytes. 0: a quarter of that,
  // at most 1.5 GiB. At least 16 MiB. Records that do not fit are spilled, however large rows are.
  // Beyond this memory each reducer takes up to 1 MiB and, while it writes pages, up to three
  // copies of the current row.
  std::uint64_t memory_bytes = 0;
};

// LogOptions::change_bytes that ends what an earlier open has begun.
inline constexpr std::uint64_t kNoChanges = ~std::uint64_t{0};

// The log, and the files and memory that it takes. Read at open.
struct LogOptions {
  // Maximum size of a session's log buffer in bytes; a power of two, 64 KiB .. 1 GiB. A buffer
  // begins with 64 KiB and grows. A transaction's log records must fit into half of the maximum;
  // otherwise its writes fail with kTooLarge.
  std::uint64_t buffer_bytes = 16u << 20;

  // Size of a log segment file in bytes, at which the next one starts. 1 MiB .. 4 GiB. After a
  // crash, open() first reads the newest segment of each logger to find the end of the log.
  std::uint64_t segment_bytes = 32u << 20;

  // Loggers of each SOC. A logger is a thread, bound to the SOC's processors as other threads of
  // the engine are. It writes the log buffers of a part of the SOC's sessions to segments of its
  // own. 0: one. Loggers write in parallel, so more of them help if one cannot keep its device
  // busy. But a synchronous commit waits for a sync by each logger of all SOCs. 0 .. kMaxSocs, and
  // at most kMaxSocs of all SOCs together. Logger l belongs to SOC l % socs, and writes
  // "log-<l>-..." to dirs[l % dirs.size()]. Sessions of a SOC are dealt out to its loggers in turn.
  // A directory opens with any number.
  std::uint32_t loggers_per_soc = 0;

  // Bytes of log that stay for change streams (foedus/changes.h) though a snapshot covers them. A
  // segment counts as at least 64 KiB. The oldest segments go first; those that an open stream has
  // not read yet stay in any case. A stream begins only in a directory that keeps changes, and none
  // of them can be bulk-loaded (Database::load_masstree()). The value is kept in the directory. 0:
  // what the directory had at its last open, at first kNoChanges; EffectiveOptions then has that.
  // kNoChanges: none stay. Changes from before an open with kNoChanges cannot be read any more.
  std::uint64_t change_bytes = 0;

  Logging kind = Logging::kFiles;
};

// Memory for volatile pages, and for the cache of snapshot pages. Read at open.
struct PageOptions {
  // A glean starts by itself when volatile pages take more than this percentage of their memory. It
  // drops pages that did not change after its snapshot, until the percentage is met. While writers
  // have to wait for memory, each glean drops more than the last one, down to a third of the
  // percentage. The next glean then begins halfway between that goal and the percentage, if it is
  // expected to write at most twice as many bytes as were logged. Writing transactions are slowed
  // so that the remaining memory lasts until a glean has freed some. 0..90; 0: no glean starts for
  // this reason, and each glean drops all pages that did not change.
  std::uint32_t volatile_percent = 60;
  // Memory of the cache of snapshot pages in bytes, part of memory_bytes. 0: a quarter of it; the
  // cache also borrows memory that volatile pages leave idle, until they need it. EffectiveOptions
  // then has the quarter. Any other value is a fixed bound. For each SOC 512 KiB .. 512 GiB.
  std::uint64_t cache_bytes = 0;
  NvmCache nvm_cache = NvmCache::kAuto;
  // False: a transaction reads each snapshot page from the device at every visit, as the paper's
  // FOEDUS-NoSC does (§9.3.2). For measurements of the cache.
  bool snapshot_cache = true;
  Facility huge_pages = Facility::kTry;  // transparent huge pages for page pools
  // A SOC's memory is its volatile pages, cached snapshot pages, log buffers and memory of the
  // gleaner. With real SOCs (see `socs`), this memory is placed on the SOC's NUMA node, as long as
  // the node has any left. If there is more than one SOC, the engine's threads of a SOC are bound
  // to its processors. These are loggers, mappers, reducers, composers and installers. Other
  // threads of the engine run where the thread that opens the database may run. Threads of the
  // program are never bound: the program chooses where they run, and sessions follow. Emulated SOCs
  // bind nothing, and kRequire fails.
  Facility numa_binding = Facility::kTry;
};

// Files, and how they are read and written. Read at open.
struct FileOptions {
  // Directories of the large files, for example one for each device; made if they are missing. At
  // most 64. Empty: these files are made in `dir`. The lock, the savepoint and the manifests are
  // always in `dir`. Log segments "log-<n>-..." of logger n, and snapshot files "snapshot-...-<n>"
  // and spilled runs of reducer n, are made in dirs[n % dirs.size()]. Logger n and reducer n belong
  // to SOC n % socs. So with as many directories as SOCs, each SOC writes to a directory of its
  // own.
  //
  // A file is found in any of the directories. So a database that was made without `dirs` opens
  // with them, and with more of them, fewer, or others, in any order. `dir` and these must name
  // every directory with files that the database needs. Each directory is locked as `dir` is, and
  // is marked (foedus.directory) before its first file is made.
  //
  // Database::open() fails with kInvalidArgument if a directory is named twice, is `dir`, or
  // belongs to another database. It fails with the same code if a directory with needed files is
  // left out, or if a directory holds outdated files because the database was since opened without
  // it. In these cases it marks no directory, and makes and removes no file of a database. A full
  // directory is like a full `dir`: writers get kOutOfSpace until there is room.
  std::vector<std::string> dirs = {};

  DeviceKind device = DeviceKind::kFile;
  // O_DIRECT for log segments and snapshots. Mapped files do not need it.
  Facility direct_io = Facility::kTry;
  // True: transactions read snapshots through the system's page cache, which then keeps pages
  // beside those in memory_bytes. False: they bypass the system's page cache if direct I/O works.
  // Gleans always read through the system's page cache.
  bool buffered_reads = false;
};

// The SSD tier of snapshots, if there is one. Read at open.
struct TierOptions {
  // Directories of the SSD tier, made if they are missing; at most 64. If there are any, `dir` and
  // `dirs` are the tier of non-volatile memory, of `nvm_bytes`. Snapshots are written to that tier.
  // Before the tier is full, pages that were not read recently move to the SSD in pieces of 256
  // KiB. Pages that do not fit go to the SSD at once, through a buffer on non-volatile memory. The
  // buffer has a 64th of nvm_bytes, 1 MiB .. 16 MiB, and takes as much DRAM beside memory_bytes.
  // Non-volatile memory that snapshots leave free caches single pages of the SSD that are read
  // again. To make room for such copies, more pieces of snapshots move to the SSD; the copies take
  // up to seven eighths of nvm_bytes. The log stays on non-volatile memory and is not counted.
  // `ssd_bytes` is the limit of the SSD tier, at least 4 MiB; 0: no limit.
  //
  // Gleans fail with kOutOfSpace when both tiers are full. The part of "snapshot-...-<n>" that is
  // on the SSD, "ssd-...-<n>", is made in ssd_dirs[n % ssd_dirs.size()]. The rules of `dirs` hold
  // for these directories, too. The database opens without them if none of its snapshots has moved.
  // ssd_dirs needs nvm_bytes of at least 4 MiB, and nvm_bytes needs ssd_dirs.
  std::vector<std::string> ssd_dirs = {};
  std::uint64_t nvm_bytes = 0;
  std::uint64_t ssd_bytes = 0;
};

// The speed of emulated memory (DeviceKind::kEmulated), for experiments. Read at open.
struct EmulationOptions {
  // An access takes the latency, and then the time of its bytes at the bandwidth. Each directory
  // has that bandwidth of its own. nvm_latency_ns: of reads, 0 .. 1,000,000. nvm_write_latency_ns:
  // the same range; 0: that of reads. nvm_bandwidth_mb: million bytes a second, 0 .. 1,000,000; 0:
  // a transfer takes no time.
  std::uint64_t nvm_latency_ns = 500;
  std::uint64_t nvm_write_latency_ns = 0;
  std::uint64_t nvm_bandwidth_mb = 0;
  // Latency of reads and writes, and bandwidth, of the directories in ssd_dirs. The ranges are
  // those of the nvm_ options.
  std::uint64_t ssd_latency_ns = 0;
  std::uint64_t ssd_bandwidth_mb = 0;
};

// Most programs set `dir`, and perhaps `memory_bytes` and `durability`. The groups at the end are
// for a program that is tuned to its machine and its load.
struct Options {
  // Directory of the database, made if it is missing; its parent must exist. No default.
  std::string dir;

  // Bound of volatile pages, cached snapshot pages, log buffers and the gleaner's memory together,
  // in bytes. 64 MiB .. 4 TiB. 0: the least of half of the machine's memory, half of the limit of
  // the process's cgroup, and a quarter of the addresses that RLIMIT_AS leaves, but no less than 64
  // MiB. The log sink is told which of these it is. Address space is reserved at open; memory is
  // taken when it is used.
  std::uint64_t memory_bytes = 0;

  // The durability of transactions that do not choose theirs (TxnOptions::durability). With the
  // default, a crash of the process may undo the last commits, see Durability::kAsync.
  Durability durability = Durability::kAsync;

  // Sessions that may exist at the same time. 1 .. kMaxSessions. Threads need no session of their
  // own: transact() uses any free session, and waits for one if all are in use. It makes fewer than
  // sessions_max if memory_bytes is small. new_session() makes up to sessions_max, and fails with
  // kOutOfMemory if there is no memory for another log buffer.
  std::uint32_t sessions_max = 128;

  // Time in microseconds after which an open transaction is rolled back. This releases its locks,
  // its snapshot, and the pages that wait for its end. Its operations and commit() then return
  // kTimeout. The engine looks at open transactions every 1 to 100 ms, and the time counts from its
  // first look. It does not roll back a transaction within an operation, but looks at it again
  // later. 0: no limit. At least 1,000.
  std::uint64_t transaction_timeout_us = 0;

  // Time after which the clock starts a new epoch, in microseconds. A synchronous commit does not
  // wait for it: the clock ends the epoch early. 100 .. 1,000,000.
  std::uint64_t epoch_interval_us = 10'000;

  // Number of stratified snapshots that can be read at the same time, the newest ones. Older ones
  // are removed once no transaction reads them. Only the newest is kept if the files of all would
  // take more than 4 MiB plus three times the live pages of the newest, or if the device is full.
  // TxnOptions::as_of does not find snapshots that were removed. 1 .. 1000.
  std::uint32_t snapshots_kept = 2;

  // SOCs over which memory, loggers and sessions are spread. 0: one for each NUMA node that has
  // memory and processors which the process may use. A number other than the machine's is emulated:
  // the processors are dealt out to SOCs in contiguous blocks. If there are more SOCs than
  // processors, SOCs are dealt out to processors. 0 .. kMaxSocs. A directory opens with any number.
  //
  // transact() uses a session of the SOC on whose processor its thread runs, or of another SOC if
  // no more can be made there. A Session belongs to the SOC on whose processor new_session() ran.
  // The memory of a session comes from its SOC.
  std::uint32_t socs = 0;

  OpenUntil open_until = OpenUntil::kRecovered;
  LogSink log_sink = {};  // empty: messages go to the file LOG, see below
  // Size in bytes at which the file LOG in `dir` is full, which has the messages for an operator if
  // there is no log_sink. Its first lines say which version of the engine opened the database, with
  // which options, and on which machine. The file before is LOG.1, then come LOG.2 and LOG.3; each
  // open() and each full file begin a new LOG. A LOG that cannot be written is no error: stderr
  // says so, and messages are lost. The engine never reads these files, and they may be removed. 0,
  // or Logging::kNone: no file, and without log_sink no messages. Other values: at least 4096.
  std::uint64_t operator_log_bytes = 4u << 20;

  LogOptions log = {};
  PageOptions pages = {};
  GleanOptions glean = {};
  FileOptions files = {};
  TierOptions tiers = {};
  EmulationOptions emulation = {};
};

// EffectiveOptions: the values in force on this machine.
struct EffectiveOptions {
  Options options;            // with each 0 replaced by the value in force
  std::uint32_t loggers = 0;  // number of loggers of all SOCs; 0: Logging::kNone
  bool huge_pages = false;
  bool numa_binding = false;  // every binding of PageOptions::numa_binding works
  bool direct_io = false;
};

}  // namespace foedus
