// The C interface: the whole engine for programs in C (of 2011 or later), and for bindings of other
// languages. This header says in short what each call does. foedus/database.h and foedus/txn.h say
// it at length; their functions have the same names.
//
// Results. A call that may fail returns FOEDUS_OK (0) or the number of its error, a positive
// number of enum foedus_code. It also fills `error`, the last argument, unless that is NULL. A
// success leaves `error` as it was. Every call may return, beside the codes at the call:
//   FOEDUS_INVALID_ARGUMENT  a handle is NULL or of another type, or belongs to another database
//   FOEDUS_CLOSED            the database was closed, or the transaction has ended
//   FOEDUS_OUT_OF_MEMORY     the system gave the process no memory
//   FOEDUS_FORKED            the call came from a child of fork() that did not open the database
//
// Handles. What a foedus_..._new() or a foedus_open...() returns belongs to the caller, who ends it
// with the foedus_..._free() of its type. Freeing NULL does nothing. A handle may outlive its
// database: calls then return FOEDUS_CLOSED. A handle must not be used after it was freed.
//
// Threads. Any thread may use a foedus_db, a foedus_storage, a foedus_ticket, or the handle of
// foedus_autocommit(). Two threads must not use any other handle at the same time.
//
// Bytes. Keys, payloads and names are byte strings with a length, and may hold zero bytes; they are
// copied. An empty one may be NULL. Functions that the caller passes in must return: they must
// neither throw C++ exceptions nor longjmp().

#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FOEDUS_API __attribute__((visibility("default")))

typedef struct foedus_db foedus_db;
typedef struct foedus_error foedus_error;
typedef struct foedus_options foedus_options;          // of a database
typedef struct foedus_txn_options foedus_txn_options;  // of a transaction
typedef struct foedus_storage foedus_storage;
typedef struct foedus_session foedus_session;
typedef struct foedus_txn foedus_txn;
typedef struct foedus_scan foedus_scan;
typedef struct foedus_ticket foedus_ticket;
typedef struct foedus_key foedus_key;
typedef struct foedus_load foedus_load;

// The numbers are stable, and those of foedus::ErrorCode (foedus/status.h says what they mean).
enum foedus_code {
  FOEDUS_END = -1,  // no error: a scan has no more rows
  FOEDUS_OK = 0,
  FOEDUS_CONFLICT = 1,
  FOEDUS_NOT_FOUND = 2,
  FOEDUS_ALREADY_EXISTS = 3,
  FOEDUS_INVALID_ARGUMENT = 4,
  FOEDUS_TOO_LARGE = 5,
  FOEDUS_OUT_OF_MEMORY = 6,
  FOEDUS_OUT_OF_SPACE = 7,
  FOEDUS_IO_ERROR = 8,
  FOEDUS_CORRUPTION = 9,
  FOEDUS_WRONG_VERSION = 10,
  FOEDUS_BUSY = 11,
  FOEDUS_NOT_SUPPORTED = 12,
  FOEDUS_CLOSED = 13,
  FOEDUS_TIMEOUT = 14,
  FOEDUS_ROLLED_BACK = 15,
  FOEDUS_FORKED = 16,
  FOEDUS_APPLICATION = 1000  // from here on: for the functions of foedus_transact()
};

// ---- version and memory ------------------------------------------------------------------------

// Returns the version of the library, "major.minor.patch". Static lifetime.
FOEDUS_API const char* foedus_version(void);
// Frees what a call has allocated and returned as a pointer that is no handle.
FOEDUS_API void foedus_free(void* allocated);

// ---- errors ------------------------------------------------------------------------------------

// Makes an error, to be passed to calls as often as wanted. NULL if there is no memory.
FOEDUS_API foedus_error* foedus_error_new(void);
FOEDUS_API void foedus_error_free(foedus_error* error);
// These describe the newest failure that filled `error`. What they return is valid until `error` is
// filled again or freed. Without a failure: FOEDUS_OK, 0, or empty.
FOEDUS_API int foedus_error_code(const foedus_error* error);
// Returns the words of the conflict's reason, such as "record_changed"; empty for other errors.
FOEDUS_API const char* foedus_error_reason(const foedus_error* error);
// Returns errno of the system call that failed; 0 if there is none.
FOEDUS_API int foedus_error_errno(const foedus_error* error);
// Returns the first bytes of the storage's name and of the key that the error is about.
FOEDUS_API const char* foedus_error_storage(const foedus_error* error, size_t* bytes);
FOEDUS_API const char* foedus_error_key(const foedus_error* error, size_t* bytes);
// Returns one line for a log or a person: code, reason, storage, key, text, and what to do.
FOEDUS_API const char* foedus_error_message(const foedus_error* error);
// Returns what to do, the end of that line; empty if there is no advice.
FOEDUS_API const char* foedus_error_hint(const foedus_error* error);
// Returns the name of a code in words, such as "not_found". Static lifetime.
FOEDUS_API const char* foedus_code_name(int code);

// ---- options -----------------------------------------------------------------------------------
// An option has the name of its member in foedus/options.h, with that of its group in front:
// "memory_bytes", "durability", "glean.log_bytes". A value is text:
//   numbers      digits; with KiB, MiB, GiB or TiB behind them if they are bytes: "256MiB"
//   bool         "true" or "false"
//   enumerators  their names without the k, in snake_case: "sync", "mini_pages"
//   lists        separated by commas: files.dirs, tiers.ssd_dirs

FOEDUS_API foedus_options* foedus_options_new(void);  // NULL if there is no memory
FOEDUS_API void foedus_options_free(foedus_options* options);
// FOEDUS_INVALID_ARGUMENT: there is no such option, or `value` is none of its values; the message
// says which there are. foedus_open() checks ranges.
FOEDUS_API int foedus_options_set(foedus_options* options, const char* name, const char* value,
                                  foedus_error* error);
// `level`: 0 for information, 1 for a warning, 2 for an error. A line does not end with a zero
// byte. `sink` is called from any thread, until the database is freed. It must not call into the
// database. NULL: none; messages go to the file LOG, see Options::operator_log_bytes.
typedef void (*foedus_log_sink)(void* argument, int level, const char* line, size_t line_bytes);
FOEDUS_API int foedus_options_set_log_sink(foedus_options* options, foedus_log_sink sink,
                                           void* argument, foedus_error* error);

// Options of a transaction, the members of TxnOptions in foedus/txn.h: "isolation" (serializable,
// snapshot, dirty_read), "durability" (async, sync), "read_only", "tries_max", "as_of",
// "at_least" (epochs), "newest_existing", "timeout_us". NULL, where options are passed, stands for
// defaults.
FOEDUS_API foedus_txn_options* foedus_txn_options_new(void);  // NULL if there is no memory
FOEDUS_API void foedus_txn_options_free(foedus_txn_options* options);
FOEDUS_API int foedus_txn_options_set(foedus_txn_options* options, const char* name,
                                      const char* value, foedus_error* error);

// ---- database ----------------------------------------------------------------------------------

// Opens or makes the database in the directory `dir`, and recovers it. `options` may be NULL. The
// errors are those of Database::open().
FOEDUS_API int foedus_open(const char* dir, const foedus_options* options, foedus_db** db,
                           foedus_error* error);
// Makes all commits durable and releases the directory. FOEDUS_BUSY: transactions are open, and
// nothing has changed. After any other failure, commits that no ticket reported durable may be
// lost.
FOEDUS_API int foedus_close(foedus_db* db, foedus_error* error);
// Frees the handle and its memory; closes the database before if it is open. FOEDUS_BUSY:
// transactions are open, and nothing was freed. Other failures: those of foedus_close(); freed.
FOEDUS_API int foedus_db_free(foedus_db* db, foedus_error* error);
// Waits for recovery, with the option open_until=snapshot_readable. FOEDUS_TIMEOUT.
FOEDUS_API int foedus_wait_recovered(foedus_db* db, uint64_t timeout_us, foedus_error* error);

// The next ones return JSON text, ended by a zero byte, to be freed with foedus_free(); bytes of
// names from 0x80 on are U+0080 .. U+00FF. Members are named as those of the structs in
// foedus/database.h, stats.h and options.h, in groups as there. A histogram is an object of count,
// sum, and the quantiles p50, p99 and p999.
FOEDUS_API int foedus_storages(const foedus_db* db, char** json, foedus_error* error);
FOEDUS_API int foedus_snapshots(const foedus_db* db, char** json, foedus_error* error);
FOEDUS_API int foedus_stats(const foedus_db* db, char** json, foedus_error* error);
FOEDUS_API int foedus_effective_options(const foedus_db* db, char** json, foedus_error* error);
// Returns statistics as the text that Prometheus reads: to_prometheus() in foedus/stats.h.
FOEDUS_API int foedus_prometheus(const foedus_db* db, char** text, foedus_error* error);

// Makes a snapshot of all commits so far, and frees the memory of pages that did not change since.
// `progress`, if not NULL, is called by the thread that works, from time to time; `stage`: 0 for
// map, 1 for compose, 2 for install. `report`, if not NULL, receives GleanReport as JSON.
typedef void (*foedus_progress)(void* argument, int stage, uint64_t done, uint64_t total);
FOEDUS_API int foedus_glean(foedus_db* db, foedus_progress progress, void* argument, char** report,
                            foedus_error* error);
enum foedus_backup_flag {
  FOEDUS_BACKUP_LINK = 1,        // hard links only, not copies where links cannot be made
  FOEDUS_BACKUP_COPY = 2,        // copies only
  FOEDUS_BACKUP_NEWEST = 4,      // takes the newest existing snapshot, and makes no new one
  FOEDUS_BACKUP_COMPARE_ALL = 8  // compares all pages of files that an older backup has
};
// Makes in the directory `to`, while transactions run, a database that has all commits up to the
// call. `to` is missing, empty, or has an older backup of this database, which is replaced.
// `flags`: 0, or some of enum foedus_backup_flag. `timeout_us`: for the snapshot. `report`, if not
// NULL, receives BackupReport as JSON.
FOEDUS_API int foedus_backup(foedus_db* db, const char* to, unsigned flags, uint64_t timeout_us,
                             char** report, foedus_error* error);
// Lets the system back this many bytes of volatile pages ahead of use. Returns how many are backed.
FOEDUS_API uint64_t foedus_reserve_memory(foedus_db* db, uint64_t bytes);

// ---- storages ----------------------------------------------------------------------------------
// foedus_open_...() opens the storage of that name, and creates it if it is missing.

enum foedus_kind { FOEDUS_ARRAY = 1, FOEDUS_HASH = 2, FOEDUS_MASSTREE = 3, FOEDUS_SEQUENTIAL = 4 };

FOEDUS_API int foedus_open_masstree(foedus_db* db, const char* name, size_t name_bytes,
                                    foedus_storage** storage, foedus_error* error);
// `records_expected` sizes a new hash; it is no limit. 0: the default.
FOEDUS_API int foedus_open_hash(foedus_db* db, const char* name, size_t name_bytes,
                                uint64_t records_expected, foedus_storage** storage,
                                foedus_error* error);
FOEDUS_API int foedus_open_array(foedus_db* db, const char* name, size_t name_bytes,
                                 uint64_t records, uint32_t payload_bytes, foedus_storage** storage,
                                 foedus_error* error);
FOEDUS_API int foedus_open_sequential(foedus_db* db, const char* name, size_t name_bytes,
                                      foedus_storage** storage, foedus_error* error);
// Frees the handle; the storage and its records stay.
FOEDUS_API void foedus_storage_free(foedus_storage* storage);
// Removes the storage and all its records, durably. FOEDUS_NOT_FOUND.
FOEDUS_API int foedus_drop_storage(foedus_db* db, const char* name, size_t name_bytes,
                                   foedus_error* error);
FOEDUS_API int foedus_storage_kind(const foedus_storage* storage);  // of enum foedus_kind; 0: NULL
FOEDUS_API const char* foedus_storage_name(const foedus_storage* storage, size_t* bytes);
FOEDUS_API uint32_t foedus_storage_id(const foedus_storage* storage);
FOEDUS_API uint64_t foedus_storage_records(const foedus_storage* storage);        // of an array
FOEDUS_API uint32_t foedus_storage_payload_bytes(const foedus_storage* storage);  // of an array

// ---- transactions ------------------------------------------------------------------------------

// The function of a transaction: returns FOEDUS_OK to commit, or else the code of an operation that
// failed, or FOEDUS_ROLLED_BACK to undo all, or any number from FOEDUS_APPLICATION on. It may fill
// `error`, the one that foedus_transact() got, or pass it to operations. `txn` is the library's,
// and valid within the function.
typedef int (*foedus_txn_function)(foedus_txn* txn, void* argument, foedus_error* error);
// Runs `function` as a transaction, again after each conflict, and returns what it returned. So
// `function` must have no effect outside the transaction that may not be repeated. A success may
// leave `error` filled by an earlier try. `options` and `ticket` may be NULL. FOEDUS_CONFLICT: all
// of tries_max tries conflicted.
FOEDUS_API int foedus_transact(foedus_db* db, const foedus_txn_options* options,
                               foedus_ticket* ticket, foedus_txn_function function, void* argument,
                               foedus_error* error);

// Makes a handle with which each operation is a transaction of its own, retried after conflicts.
// Any number of threads may use it. It has no scans, prefetches or locks, and neither commits nor
// rolls back. `options` are copied, and may be NULL.
FOEDUS_API int foedus_autocommit(foedus_db* db, const foedus_txn_options* options, foedus_txn** txn,
                                 foedus_error* error);
FOEDUS_API void foedus_autocommit_free(foedus_txn* txn);

// A session runs explicit transactions, one at a time. Freeing it rolls back an open one.
FOEDUS_API int foedus_session_new(foedus_db* db, foedus_session** session, foedus_error* error);
FOEDUS_API void foedus_session_free(foedus_session* session);
// Begins a transaction. *txn is the session's, valid until that is freed, and the same at each
// call: it stands for the session's newest transaction. `options` may be NULL.
FOEDUS_API int foedus_begin(foedus_session* session, const foedus_txn_options* options,
                            foedus_txn** txn, foedus_error* error);
// Begins another try of the session's last transaction, which conflicted. Takes first the locks of
// its foedus_get_for_update() calls, in an order that cannot deadlock.
FOEDUS_API int foedus_retry(foedus_session* session, const foedus_txn_options* options,
                            foedus_txn** txn, foedus_error* error);
// Commits the transaction of a session. It has ended, whatever the result is. FOEDUS_CONFLICT: it
// was not committed. `ticket` may be NULL.
FOEDUS_API int foedus_commit(foedus_txn* txn, foedus_ticket* ticket, foedus_error* error);
// Undoes all changes. Ends the transaction of a session; one of foedus_transact() ends when its
// function returns.
FOEDUS_API int foedus_rollback(foedus_txn* txn, foedus_error* error);
// FOEDUS_CONFLICT: values that were read do not hold any more. For loops that depend on them.
FOEDUS_API int foedus_verify(foedus_txn* txn, foedus_error* error);

// A point of a transaction. A value: copies name the same point. It ends with its transaction.
typedef struct foedus_savepoint {
  uint64_t of[2];
} foedus_savepoint;
// Makes a savepoint of the transaction as it is now.
FOEDUS_API int foedus_set_savepoint(foedus_txn* txn, foedus_savepoint* savepoint,
                                    foedus_error* error);
// Undoes the writes since the savepoint, and ends later savepoints. What was read since then is
// verified at the commit all the same; locks stay. FOEDUS_INVALID_ARGUMENT: the savepoint has
// ended, or is of another transaction.
FOEDUS_API int foedus_rollback_to(foedus_txn* txn, const foedus_savepoint* savepoint,
                                  foedus_error* error);
// Ends the savepoint and later ones. The writes stay.
FOEDUS_API int foedus_release_savepoint(foedus_txn* txn, const foedus_savepoint* savepoint,
                                        foedus_error* error);

// ---- durability --------------------------------------------------------------------------------

// A ticket is filled by a commit, and tells when a crash can no longer undo it. An unfilled one is
// durable.
FOEDUS_API foedus_ticket* foedus_ticket_new(void);  // NULL if there is no memory
FOEDUS_API void foedus_ticket_free(foedus_ticket* ticket);
FOEDUS_API uint64_t foedus_ticket_epoch(const foedus_ticket* ticket);  // 0: nothing to wait for
FOEDUS_API int foedus_ticket_is_durable(const foedus_ticket* ticket);  // 1 or 0; never waits
#define FOEDUS_FOREVER UINT64_MAX
// FOEDUS_TIMEOUT: it is not durable yet. FOEDUS_IO_ERROR, FOEDUS_OUT_OF_SPACE,
// FOEDUS_OUT_OF_MEMORY: the log could not be written.
FOEDUS_API int foedus_ticket_wait(const foedus_ticket* ticket, uint64_t timeout_us,
                                  foedus_error* error);
// Calls `callback` once, from a thread of the engine or from this one, with FOEDUS_OK or the code
// of an error. It must not block. foedus_close() makes the calls that remain.
typedef void (*foedus_durable)(void* argument, int code);
FOEDUS_API int foedus_ticket_on_durable(const foedus_ticket* ticket, foedus_durable callback,
                                        void* argument, foedus_error* error);
// Returns the newest epoch whose commits all survive a crash.
FOEDUS_API uint64_t foedus_durable_epoch(const foedus_db* db);
// Makes all commits so far durable. Errors as foedus_ticket_wait().
FOEDUS_API int foedus_wait_durable(foedus_db* db, uint64_t timeout_us, foedus_error* error);

// ---- records with keys: Master-Tree and hash ---------------------------------------------------
// Errors of all operations: FOEDUS_CONFLICT, FOEDUS_TOO_LARGE, and others, see foedus/txn.h.

// Copies as much of the payload as fits into `payload`. *payload_bytes becomes the whole size.
// FOEDUS_NOT_FOUND.
FOEDUS_API int foedus_get(foedus_txn* txn, const foedus_storage* storage, const void* key,
                          size_t key_bytes, void* payload, size_t capacity, size_t* payload_bytes,
                          foedus_error* error);
// As foedus_get(); *payload is allocated, and freed with foedus_free(). NULL after a failure.
FOEDUS_API int foedus_get_copy(foedus_txn* txn, const foedus_storage* storage, const void* key,
                               size_t key_bytes, void** payload, size_t* payload_bytes,
                               foedus_error* error);
// As foedus_get(), and locks the record until the transaction ends.
FOEDUS_API int foedus_get_for_update(foedus_txn* txn, const foedus_storage* storage,
                                     const void* key, size_t key_bytes, void* payload,
                                     size_t capacity, size_t* payload_bytes, foedus_error* error);
// Copies bytes [offset, offset + part_bytes) of the payload. FOEDUS_NOT_FOUND.
// FOEDUS_INVALID_ARGUMENT: the payload is shorter.
FOEDUS_API int foedus_read_at(foedus_txn* txn, const foedus_storage* storage, const void* key,
                              size_t key_bytes, uint32_t offset, void* part, size_t part_bytes,
                              foedus_error* error);
// *found becomes 1 or 0.
FOEDUS_API int foedus_contains(foedus_txn* txn, const foedus_storage* storage, const void* key,
                               size_t key_bytes, int* found, foedus_error* error);
// One read of foedus_get_many().
typedef struct foedus_read {
  const void* key;  // in
  size_t key_bytes;
  void* payload;  // in: memory for the payload; a longer one is cut
  size_t capacity;
  size_t payload_bytes;  // out: the whole payload's size
  int found;             // out: 1 or 0
} foedus_read;
// Reads many records with their memory and device accesses in flight together.
FOEDUS_API int foedus_get_many(foedus_txn* txn, const foedus_storage* storage, foedus_read* reads,
                               size_t count, foedus_error* error);
// A hint that the record will be used.
FOEDUS_API int foedus_prefetch(foedus_txn* txn, const foedus_storage* storage, const void* key,
                               size_t key_bytes, foedus_error* error);

// Inserts the record, or overwrites its payload.
FOEDUS_API int foedus_put(foedus_txn* txn, const foedus_storage* storage, const void* key,
                          size_t key_bytes, const void* payload, size_t payload_bytes,
                          foedus_error* error);
// FOEDUS_ALREADY_EXISTS.
FOEDUS_API int foedus_insert(foedus_txn* txn, const foedus_storage* storage, const void* key,
                             size_t key_bytes, const void* payload, size_t payload_bytes,
                             foedus_error* error);
// FOEDUS_NOT_FOUND.
FOEDUS_API int foedus_update(foedus_txn* txn, const foedus_storage* storage, const void* key,
                             size_t key_bytes, const void* payload, size_t payload_bytes,
                             foedus_error* error);
// Overwrites a part of the payload; its size stays. FOEDUS_NOT_FOUND.
FOEDUS_API int foedus_write_at(foedus_txn* txn, const foedus_storage* storage, const void* key,
                               size_t key_bytes, uint32_t offset, const void* part,
                               size_t part_bytes, foedus_error* error);
// Adds to the 64-bit integer at `offset` without reading it. FOEDUS_NOT_FOUND.
FOEDUS_API int foedus_increment(foedus_txn* txn, const foedus_storage* storage, const void* key,
                                size_t key_bytes, uint32_t offset, int64_t delta,
                                foedus_error* error);
// FOEDUS_NOT_FOUND.
FOEDUS_API int foedus_erase(foedus_txn* txn, const foedus_storage* storage, const void* key,
                            size_t key_bytes, foedus_error* error);

// Erases the rows of a Master-Tree with low <= key < high, the lowest `limit` of them. An empty
// `high` is above every key. *erased becomes the number of rows, and may be NULL.
// FOEDUS_TOO_LARGE: the rows are more than a transaction can write; use a limit, and more calls.
FOEDUS_API int foedus_erase_range(foedus_txn* txn, const foedus_storage* masstree, const void* low,
                                  size_t low_bytes, const void* high, size_t high_bytes,
                                  uint64_t limit, uint64_t* erased, foedus_error* error);

// ---- many rows in one call, for bindings -------------------------------------------------------
// Rows lie one after another without gaps. Each is: the key's size and the payload's size, both as
// uint32_t in the machine's byte order, then the key, then the payload.

enum foedus_write { FOEDUS_PUT = 0, FOEDUS_INSERT = 1, FOEDUS_UPDATE = 2, FOEDUS_ERASE = 3 };

// Begins to fill a new Master-Tree with rows in the order of their keys, each key once.
// FOEDUS_ALREADY_EXISTS: there is a storage of that name. FOEDUS_BUSY: another load runs.
// FOEDUS_NOT_SUPPORTED: the database has an SSD tier.
FOEDUS_API int foedus_load_begin(foedus_db* db, const char* name, size_t name_bytes,
                                 foedus_load** load, foedus_error* error);
// Adds rows. *done, which may be NULL, becomes the number of rows before the one that failed.
// FOEDUS_INVALID_ARGUMENT: a key is not above the one before; the load can go on.
FOEDUS_API int foedus_load_rows(foedus_load* load, const void* rows, size_t rows_bytes,
                                size_t* done, foedus_error* error);
// Makes the storage, with all rows, durably. The call can be repeated after an error.
FOEDUS_API int foedus_load_finish(foedus_load* load, foedus_storage** storage, foedus_error* error);
// Gives the load up, unless foedus_load_finish() has succeeded. NULL: does nothing.
FOEDUS_API void foedus_load_free(foedus_load* load);

// Writes rows in their order, all in the transaction of `txn`. `how`: of enum foedus_write;
// FOEDUS_ERASE looks at keys only.
// Stops at the first failure; *done becomes the number of rows before it, and may be NULL.
// FOEDUS_INVALID_ARGUMENT: also, `rows` does not end with a row; then nothing was written.
FOEDUS_API int foedus_write_rows(foedus_txn* txn, const foedus_storage* storage, int how,
                                 const void* rows, size_t rows_bytes, size_t* done,
                                 foedus_error* error);

// ---- scans -------------------------------------------------------------------------------------

enum foedus_scan_flag { FOEDUS_FORWARD = 0, FOEDUS_REVERSE = 1 };
#define FOEDUS_NO_LIMIT UINT64_MAX

// Scans the rows with low <= key < high, at most `limit`. An empty `high` is above every key.
// `flags`: FOEDUS_FORWARD, or FOEDUS_REVERSE for high to low. Free the scan before the transaction
// ends, or after.
FOEDUS_API int foedus_scan_range(foedus_txn* txn, const foedus_storage* masstree, const void* low,
                                 size_t low_bytes, const void* high, size_t high_bytes,
                                 unsigned flags, uint64_t limit, foedus_scan** scan,
                                 foedus_error* error);
// Scans the rows whose keys begin with `prefix`.
FOEDUS_API int foedus_scan_prefix(foedus_txn* txn, const foedus_storage* masstree,
                                  const void* prefix, size_t prefix_bytes, unsigned flags,
                                  uint64_t limit, foedus_scan** scan, foedus_error* error);
// Scans all rows of a hash storage, in no order that a program may rely on.
FOEDUS_API int foedus_scan_hash(foedus_txn* txn, const foedus_storage* hash, uint64_t limit,
                                foedus_scan** scan, foedus_error* error);
// Scans the records of a sequential storage in serial order; their keys are empty.
FOEDUS_API int foedus_scan_sequential(foedus_txn* txn, const foedus_storage* sequential,
                                      uint64_t limit, foedus_scan** scan, foedus_error* error);
FOEDUS_API void foedus_scan_free(foedus_scan* scan);
// Moves to the next row. FOEDUS_END: there is none. What the pointers lead to is valid until the
// next call for `scan`. Pointers may be NULL.
FOEDUS_API int foedus_scan_next(foedus_scan* scan, const void** key, size_t* key_bytes,
                                const void** payload, size_t* payload_bytes, foedus_error* error);
// Copies the next rows to `rows`, in the format above, as many as fit into `capacity`. *rows_bytes
// becomes their size, *count their number. FOEDUS_END: there are no more; both are 0.
// FOEDUS_TOO_LARGE: the next row does not fit by itself; *rows_bytes is what it needs, and the scan
// stays before it.
FOEDUS_API int foedus_scan_rows(foedus_scan* scan, void* rows, size_t capacity, size_t* rows_bytes,
                                size_t* count, foedus_error* error);

// ---- arrays ------------------------------------------------------------------------------------
// All records exist, first with payloads full of zeroes. FOEDUS_INVALID_ARGUMENT: there is no
// record `index`, or the bytes are not within its payload.

// Copies the first `capacity` bytes of the payload.
FOEDUS_API int foedus_array_get(foedus_txn* txn, const foedus_storage* array, uint64_t index,
                                void* payload, size_t capacity, foedus_error* error);
FOEDUS_API int foedus_array_read_at(foedus_txn* txn, const foedus_storage* array, uint64_t index,
                                    uint32_t offset, void* part, size_t part_bytes,
                                    foedus_error* error);
FOEDUS_API int foedus_array_get_for_update(foedus_txn* txn, const foedus_storage* array,
                                           uint64_t index, void* payload, size_t capacity,
                                           foedus_error* error);
// One read of foedus_array_get_many().
typedef struct foedus_array_read {
  uint64_t index;   // in
  uint32_t offset;  // in: the first byte of the payload that is wanted
  uint32_t unused;  // 0
  void* part;       // in: memory for the wanted bytes
  size_t part_bytes;
} foedus_array_read;
FOEDUS_API int foedus_array_get_many(foedus_txn* txn, const foedus_storage* array,
                                     const foedus_array_read* reads, size_t count,
                                     foedus_error* error);
FOEDUS_API int foedus_array_prefetch(foedus_txn* txn, const foedus_storage* array, uint64_t index,
                                     foedus_error* error);
// Overwrites the payload; `payload_bytes` is that of the storage.
FOEDUS_API int foedus_array_put(foedus_txn* txn, const foedus_storage* array, uint64_t index,
                                const void* payload, size_t payload_bytes, foedus_error* error);
FOEDUS_API int foedus_array_write_at(foedus_txn* txn, const foedus_storage* array, uint64_t index,
                                     uint32_t offset, const void* part, size_t part_bytes,
                                     foedus_error* error);
FOEDUS_API int foedus_array_increment(foedus_txn* txn, const foedus_storage* array, uint64_t index,
                                      uint32_t offset, int64_t delta, foedus_error* error);

// ---- sequential storages -----------------------------------------------------------------------

FOEDUS_API int foedus_append(foedus_txn* txn, const foedus_storage* sequential, const void* payload,
                             size_t payload_bytes, foedus_error* error);

// ---- keys of several parts ---------------------------------------------------------------------
// The bytes are those of key(parts…) in foedus/key.h: keys sort as their parts do.

FOEDUS_API foedus_key* foedus_key_new(void);  // an empty key; NULL if there is no memory
FOEDUS_API void foedus_key_free(foedus_key* key);
FOEDUS_API void foedus_key_clear(foedus_key* key);
// Each appends a part.
FOEDUS_API void foedus_key_add_signed(foedus_key* key, int64_t part);
FOEDUS_API void foedus_key_add_unsigned(foedus_key* key, uint64_t part);
FOEDUS_API void foedus_key_add_double(foedus_key* key, double part);
FOEDUS_API void foedus_key_add_string(foedus_key* key, const void* part, size_t part_bytes);
// Appends the last part of a prefix: keys match whose string begins with `part`.
FOEDUS_API void foedus_key_add_string_prefix(foedus_key* key, const void* part, size_t part_bytes);
// Appends bytes as they are; they sort right as the last part.
FOEDUS_API void foedus_key_add_raw(foedus_key* key, const void* part, size_t part_bytes);
// Returns the bytes, valid until `key` changes. A key that is too long has more than 1024 bytes,
// which operations refuse with FOEDUS_TOO_LARGE.
FOEDUS_API const void* foedus_key_bytes(const foedus_key* key, size_t* bytes);
// Each reads the part of a key that begins at byte *at, and moves *at behind it.
// FOEDUS_INVALID_ARGUMENT: there is no part of that kind; *at is as it was. A string is allocated,
// ends with a zero byte that is not counted, and is freed with foedus_free().
FOEDUS_API int foedus_key_read_signed(const void* key, size_t key_bytes, size_t* at, int64_t* part,
                                      foedus_error* error);
FOEDUS_API int foedus_key_read_unsigned(const void* key, size_t key_bytes, size_t* at,
                                        uint64_t* part, foedus_error* error);
FOEDUS_API int foedus_key_read_double(const void* key, size_t key_bytes, size_t* at, double* part,
                                      foedus_error* error);
FOEDUS_API int foedus_key_read_string(const void* key, size_t key_bytes, size_t* at, char** part,
                                      size_t* part_bytes, foedus_error* error);

#ifdef __cplusplus
}  // extern "C"
#endif
