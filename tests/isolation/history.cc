#include "tests/isolation/history.h"

namespace foedus::isolation {

Op OpReader::next() {
  const std::uint64_t head = take();
  Op op{};
  op.kind = static_cast<OpKind>(head & 0xff);
  op.flag = (head >> 8 & 1) != 0;
  op.storage = head >> 16 & 0xffff;
  op.count = static_cast<std::uint32_t>(head >> 32);
  std::size_t rest = 0;
  switch (op.kind) {
    case OpKind::kRead:
      op.key = take();
      rest = op.count;
      break;
    case OpKind::kExists:
    case OpKind::kErase:
      op.key = take();
      break;
    case OpKind::kRange: {
      op.key = take();
      op.value = take();
      op.limit = take();
      for (std::uint32_t row = 0; row < op.count; ++row) rest += 2 + left_[rest + 1];
      break;
    }
    case OpKind::kScan:
      op.limit = take();
      rest = op.count;
      break;
    case OpKind::kPush:
      op.value = take();
      break;
    case OpKind::kPut:
    case OpKind::kInsert:
    case OpKind::kUpdate:
    case OpKind::kWrite:
    case OpKind::kAdd:
    case OpKind::kAppend:
      op.key = take();
      op.value = take();
      break;
  }
  op.rest = left_.first(rest);
  left_ = left_.subspan(rest);
  return op;
}

std::string_view to_string(Shape shape) {
  constexpr std::string_view kNames[] = {"register", "list", "sequence"};
  return kNames[static_cast<std::size_t>(shape)];
}
std::string_view to_string(TxnKind kind) {
  constexpr std::string_view kNames[] = {"serializable", "snapshot", "as_of"};
  return kNames[static_cast<std::size_t>(kind)];
}
std::string_view to_string(Outcome outcome) {
  constexpr std::string_view kNames[] = {"committed", "rolled_back", "conflict", "unknown"};
  return kNames[static_cast<std::size_t>(outcome)];
}
std::string_view to_string(OpKind kind) {
  constexpr std::string_view kNames[] = {"r",      "exists", "range", "scan",  "put",    "insert",
                                         "update", "write",  "add",   "erase", "append", "push"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace foedus::isolation
