#include "tests/isolation/checker/state.h"

namespace foedus::isolation {

RecordState RecordState::initial(const StorageLine& storage) {
  RecordState state;
  state.present = storage.is_array();
  if (state.present && storage.shape == Shape::kList) state.a = kEmptyList;
  return state;
}

RecordState RecordState::observed(Shape shape, bool present, std::span<const std::uint64_t> words) {
  RecordState state;
  if (!present) return state;
  state.present = true;
  if (shape == Shape::kList) {
    state.a = kEmptyList;
    for (const std::uint64_t value : words) state.a = mix(state.a, value);
    state.b = words.size();
    return state;
  }
  if (!words.empty()) state.a = words[0];
  if (words.size() > 1) state.b = words[1];
  if (words.size() > 2) state.c = words[2];
  return state;
}

void RecordState::apply(const Op& op) {
  switch (op.kind) {
    case OpKind::kPut:
    case OpKind::kInsert:
    case OpKind::kUpdate:
      *this = {true, op.value, op.value, 0};
      break;
    case OpKind::kWrite:
      present = true;
      (op.flag ? b : a) = op.value;
      break;
    case OpKind::kAdd:
      present = true;
      c += op.value;
      break;
    case OpKind::kErase:
      *this = {};
      break;
    case OpKind::kAppend:
      if (!present) *this = {true, kEmptyList, 0, 0};
      a = mix(a, op.value);
      ++b;
      break;
    default:
      break;
  }
}

Covered covered_by(const Op& range) {
  Covered covered{range.key, range.value};
  if (range.count == 0 || range.count < range.limit) return covered;
  auto rows = range.rest;
  RowView row{};
  for (std::uint32_t i = 0; i < range.count; ++i) row = take_row(&rows);
  if (range.flag) {
    covered.low = row.key;
  } else {
    covered.high = row.key + 1;
  }
  return covered;
}

std::string describe(Shape shape, const RecordState& state) {
  if (!state.present) return "absent";
  if (shape == Shape::kList) return "a list of " + std::to_string(state.b);
  return "[" + std::to_string(state.a) + "," + std::to_string(state.b) + "," +
         std::to_string(state.c) + "]";
}

}  // namespace foedus::isolation
