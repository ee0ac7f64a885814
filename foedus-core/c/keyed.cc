// Operations on records with keys, of foedus_c.h.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "foedus-core/c/operation.h"
#include "foedus-core/c/rows.h"

namespace foedus::c {

namespace {

// Reads of foedus_get_many() that go to the engine together.
constexpr std::size_t kReadsTogether = 256;

Status get_some(Txn* txn, const KeyedStorage& storage, std::span<foedus_read> reads) {
  std::array<ReadRequest, kReadsTogether> requests;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    requests[i].key = view_of(reads[i].key, reads[i].key_bytes);
    requests[i].out = span_of(reads[i].payload, reads[i].capacity);
    requests[i].payload_bytes = 0;
    requests[i].found = false;
  }
  FOEDUS_CHECK(txn->get_many(storage, std::span(requests).first(reads.size())));
  for (std::size_t i = 0; i < reads.size(); ++i) {
    reads[i].payload_bytes = requests[i].payload_bytes;
    reads[i].found = requests[i].found ? 1 : 0;
  }
  return {};
}

Status write_row(Txn* txn, const KeyedStorage& storage, int how, const Row& row) {
  switch (how) {
    case FOEDUS_PUT:
      return txn->put(storage, row.key, row.payload);
    case FOEDUS_INSERT:
      return txn->insert(storage, row.key, row.payload);
    case FOEDUS_UPDATE:
      return txn->update(storage, row.key, row.payload);
    case FOEDUS_ERASE:
      return txn->erase(storage, row.key);
  }
  return Status::error(ErrorCode::kInvalidArgument, "there is no such way to write rows");
}

// Runs Txn::get() or get_for_update() into the caller's memory.
template <typename Read>
int read_payload(foedus_txn* txn, const foedus_storage* storage, std::size_t* payload_bytes,
                 foedus_error* error, Read&& read) noexcept {
  return operate_on<KeyedStorage>(txn, storage, error,
                                  [&](Txn& open, const KeyedStorage& keyed) -> Status {
                                    FOEDUS_TRY(const std::size_t bytes, read(open, keyed));
                                    store(bytes, payload_bytes);
                                    return {};
                                  });
}

}  // namespace

}  // namespace foedus::c

using namespace foedus;     // NOLINT: the functions below are in no namespace
using namespace foedus::c;  // NOLINT: as above

int foedus_get(foedus_txn* txn, const foedus_storage* storage, const void* key,
               std::size_t key_bytes, void* payload, std::size_t capacity,
               std::size_t* payload_bytes, foedus_error* error) {
  return read_payload(txn, storage, payload_bytes, error,
                      [&](Txn& open, const KeyedStorage& keyed) {
                        return open.get(keyed, view_of(key, key_bytes), span_of(payload, capacity));
                      });
}

int foedus_get_for_update(foedus_txn* txn, const foedus_storage* storage, const void* key,
                          std::size_t key_bytes, void* payload, std::size_t capacity,
                          std::size_t* payload_bytes, foedus_error* error) {
  return read_payload(
      txn, storage, payload_bytes, error,
      [&](Txn& open, const KeyedStorage& keyed) -> Result<std::size_t> {
        if (txn->kind == foedus_txn::Kind::kAutocommit) {
          return Status::error(ErrorCode::kInvalidArgument,
                               "an autocommit handle keeps no lock; begin a transaction");
        }
        return open.get_for_update(keyed, view_of(key, key_bytes), span_of(payload, capacity));
      });
}

int foedus_get_copy(foedus_txn* txn, const foedus_storage* storage, const void* key,
                    std::size_t key_bytes, void** payload, std::size_t* payload_bytes,
                    foedus_error* error) {
  if (payload == nullptr) return report_invalid("the place for the payload is NULL", error);
  *payload = nullptr;
  const int code = operate_on<KeyedStorage>(
      txn, storage, error, [&](Txn& open, const KeyedStorage& keyed) -> Status {
        FOEDUS_TRY(const std::string found, open.get(keyed, view_of(key, key_bytes)));
        // A transaction that runs again reads again.
        std::free(std::exchange(*payload, std::malloc(std::max<std::size_t>(found.size(), 1))));
        if (*payload == nullptr) return ErrorCode::kOutOfMemory;
        std::memcpy(*payload, found.data(), found.size());
        store(found.size(), payload_bytes);
        return {};
      });
  if (code != FOEDUS_OK) std::free(std::exchange(*payload, nullptr));
  return code;
}

int foedus_read_at(foedus_txn* txn, const foedus_storage* storage, const void* key,
                   std::size_t key_bytes, std::uint32_t offset, void* part, std::size_t part_bytes,
                   foedus_error* error) {
  return operate_on<KeyedStorage>(txn, storage, error, [&](Txn& open, const KeyedStorage& keyed) {
    return open.read_at(keyed, view_of(key, key_bytes), offset, span_of(part, part_bytes));
  });
}

int foedus_contains(foedus_txn* txn, const foedus_storage* storage, const void* key,
                    std::size_t key_bytes, int* found, foedus_error* error) {
  return operate_on<KeyedStorage>(
      txn, storage, error, [&](Txn& open, const KeyedStorage& keyed) -> Status {
        FOEDUS_TRY(const bool exists, open.contains(keyed, view_of(key, key_bytes)));
        store(exists ? 1 : 0, found);
        return {};
      });
}

int foedus_get_many(foedus_txn* txn, const foedus_storage* storage, foedus_read* reads,
                    std::size_t count, foedus_error* error) {
  if (reads == nullptr && count != 0) return report_invalid("the reads are NULL", error);
  return operate_on<KeyedStorage>(
      txn, storage, error, [&](Txn& open, const KeyedStorage& keyed) -> Status {
        for (std::span<foedus_read> left(reads, count); !left.empty();) {
          const std::size_t some = std::min(left.size(), kReadsTogether);
          FOEDUS_CHECK(get_some(&open, keyed, left.first(some)));
          left = left.subspan(some);
        }
        return {};
      });
}

int foedus_prefetch(foedus_txn* txn, const foedus_storage* storage, const void* key,
                    std::size_t key_bytes, foedus_error* error) {
  return operate_on<KeyedStorage>(txn, storage, error,
                                  [&](Txn& open, const KeyedStorage& keyed) -> Status {
                                    open.prefetch(keyed, view_of(key, key_bytes));
                                    return {};
                                  });
}

int foedus_put(foedus_txn* txn, const foedus_storage* storage, const void* key,
               std::size_t key_bytes, const void* payload, std::size_t payload_bytes,
               foedus_error* error) {
  return operate_on<KeyedStorage>(txn, storage, error, [&](Txn& open, const KeyedStorage& keyed) {
    return open.put(keyed, view_of(key, key_bytes), view_of(payload, payload_bytes));
  });
}

int foedus_insert(foedus_txn* txn, const foedus_storage* storage, const void* key,
                  std::size_t key_bytes, const void* payload, std::size_t payload_bytes,
                  foedus_error* error) {
  return operate_on<KeyedStorage>(txn, storage, error, [&](Txn& open, const KeyedStorage& keyed) {
    return open.insert(keyed, view_of(key, key_bytes), view_of(payload, payload_bytes));
  });
}

int foedus_update(foedus_txn* txn, const foedus_storage* storage, const void* key,
                  std::size_t key_bytes, const void* payload, std::size_t payload_bytes,
                  foedus_error* error) {
  return operate_on<KeyedStorage>(txn, storage, error, [&](Txn& open, const KeyedStorage& keyed) {
    return open.update(keyed, view_of(key, key_bytes), view_of(payload, payload_bytes));
  });
}

int foedus_write_at(foedus_txn* txn, const foedus_storage* storage, const void* key,
                    std::size_t key_bytes, std::uint32_t offset, const void* part,
                    std::size_t part_bytes, foedus_error* error) {
  return operate_on<KeyedStorage>(txn, storage, error, [&](Txn& open, const KeyedStorage& keyed) {
    return open.write_at(keyed, view_of(key, key_bytes), offset, view_of(part, part_bytes));
  });
}

int foedus_increment(foedus_txn* txn, const foedus_storage* storage, const void* key,
                     std::size_t key_bytes, std::uint32_t offset, std::int64_t delta,
                     foedus_error* error) {
  return operate_on<KeyedStorage>(txn, storage, error, [&](Txn& open, const KeyedStorage& keyed) {
    return open.increment(keyed, view_of(key, key_bytes), offset, delta);
  });
}

int foedus_erase(foedus_txn* txn, const foedus_storage* storage, const void* key,
                 std::size_t key_bytes, foedus_error* error) {
  return operate_on<KeyedStorage>(txn, storage, error, [&](Txn& open, const KeyedStorage& keyed) {
    return open.erase(keyed, view_of(key, key_bytes));
  });
}

int foedus_erase_range(foedus_txn* txn, const foedus_storage* masstree, const void* low,
                       std::size_t low_bytes, const void* high, std::size_t high_bytes,
                       std::uint64_t limit, std::uint64_t* erased, foedus_error* error) {
  store(std::uint64_t{0}, erased);
  return operate_on<Masstree>(txn, masstree, error, [&](Txn& open, const Masstree& tree) -> Status {
    FOEDUS_TRY(const std::uint64_t count,
               open.erase_range(tree, view_of(low, low_bytes), view_of(high, high_bytes), limit));
    store(count, erased);
    return {};
  });
}

int foedus_write_rows(foedus_txn* txn, const foedus_storage* storage, int how, const void* rows,
                      std::size_t rows_bytes, std::size_t* done, foedus_error* error) {
  store(std::size_t{0}, done);
  if (!are_rows(view_of(rows, rows_bytes))) {
    return report_invalid("the bytes do not end with a row", error);
  }
  return operate_on<KeyedStorage>(
      txn, storage, error, [&](Txn& open, const KeyedStorage& keyed) -> Status {
        std::size_t written = 0;
        for (std::string_view left = view_of(rows, rows_bytes); !left.empty(); ++written) {
          store(written, done);
          FOEDUS_CHECK(write_row(&open, keyed, how, take_row(&left)));
        }
        store(written, done);
        return {};
      });
}
