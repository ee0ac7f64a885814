#pragma once
// Rows that tell whether they are right, and sequences of operations that can be drawn again: so
// one process can say what another one, that was killed, must have left behind.
//
// A row is kFields fields. Every byte of a field follows from its row, its place and its version: 0
// as loaded, else the number of the operation that wrote it. Each row is written by one worker
// only; the last field only after recovery, so that the others stay what the killed process left.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "experiments/common/random.h"
#include "experiments/ycsb/zipf.h"

namespace experiments::recovery {

inline constexpr std::uint32_t kFields = 8;
inline constexpr std::uint32_t kFieldAfter = kFields - 1;  // written after recovery only

struct Field {
  std::uint64_t row;
  std::uint64_t place;
  std::uint64_t version;
  std::array<std::uint64_t, 13> fill;
};
static_assert(sizeof(Field) == 128 && std::has_unique_object_representations_v<Field>);

struct Row {
  std::array<Field, kFields> fields;
};
static_assert(sizeof(Row) == 1024);

inline Field make_field(std::uint64_t row, std::uint32_t place, std::uint64_t version) {
  Field field{row, place, version, {}};
  Random random(row * kFields + place, version);
  for (std::uint64_t& word : field.fill) word = random.next();
  return field;
}

inline Row make_row(std::uint64_t id) {
  Row row;
  for (std::uint32_t i = 0; i < kFields; ++i) row.fields[i] = make_field(id, i, 0);
  return row;
}

// Whether each byte is what row, place and version ask for.
inline bool is_whole(const Row& row, std::uint64_t id) {
  for (std::uint32_t i = 0; i < kFields; ++i) {
    const Field right = make_field(id, i, row.fields[i].version);
    if (std::memcmp(&right, &row.fields[i], sizeof(right)) != 0) return false;
  }
  return true;
}

template <typename T>
std::string_view payload_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}
template <typename T>
std::span<std::byte> bytes_of(T& value) {
  return std::as_writable_bytes(std::span<T, 1>(&value, 1));
}

enum class Phase : std::uint8_t {
  kWarm,    // reads only
  kBefore,  // half reads, half updates of the fields before kFieldAfter
  kAfter,   // the same of kFieldAfter
};

struct Operation {
  std::uint64_t row;
  std::uint32_t place;
  bool is_update;
};

// What is the same for all workers of a run.
struct Shape {
  Shape(std::uint64_t row_count, std::uint32_t worker_count, double theta, std::uint64_t seed_given)
      : rows(row_count),
        workers(worker_count),
        seed(seed_given),
        zipf(row_count, theta),
        scramble(row_count) {}

  const std::uint64_t rows;  // a multiple of workers
  const std::uint32_t workers;
  const std::uint64_t seed;
  const Zipf zipf;
  const Scramble scramble;
};

// One worker's operations of one phase, from the first on.
class Sequence {
 public:
  Sequence(const Shape& shape, std::uint32_t worker, Phase phase)
      : shape_(&shape),
        worker_(worker),
        phase_(phase),
        random_(shape.seed, std::uint64_t{worker} * 4 + static_cast<std::uint64_t>(phase)) {}

  Operation next() {
    ++count_;
    const std::uint64_t id = shape_->scramble.id(shape_->zipf.rank(random_));
    const auto place = static_cast<std::uint32_t>(random_.uniform(0, kFieldAfter - 1));
    const bool is_update = random_.percent(50) && phase_ != Phase::kWarm;
    return {id - id % shape_->workers + worker_, phase_ == Phase::kAfter ? kFieldAfter : place,
            is_update};
  }
  // Operations so far, and the version that the last of them writes.
  std::uint64_t count() const { return count_; }

 private:
  const Shape* shape_;
  std::uint32_t worker_;
  Phase phase_;
  Random random_;
  std::uint64_t count_ = 0;
};

}  // namespace experiments::recovery
