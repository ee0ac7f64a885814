#pragma once
// The calls of a transaction and their results, and the results of a std::map: those of a committed
// transaction must be as if all of it had happened at its commit.

#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "foedus/status.h"

namespace foedus::storage::masstree {

using DeltaRows = std::map<std::string, std::string>;

// The place of a scan.
struct ScanPlace {
  std::string low;
  std::string high;  // empty: no bound
  bool reverse = false;
  bool has_begun = false;
  std::string last;  // the row before, if it has begun
};

struct DeltaStep {
  enum Kind { kGet, kPut, kInsert, kUpdate, kWriteAt, kIncrement, kErase, kNext };
  struct Answer {
    ErrorCode code = ErrorCode::kOk;
    std::string key;      // kNext; the empty one also at the end of the scan
    std::string payload;  // kGet, kNext
    bool at_end = false;  // kNext
    bool operator==(const Answer&) const = default;
  };

  Kind kind = kGet;
  std::string key;
  std::string payload;  // or the part that is written
  std::uint32_t offset = 0;
  std::int64_t added = 0;
  ScanPlace place;  // kNext: before the step
  Answer answer;
};

// Returns the next row of a scan.
inline DeltaStep::Answer next_row(const DeltaRows& rows, const ScanPlace& place) {
  DeltaStep::Answer answer;
  auto row = rows.end();
  if (!place.reverse) {
    row = place.has_begun ? rows.upper_bound(place.last) : rows.lower_bound(place.low);
    answer.at_end = row == rows.end() || (!place.high.empty() && row->first >= place.high);
  } else {
    const bool is_bounded = place.has_begun || !place.high.empty();
    if (is_bounded) row = rows.lower_bound(place.has_begun ? place.last : place.high);
    answer.at_end = row == rows.begin() || std::prev(row)->first < place.low;
    if (!answer.at_end) --row;
  }
  if (!answer.at_end) {
    answer.key = row->first;
    answer.payload = row->second;
  }
  return answer;
}

// Does a step on the rows and returns its result.
inline DeltaStep::Answer answer_of(const DeltaStep& step, DeltaRows* rows) {
  if (step.kind == DeltaStep::kNext) return next_row(*rows, step.place);
  const auto row = rows->find(step.key);
  const bool is_there = row != rows->end();
  const bool needs_row = step.kind != DeltaStep::kPut && step.kind != DeltaStep::kInsert;
  DeltaStep::Answer answer;
  if (needs_row && !is_there) {
    answer.code = ErrorCode::kNotFound;
    return answer;
  }
  switch (step.kind) {
    case DeltaStep::kGet:
      answer.payload = row->second;
      break;
    case DeltaStep::kInsert:
      if (is_there) {
        answer.code = ErrorCode::kAlreadyExists;
        break;
      }
      [[fallthrough]];
    case DeltaStep::kPut:
    case DeltaStep::kUpdate:
      (*rows)[step.key] = step.payload;
      break;
    case DeltaStep::kErase:
      rows->erase(row);
      break;
    default: {
      const bool adds = step.kind == DeltaStep::kIncrement;
      const std::size_t bytes = adds ? sizeof(step.added) : step.payload.size();
      if (step.offset + bytes > row->second.size()) {
        answer.code = ErrorCode::kInvalidArgument;
      } else if (adds) {
        std::uint64_t value;
        std::memcpy(&value, row->second.data() + step.offset, sizeof(value));
        value += static_cast<std::uint64_t>(step.added);
        std::memcpy(row->second.data() + step.offset, &value, sizeof(value));
      } else {
        row->second.replace(step.offset, bytes, step.payload);
      }
    }
  }
  return answer;
}

// Returns text for the message of a failed test.
inline std::string to_text(const DeltaStep::Answer& answer) {
  std::string text = answer.at_end ? "end" : std::string(to_string(answer.code));
  if (!answer.key.empty()) text += " key " + answer.key;
  return text + ", " + std::to_string(answer.payload.size()) + " bytes " +
         answer.payload.substr(0, 12);
}

// Does all steps on the rows. Returns the first difference, or an empty string.
inline std::string replay(const std::vector<DeltaStep>& steps, DeltaRows* rows) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const DeltaStep::Answer expected = answer_of(steps[i], rows);
    if (expected == steps[i].answer) continue;
    std::string text = "step " + std::to_string(i) + " of " + std::to_string(steps.size()) +
                       ", kind " + std::to_string(steps[i].kind) + ", key " + steps[i].key +
                       steps[i].place.last + ": " + to_text(steps[i].answer) + ", not " +
                       to_text(expected) + "; before:";
    for (std::size_t j = 0; j <= i; ++j) {
      text += " (" + std::to_string(steps[j].kind) + ' ' + steps[j].key + steps[j].place.last + ')';
    }
    return text;
  }
  return {};
}

}  // namespace foedus::storage::masstree
