// Scans of foedus_c.h.
#include "foedus-core/c/operation.h"
#include "foedus-core/c/rows.h"

namespace foedus::c {

namespace {

// Runs `begin`, which returns a Scan, and makes its handle.
template <typename Kind, typename Begin>
int give_scan(foedus_txn* txn, const foedus_storage* storage, foedus_scan** scan,
              foedus_error* error, Begin&& begin) noexcept {
  if (scan == nullptr) return report_invalid("the place for the scan is NULL", error);
  *scan = nullptr;
  return operate_on<Kind>(txn, storage, error, [&](Txn& in, const Kind& of) -> Status {
    if (txn->kind == foedus_txn::Kind::kAutocommit) {
      return Status::error(ErrorCode::kInvalidArgument,
                           "an autocommit handle has no scans; begin a transaction");
    }
    *scan = new foedus_scan(begin(in, of));
    return {};
  });
}

int check_flags(unsigned flags, foedus_error* error) noexcept {
  if (flags == FOEDUS_FORWARD || flags == FOEDUS_REVERSE) return FOEDUS_OK;
  return report_invalid("the flags of the scan are neither FOEDUS_FORWARD nor FOEDUS_REVERSE",
                        error);
}

ScanOptions scan_options(unsigned flags, std::uint64_t limit) {
  ScanOptions options;
  options.limit = limit;
  options.reverse = flags == FOEDUS_REVERSE;
  return options;
}

// Moves to the next row, unless the current one is pending. FOEDUS_END, or an error.
int move_on(foedus_scan* scan, foedus_error* error) noexcept {
  if (!scan->is_pending) {
    if (scan->at.has_value()) {
      ++*scan->at;
    } else {
      scan->at = scan->scan.begin();
    }
  }
  scan->is_pending = *scan->at != scan->scan.end();
  if (scan->is_pending) return FOEDUS_OK;
  const std::optional<Status> failure = scan->scan.failure();
  return failure.has_value() ? report(*failure, error) : FOEDUS_END;
}

}  // namespace

}  // namespace foedus::c

using namespace foedus;     // NOLINT: the functions below are in no namespace
using namespace foedus::c;  // NOLINT: as above

int foedus_scan_range(foedus_txn* txn, const foedus_storage* masstree, const void* low,
                      std::size_t low_bytes, const void* high, std::size_t high_bytes,
                      unsigned flags, std::uint64_t limit, foedus_scan** scan,
                      foedus_error* error) {
  if (const int code = check_flags(flags, error); code != FOEDUS_OK) return code;
  return give_scan<Masstree>(txn, masstree, scan, error, [&](Txn& open, const Masstree& of) {
    return open.scan(of, view_of(low, low_bytes), view_of(high, high_bytes),
                     scan_options(flags, limit));
  });
}

int foedus_scan_prefix(foedus_txn* txn, const foedus_storage* masstree, const void* prefix,
                       std::size_t prefix_bytes, unsigned flags, std::uint64_t limit,
                       foedus_scan** scan, foedus_error* error) {
  if (const int code = check_flags(flags, error); code != FOEDUS_OK) return code;
  return give_scan<Masstree>(txn, masstree, scan, error, [&](Txn& open, const Masstree& of) {
    return open.scan_prefix(of, view_of(prefix, prefix_bytes), scan_options(flags, limit));
  });
}

int foedus_scan_hash(foedus_txn* txn, const foedus_storage* hash, std::uint64_t limit,
                     foedus_scan** scan, foedus_error* error) {
  return give_scan<Hash>(txn, hash, scan, error, [&](Txn& open, const Hash& of) {
    return open.scan(of, HashScanOptions{.limit = limit});
  });
}

int foedus_scan_sequential(foedus_txn* txn, const foedus_storage* sequential, std::uint64_t limit,
                           foedus_scan** scan, foedus_error* error) {
  return give_scan<Sequential>(txn, sequential, scan, error, [&](Txn& open, const Sequential& of) {
    return open.scan(of, {.limit = limit});
  });
}

void foedus_scan_free(foedus_scan* scan) {
  if (is_valid(scan)) delete scan;
}

int foedus_scan_next(foedus_scan* scan, const void** key, std::size_t* key_bytes,
                     const void** payload, std::size_t* payload_bytes, foedus_error* error) {
  if (!is_valid(scan)) return report_no_handle("scan", error);
  if (const int code = move_on(scan, error); code != FOEDUS_OK) return code;
  scan->is_pending = false;
  const Row& row = **scan->at;
  store(static_cast<const void*>(row.key.data()), key);
  store(row.key.size(), key_bytes);
  store(static_cast<const void*>(row.payload.data()), payload);
  store(row.payload.size(), payload_bytes);
  return FOEDUS_OK;
}

int foedus_scan_rows(foedus_scan* scan, void* rows, std::size_t capacity, std::size_t* rows_bytes,
                     std::size_t* count, foedus_error* error) {
  if (!is_valid(scan)) return report_no_handle("scan", error);
  if (rows == nullptr || rows_bytes == nullptr || count == nullptr) {
    return report_invalid("a place for the rows is NULL", error);
  }
  *rows_bytes = 0;
  *count = 0;
  for (int code; (code = move_on(scan, error)) != FOEDUS_END;) {
    if (code != FOEDUS_OK) return code;
    const Row& row = **scan->at;
    const std::size_t needed = row_bytes(row);
    if (needed > capacity - *rows_bytes) {
      if (*count != 0) return FOEDUS_OK;
      *rows_bytes = needed;
      return report(Status::error(ErrorCode::kTooLarge, "the row does not fit; pass more memory"),
                    error);
    }
    write_row(row, static_cast<char*>(rows) + *rows_bytes);
    scan->is_pending = false;
    *rows_bytes += needed;
    ++*count;
  }
  return *count != 0 ? FOEDUS_OK : FOEDUS_END;
}
