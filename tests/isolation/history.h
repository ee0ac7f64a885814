#pragma once
// A history in memory: the lines of FORMAT.md, in words of 64 bits. The recorder writes operations
// in this form, the checker reads them, and history_json.h turns them into text and back.
//
//   I10  A value names its writer: value / kValuesPerTxn is the id of the transaction that made it,
//       so that a value whose writer is not known can still be explained.
//   I11  An operation is a header word and the words that OpReader reads after it; it has no
//        pointers.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace foedus::isolation {

inline constexpr std::uint64_t kValuesPerTxn = 16;

// The kind of records in a storage.
enum class Shape : std::uint8_t {
  kRegister,  // three numbers: two halves that are put, and a counter
  kList,      // values, appended at the end
  kSequence,  // one sequence of values, of a sequential storage
};

struct StorageLine {
  std::uint64_t number = 0;
  std::string name;
  std::string kind;  // masstree, hash, array, sequential
  Shape shape = Shape::kRegister;
  bool is_array() const { return kind == "array"; }
};

enum class TxnKind : std::uint8_t { kSerializable, kSnapshot, kAsOf };
enum class Outcome : std::uint8_t {
  kCommitted,
  kRolledBack,  // by the user
  kConflict,
  kUnknown,  // the process died before the report
};

enum class OpKind : std::uint8_t {
  kRead,    // key, state
  kExists,  // key, flag: only the presence was read
  kRange,   // low, high, limit, rows of key and state
  kScan,    // limit, values of a sequence
  kPut,     // key, value: both halves become the value, the counter 0
  kInsert,  // as kPut; the record was absent
  kUpdate,  // as kPut; the record was present
  kWrite,   // key, value, part 0 or 1: that half becomes the value; was present
  kAdd,     // key, delta: to the counter; was present
  kErase,   // key; was present
  kAppend,  // key, value: at the end of the list, which is created if it is absent
  kPush,    // value: at the end of a sequence
};

// One operation, decoded. Rows of a range are read one by one from `rest`.
struct Op {
  OpKind kind;
  std::uint32_t storage;
  std::uint32_t count = 0;  // rows of a range, values of a scan, words of a read's state
  bool flag = false;        // present, reverse; kWrite: the second half
  std::uint64_t key = 0;    // or low
  std::uint64_t value = 0;  // or high
  std::uint64_t limit = ~std::uint64_t{0};
  std::span<const std::uint64_t> rest;  // state of a read, rows, or values
};

// Returns the header word of an operation.
inline std::uint64_t op_word(OpKind kind, std::uint32_t storage, bool flag, std::uint32_t count) {
  return static_cast<std::uint64_t>(kind) | static_cast<std::uint64_t>(flag) << 8 |
         static_cast<std::uint64_t>(storage & 0xffff) << 16 |
         static_cast<std::uint64_t>(count) << 32;
}

// A row of a range.
struct RowView {
  std::uint64_t key;
  std::span<const std::uint64_t> state;
};

// Takes the next row off the front of `rows`: key, number of words, words.
inline RowView take_row(std::span<const std::uint64_t>* rows) {
  const RowView row{(*rows)[0], rows->subspan(2, (*rows)[1])};
  *rows = rows->subspan(2 + row.state.size());
  return row;
}

class OpReader {
 public:
  explicit OpReader(std::span<const std::uint64_t> words) : left_(words) {}
  bool at_end() const { return left_.empty(); }
  std::size_t words_left() const { return left_.size(); }
  Op next();

 private:
  std::uint64_t take() {
    const std::uint64_t word = left_.front();
    left_ = left_.subspan(1);
    return word;
  }
  std::span<const std::uint64_t> left_;
};

// One finished attempt of a transaction.
struct TxnLine {
  std::uint64_t id = 0;
  std::uint32_t process = 0;  // incarnation
  std::uint32_t session = 0;
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;  // 0: it did not return
  TxnKind kind = TxnKind::kSerializable;
  Outcome outcome = Outcome::kCommitted;
  std::uint64_t epoch = 0;       // of the ticket
  std::uint64_t ordinal = 0;     // of the TID within the epoch; 0: it has no TID
  std::uint64_t durable_ns = 0;  // when durability was acknowledged with the commit; 0: never
  std::uint64_t durable_epoch = 0;  // epoch that was durable when it had ended
  std::vector<std::uint64_t> ops;
};

// The kinds of lines of a history; FORMAT.md has the members of each.
enum class LineKind : std::uint8_t {
  kHeader,
  kStorage,
  kDrop,
  kOpen,  // process, epoch: recovered
  kTxn,
  kDurable,  // process, epoch: acknowledged as durable
  kWindow,   // no transaction runs; epoch: no later snapshot is older
  kCrash,    // process; epoch, if it is known: the last durable one
};

struct Line {
  LineKind kind = LineKind::kHeader;
  StorageLine storage;  // kStorage, kDrop
  TxnLine txn;          // kTxn
  std::uint32_t process = 0;
  std::uint64_t epoch = 0;
  bool has_epoch = true;
  std::uint64_t ns = 0;
  std::string text;  // kHeader: the whole line
};

std::string_view to_string(Shape shape);
std::string_view to_string(TxnKind kind);
std::string_view to_string(Outcome outcome);
std::string_view to_string(OpKind kind);

}  // namespace foedus::isolation
