// Operations on arrays and sequential storages, of foedus_c.h.
#include <algorithm>
#include <array>

#include "foedus-core/c/operation.h"

namespace foedus::c {

namespace {

constexpr std::size_t kArrayReadsTogether = 256;

Status get_some(Txn* txn, const Array& array, std::span<const foedus_array_read> reads) {
  std::array<ArrayReadRequest, kArrayReadsTogether> requests;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    requests[i] = {.index = reads[i].index,
                   .offset = reads[i].offset,
                   .out = span_of(reads[i].part, reads[i].part_bytes)};
  }
  return txn->get_many(array, std::span(requests).first(reads.size()));
}

}  // namespace

}  // namespace foedus::c

using namespace foedus;     // NOLINT: the functions below are in no namespace
using namespace foedus::c;  // NOLINT: as above

int foedus_array_get(foedus_txn* txn, const foedus_storage* array, std::uint64_t index,
                     void* payload, std::size_t capacity, foedus_error* error) {
  return operate_on<Array>(txn, array, error, [&](Txn& open, const Array& of) {
    return open.get(of, index, span_of(payload, capacity));
  });
}

int foedus_array_read_at(foedus_txn* txn, const foedus_storage* array, std::uint64_t index,
                         std::uint32_t offset, void* part, std::size_t part_bytes,
                         foedus_error* error) {
  return operate_on<Array>(txn, array, error, [&](Txn& open, const Array& of) {
    return open.read_at(of, index, offset, span_of(part, part_bytes));
  });
}

int foedus_array_get_for_update(foedus_txn* txn, const foedus_storage* array, std::uint64_t index,
                                void* payload, std::size_t capacity, foedus_error* error) {
  return operate_on<Array>(txn, array, error, [&](Txn& open, const Array& of) -> Status {
    if (txn->kind == foedus_txn::Kind::kAutocommit) {
      return Status::error(ErrorCode::kInvalidArgument,
                           "an autocommit handle keeps no lock; begin a transaction");
    }
    return open.get_for_update(of, index, span_of(payload, capacity));
  });
}

int foedus_array_get_many(foedus_txn* txn, const foedus_storage* array,
                          const foedus_array_read* reads, std::size_t count, foedus_error* error) {
  if (reads == nullptr && count != 0) return report_invalid("the reads are NULL", error);
  return operate_on<Array>(txn, array, error, [&](Txn& open, const Array& of) -> Status {
    for (std::span<const foedus_array_read> left(reads, count); !left.empty();) {
      const std::size_t some = std::min(left.size(), kArrayReadsTogether);
      FOEDUS_CHECK(get_some(&open, of, left.first(some)));
      left = left.subspan(some);
    }
    return {};
  });
}

int foedus_array_prefetch(foedus_txn* txn, const foedus_storage* array, std::uint64_t index,
                          foedus_error* error) {
  return operate_on<Array>(txn, array, error, [&](Txn& open, const Array& of) -> Status {
    open.prefetch(of, index);
    return {};
  });
}

int foedus_array_put(foedus_txn* txn, const foedus_storage* array, std::uint64_t index,
                     const void* payload, std::size_t payload_bytes, foedus_error* error) {
  return operate_on<Array>(txn, array, error, [&](Txn& open, const Array& of) {
    return open.put(of, index, view_of(payload, payload_bytes));
  });
}

int foedus_array_write_at(foedus_txn* txn, const foedus_storage* array, std::uint64_t index,
                          std::uint32_t offset, const void* part, std::size_t part_bytes,
                          foedus_error* error) {
  return operate_on<Array>(txn, array, error, [&](Txn& open, const Array& of) {
    return open.write_at(of, index, offset, view_of(part, part_bytes));
  });
}

int foedus_array_increment(foedus_txn* txn, const foedus_storage* array, std::uint64_t index,
                           std::uint32_t offset, std::int64_t delta, foedus_error* error) {
  return operate_on<Array>(txn, array, error, [&](Txn& open, const Array& of) {
    return open.increment(of, index, offset, delta);
  });
}

int foedus_append(foedus_txn* txn, const foedus_storage* sequential, const void* payload,
                  std::size_t payload_bytes, foedus_error* error) {
  return operate_on<Sequential>(txn, sequential, error, [&](Txn& open, const Sequential& of) {
    return open.append(of, view_of(payload, payload_bytes));
  });
}
