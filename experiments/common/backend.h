#pragma once
// Backend: what a store must offer so that the drivers can measure it. A driver is a template over
// a Backend; the engine itself, each peer and a model in the tests are Backends. The concept at the
// end of the file checks the shape, these comments say what the compiler cannot check:
//
// - open_table: the table is made if it is missing. Before the first transaction, one thread.
// - new_worker: what one thread runs transactions with; called in that thread.
// - transact: runs the function given and commits if it returns success; runs it again, with a
//   back-off, when it met another transaction, and counts that by name. Any other error rolls back
//   and is handed out (a rollback that was asked for is Status::rolled_back()).
// - read_only: the same for a function that only reads; serializable too.
// - get, get_for_update, read_at: fill `out`, whose size is that of the row or part. kNotFound.
// - insert: kAlreadyExists if the key is there. put: overwrites or inserts.
// - scan: calls visit with key and row, for low <= key < high in the order asked for, until it
//   returns false; an empty `high` is above every key. Of a kAppend table: all rows, bounds do not
//   matter, keys are empty. Views last until visit returns.
// - prefetch: a hint; may do nothing.
// - last_commit_token, durable_token: a commit survives a crash once its token is at most the
//   durable token. Both 0 where the store cannot tell.
//
// Nothing throws. A Txn sees its own writes.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foedus/status.h"

namespace experiments {

enum class TableKind {
  kArray,  // `records` rows of `row_bytes`, there from the start, zero; addressed by KeyView::index
  kHash,   // addressed by KeyView::bytes; points only
  kOrdered,  // addressed by KeyView::bytes, in the order of memcmp
  kAppend,   // rows without keys
};

struct TableSpec {
  std::string name;
  TableKind kind = TableKind::kOrdered;
  std::uint64_t records = 0;    // arrays: how many; others: how many to expect, 0 if unknown
  std::uint32_t row_bytes = 0;  // arrays: size of a row; others: 0
};

// Drivers fill both halves, so that a store without arrays can keep an array's rows by `bytes`.
struct KeyView {
  std::uint64_t index = 0;
  std::string_view bytes;
};

// A read of part of a row: `out` gets the bytes from `offset` on. Key: what becomes a KeyView.
template <typename Key>
struct PartRead {
  Key key;
  std::uint32_t offset = 0;
  std::span<std::byte> out;
};

// read_many() of a store that takes keys one at a time.
template <typename Txn, typename Table, typename PartOf>
foedus::Status read_each(Txn& txn, const Table& table, std::size_t count, const PartOf& part_of) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto part = part_of(i);
    foedus::Status read = txn.read_at(table, part.key, part.offset, part.out);
    if (!read.is_ok()) return read;
  }
  return {};
}

struct ScanRange {
  std::string_view low;
  std::string_view high;
  std::uint64_t limit = ~std::uint64_t{0};
  bool reverse = false;
};

// What one worker has done.
struct Counters {
  std::uint64_t commits = 0;
  std::uint64_t rollbacks = 0;
  std::map<std::string, std::uint64_t> conflicts;  // by name; each was run again

  void add(const Counters& other) {
    commits += other.commits;
    rollbacks += other.rollbacks;
    for (const auto& [name, count] : other.conflicts) conflicts[name] += count;
  }
};

// Facts for the JSON line, since the store was opened. 0 where a store has no such thing.
struct StatsLine {
  std::uint64_t log_bytes = 0;
  std::uint64_t volatile_page_bytes = 0;
  std::uint64_t log_buffer_bytes = 0;
  std::uint64_t free_page_bytes = 0;
  std::vector<std::pair<std::string, std::uint64_t>> more;  // of one store only, by its own names
};

namespace backend_shape {
struct Visit {
  bool operator()(std::string_view, std::string_view) const { return true; }
};
struct PartOf {
  PartRead<KeyView> operator()(std::size_t) const { return {}; }
};
template <typename Txn>
struct Body {
  foedus::Status operator()(Txn&) const { return {}; }
};
}  // namespace backend_shape

template <typename X, typename Table>
concept BackendTxn = requires(X& txn, Table table, KeyView key, std::span<std::byte> out,
                              std::string_view row, std::uint32_t offset, const ScanRange& range,
                              backend_shape::Visit visit, backend_shape::PartOf part_of) {
  { txn.get(table, key, out) } -> std::same_as<foedus::Status>;
  { txn.get_for_update(table, key, out) } -> std::same_as<foedus::Status>;
  { txn.read_at(table, key, offset, out) } -> std::same_as<foedus::Status>;
  { txn.read_many(table, std::size_t{}, part_of) } -> std::same_as<foedus::Status>;
  { txn.insert(table, key, row) } -> std::same_as<foedus::Status>;
  { txn.put(table, key, row) } -> std::same_as<foedus::Status>;
  { txn.write_at(table, key, offset, row) } -> std::same_as<foedus::Status>;
  { txn.erase(table, key) } -> std::same_as<foedus::Status>;
  { txn.append(table, row) } -> std::same_as<foedus::Status>;
  { txn.scan(table, range, visit) } -> std::same_as<foedus::Status>;
  { txn.prefetch(table, key) } -> std::same_as<void>;
};

template <typename W, typename Txn>
concept BackendWorker = std::move_constructible<W> &&
    requires(W& worker, const W& quiet, backend_shape::Body<Txn> body) {
  { worker.transact(body) } -> std::same_as<foedus::Status>;
  { worker.read_only(body) } -> std::same_as<foedus::Status>;
  { quiet.counters() } -> std::convertible_to<Counters>;
};

template <typename B>
concept Backend = std::copyable<typename B::Table> &&
    BackendTxn<typename B::Txn, typename B::Table> &&
    BackendWorker<typename B::Worker, typename B::Txn> &&
    requires(B& backend, const B& quiet, const TableSpec& spec, typename B::Worker& worker,
             StatsLine& line) {
  { backend.open_table(spec) } -> std::same_as<foedus::Result<typename B::Table>>;
  { backend.new_worker() } -> std::same_as<foedus::Result<typename B::Worker>>;
  { backend.last_commit_token(worker) } -> std::same_as<std::uint64_t>;
  { backend.durable_token() } -> std::same_as<std::uint64_t>;
  { backend.wait_durable() } -> std::same_as<foedus::Status>;
  { quiet.name() } -> std::convertible_to<std::string>;
  { backend.fill_stats(line) } -> std::same_as<void>;
};

}  // namespace experiments
