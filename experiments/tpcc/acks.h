#pragma once
// Acks: what an outside world was told of new-orders before the power went. A line is written to
// the ack file only once its commit is durable, and with write(2), so that a killed process does
// not take it along; after recovery each must be there, whole.
//
// A line has kAckBytes bytes: W_ID D_ID O_ID total O_OL_CNT, in decimal, padded with blanks. A last
// line that was cut, by a kill in the middle of the write, is no ack, and goes before more follow.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "experiments/common/text.h"
#include "experiments/tpcc/tables.h"
#include "experiments/tpcc/transactions/new_order.h"

namespace experiments::tpcc {

struct Ack {
  std::uint32_t w;
  std::uint32_t d;
  std::uint32_t o;
  std::int64_t total;
  std::uint32_t line_count;
};

inline constexpr std::size_t kAckBytes = 37;

inline std::string ack_line(const Ack& ack) {
  return text("%5u %2u %10u %13lld %2u\n", ack.w, ack.d, ack.o, static_cast<long long>(ack.total),
              ack.line_count);
}

// Appends to the file. Any thread: the kernel keeps the writes of one call together.
class AckFile {
 public:
  static foedus::Result<AckFile> open(const std::string& path) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file < 0) {
      return foedus::Status::system_error(foedus::ErrorCode::kIoError, "open " + path, errno);
    }
    AckFile opened(file, path);
    struct stat now {};
    if (::fstat(file, &now) != 0 ||
        ::ftruncate(file, now.st_size - now.st_size % static_cast<off_t>(kAckBytes)) != 0) {
      return foedus::Status::system_error(foedus::ErrorCode::kIoError, "cut " + path, errno);
    }
    return opened;
  }
  AckFile(AckFile&& other) noexcept
      : file_(std::exchange(other.file_, -1)), path_(std::move(other.path_)) {}
  AckFile& operator=(AckFile&&) = delete;
  ~AckFile() {
    if (file_ >= 0) ::close(file_);
  }

  foedus::Status append(const std::string& lines) const {
    const ssize_t written = ::write(file_, lines.data(), lines.size());
    if (written == static_cast<ssize_t>(lines.size())) return {};
    return foedus::Status::system_error(foedus::ErrorCode::kIoError, "write " + path_,
                                        written < 0 ? errno : ENOSPC);
  }

 private:
  AckFile(int file, std::string path) : file_(file), path_(std::move(path)) {}
  int file_;
  std::string path_;
};

inline foedus::Result<std::vector<Ack>> read_acks(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return failed(foedus::ErrorCode::kIoError, "cannot read %s", path.c_str());
  std::vector<Ack> acks;
  std::string line(kAckBytes, '\0');
  while (file.read(line.data(), kAckBytes)) {
    Ack ack{};
    long long total = 0;
    const int fields = std::sscanf(line.c_str(), "%u %u %u %lld %u", &ack.w, &ack.d, &ack.o, &total,
                                   &ack.line_count);
    if (fields != 5 || line.back() != '\n') {
      return failed(foedus::ErrorCode::kCorruption, "%s: line %zu is no ack", path.c_str(),
                    acks.size() + 1);
    }
    ack.total = total;
    acks.push_back(ack);
  }
  return acks;
}

// The order, its lines and what they add up to, against what was acknowledged.
template <Backend B>
foedus::Status verify_ack(typename B::Txn& txn, const Tables<B>& tables, const Ack& ack) {
  const auto lost = [&](const char* what) {
    return failed(foedus::ErrorCode::kCorruption, "acknowledged order %u of district %u.%u: %s",
                  ack.o, ack.w, ack.d, what);
  };
  OrderRow order;
  const foedus::Status found =
      txn.get(tables.orders, order_key(ack.w, ack.d, ack.o), bytes_of(order));
  if (found.code() == foedus::ErrorCode::kNotFound) return lost("it is not there");
  FOEDUS_CHECK(found);
  if (order.ol_cnt != ack.line_count) return lost("O_OL_CNT is another");

  std::int64_t amounts = 0;
  for (std::uint32_t number = 1; number <= ack.line_count; ++number) {
    OrderLineRow line;
    const foedus::Status line_found =
        txn.get(tables.order_line, order_line_key(ack.w, ack.d, ack.o, number), bytes_of(line));
    if (line_found.code() == foedus::ErrorCode::kNotFound) return lost("a line is not there");
    FOEDUS_CHECK(line_found);
    amounts += line.amount;
  }
  WarehouseRow warehouse;
  DistrictRow district;
  CustomerRow customer;
  FOEDUS_CHECK(txn.get(tables.warehouse, warehouse_key(ack.w), bytes_of(warehouse)));
  FOEDUS_CHECK(
      txn.get(tables.district, district_key(tables.scale, ack.w, ack.d), bytes_of(district)));
  FOEDUS_CHECK(txn.get(tables.customer, customer_key(tables.scale, ack.w, ack.d, order.c_id),
                       bytes_of(customer)));
  const std::int64_t total =
      charged_total(amounts, customer.terms.discount, warehouse.tax, district.ordering.tax);
  return total == ack.total ? foedus::Status() : lost("the total is another");
}

// Returns how many there were. kCorruption names the first that does not hold.
template <Backend B>
foedus::Result<std::uint64_t> verify_acks(B& backend, const Tables<B>& tables,
                                          const std::string& path) {
  FOEDUS_TRY(const std::vector<Ack> acks, read_acks(path));
  FOEDUS_TRY(typename B::Worker worker, backend.new_worker());
  constexpr std::size_t kAcksPerTxn = 100;
  for (std::size_t first = 0; first < acks.size(); first += kAcksPerTxn) {
    const std::size_t end = std::min(first + kAcksPerTxn, acks.size());
    const auto verify_some = [&](typename B::Txn& txn) -> foedus::Status {
      for (std::size_t i = first; i < end; ++i) {
        FOEDUS_CHECK(verify_ack<B>(txn, tables, acks[i]));
      }
      return {};
    };
    FOEDUS_CHECK(worker.read_only(verify_some));
  }
  return std::uint64_t{acks.size()};
}

}  // namespace experiments::tpcc
