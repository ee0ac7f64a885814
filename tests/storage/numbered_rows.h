#pragma once
// NumberedRows: an array, a hash storage or a Master-Tree with the same calls. Each row is a
// number; a glean is made when a test asks for it.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "foedus-core/storage/array/array_storage.h"
#include "foedus-core/storage/dispatch.h"
#include "foedus-core/storage/hash/storage.h"
#include "foedus-core/storage/masstree/storage.h"
#include "tests/storage/gleaned.h"

namespace foedus::storage {

class NumberedRows : public ::testing::TestWithParam<StorageKind> {
 protected:
  static constexpr std::uint32_t kPayloadBytes = 100;

  // `rows` is the size of an array.
  NumberedRows(std::uint64_t rows, std::uint32_t fan_out_bits, std::uint32_t sessions = 4,
               const Gleaned::Memory& memory = {})
      : all_(meta_of(GetParam(), rows, fan_out_bits), compose_all, install, sessions, memory) {}

  static std::string key_of(std::uint64_t row) {
    const std::string digits = std::to_string(row);
    return std::string(8 - digits.size(), '0') + digits;
  }
  bool is_array() const { return GetParam() == StorageKind::kArray; }

  // Writes in the open transaction of a session.
  Status write(std::uint32_t session, std::uint64_t row, std::uint64_t number) {
    occ::TxnContext& ctx = all_.session(session).ctx();
    std::string payload(kPayloadBytes, static_cast<char>('a' + number % 26));
    std::memcpy(payload.data(), &number, sizeof(number));
    switch (GetParam()) {
      case StorageKind::kArray: return array::write_at(ctx, all_.control(), row, 0, payload);
      case StorageKind::kHash:
        return hash::write_whole(ctx, all_.control(), WriteMode::kPut, key_of(row), payload);
      default:
        return masstree::write_whole(ctx, all_.control(), WriteMode::kPut, key_of(row), payload);
    }
  }
  // Reads a row; an absent one is 0. A read of a row that is erased meanwhile may leave any bytes.
  Status read(std::uint32_t session, std::uint64_t row, std::uint64_t* number) {
    occ::TxnContext& ctx = all_.session(session).ctx();
    *number = 0;
    occ::ReadRange range;
    range.out = reinterpret_cast<char*>(number);
    range.out_bytes = sizeof(*number);
    const Status status =
        is_array() ? array::get(ctx, all_.control(), row, &range)
        : GetParam() == StorageKind::kHash
            ? hash::get(ctx, all_.control(), key_of(row), &range)
            : masstree::get(ctx, all_.control(), key_of(row), &range);
    if (status.code() != ErrorCode::kNotFound) return status;
    *number = 0;
    return {};
  }
  // Erases a row; that of an array becomes 0.
  Status erase(std::uint32_t session, std::uint64_t row) {
    occ::TxnContext& ctx = all_.session(session).ctx();
    if (is_array()) return write(session, row, 0);
    return GetParam() == StorageKind::kHash ? hash::erase(ctx, all_.control(), key_of(row))
                                            : masstree::erase(ctx, all_.control(), key_of(row));
  }
  // Puts each `step`-th row of [first, end), in transactions of their own.
  void put(std::uint64_t first, std::uint64_t end, std::uint64_t step = 1) {
    for (std::uint64_t row = first; row < end; row += step) {
      all_.session(0).begin();
      const Status status = write(0, row, row + 1);
      ASSERT_TRUE(status.is_ok()) << status.message();
      ASSERT_TRUE(all_.session(0).commit().is_ok());
    }
  }
  // Checks that rows [0, end) are those of put().
  void check(std::uint64_t end) {
    for (std::uint64_t row = 0; row < end; ++row) {
      if (row % 1'000 == 0) all_.all().pass_epochs();
      std::uint64_t number = 0;
      all_.session(1).begin();
      const Status status = read(1, row, &number);
      ASSERT_TRUE(status.is_ok()) << status.message();
      ASSERT_TRUE(all_.session(1).commit().is_ok());
      ASSERT_EQ(number, row + 1);
    }
  }
  std::uint64_t volatile_pages() { return all_.control()->volatile_pages.load_relaxed(); }

  Gleaned all_;

 private:
  static storage_meta::StorageMeta meta_of(StorageKind kind, std::uint64_t rows,
                                           std::uint32_t fan_out_bits) {
    storage_meta::StorageMeta meta;
    meta.kind = kind;
    if (kind == StorageKind::kArray) {
      meta.records = rows;
      meta.payload_bytes = kPayloadBytes;
    }
    if (kind == StorageKind::kHash) meta.fan_out_bits = fan_out_bits;
    return meta;
  }
};

// Values and names for INSTANTIATE_TEST_SUITE_P.
inline auto keyed_kinds() {
  return ::testing::Values(StorageKind::kArray, StorageKind::kHash, StorageKind::kMasstree);
}
inline std::string name_of_kind(const ::testing::TestParamInfo<StorageKind>& kind) {
  return kind.param == StorageKind::kArray  ? "Array"
         : kind.param == StorageKind::kHash ? "Hash"
                                            : "Masstree";
}

}  // namespace foedus::storage
