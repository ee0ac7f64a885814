#pragma once
// Keys, packed big-endian so that one key slice of 8 bytes holds a primary key.
// memcmp orders them by their parts.
//
//   warehouse            w:16
//   district             w:16 d:8
//   customer, c_data     w:16 d:8 c:32           item  i:32           stock  w:16 i:32
//   order, new_order     w:16 d:8 o:32           order_line  w:16 d:8 o:32 ol:8
//   order_by_customer    w:16 d:4 c:12 o:32
//   customer_by_name     w:16 d:8, C_LAST, zero byte, C_FIRST, zero byte, c:32
//   history              worker:16 number:48, where the store keeps it ordered

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "experiments/common/backend.h"
#include "experiments/tpcc/scale.h"

namespace experiments::tpcc {

inline std::uint64_t to_big_endian(std::uint64_t value) {
  return std::endian::native == std::endian::little ? __builtin_bswap64(value) : value;
}

// A key of one slice and, for tables that may be arrays, the index. Views live as long as it does.
class PackedKey {
 public:
  explicit PackedKey(std::uint64_t packed, std::uint64_t index = 0)
      : index_(index), big_endian_(to_big_endian(packed)) {}

  std::string_view bytes() const {
    return {reinterpret_cast<const char*>(&big_endian_), sizeof(big_endian_)};
  }
  operator KeyView() const { return {index_, bytes()}; }  // NOLINT: implicit on purpose

 private:
  std::uint64_t index_;
  std::uint64_t big_endian_;
};

inline std::uint64_t unpack(std::string_view bytes) {
  std::uint64_t packed = 0;
  std::memcpy(&packed, bytes.data(), sizeof(packed));
  return to_big_endian(packed);
}

inline constexpr std::uint64_t pack_order_line(std::uint64_t w, std::uint64_t d, std::uint64_t o,
                                               std::uint64_t ol) {
  return w << 48 | d << 40 | o << 8 | ol;
}

inline PackedKey warehouse_key(std::uint32_t w) {
  return PackedKey(pack_order_line(w, 0, 0, 0), w - 1);
}
inline std::uint64_t district_index(const Scale& scale, std::uint32_t w, std::uint32_t d) {
  return std::uint64_t{w - 1} * scale.districts + (d - 1);
}
inline PackedKey district_key(const Scale& scale, std::uint32_t w, std::uint32_t d) {
  return PackedKey(pack_order_line(w, d, 0, 0), district_index(scale, w, d));
}
inline std::uint64_t customer_index(const Scale& scale, std::uint32_t w, std::uint32_t d,
                                    std::uint32_t c) {
  return district_index(scale, w, d) * scale.customers_per_district + (c - 1);
}
inline PackedKey customer_key(const Scale& scale, std::uint32_t w, std::uint32_t d,
                              std::uint32_t c) {
  return PackedKey(pack_order_line(w, d, c, 0), customer_index(scale, w, d, c));
}
inline PackedKey item_key(std::uint32_t i) { return PackedKey(i, i - 1); }
inline PackedKey stock_key(const Scale& scale, std::uint32_t w, std::uint32_t i) {
  return PackedKey(std::uint64_t{w} << 48 | i, std::uint64_t{w - 1} * scale.items + (i - 1));
}
inline PackedKey order_key(std::uint32_t w, std::uint32_t d, std::uint32_t o) {
  return PackedKey(pack_order_line(w, d, o, 0));
}
inline PackedKey order_line_key(std::uint32_t w, std::uint32_t d, std::uint32_t o,
                                std::uint32_t ol) {
  return PackedKey(pack_order_line(w, d, o, ol));
}
inline std::uint32_t order_of(std::string_view key) {
  return static_cast<std::uint32_t>(unpack(key) >> 8);
}

// Below all orders of the customer if o is 0; above them all if it is kOrderMax.
inline constexpr std::uint32_t kOrderMax = ~std::uint32_t{0};
inline PackedKey order_by_customer_key(std::uint32_t w, std::uint32_t d, std::uint32_t c,
                                       std::uint32_t o) {
  return PackedKey(std::uint64_t{w} << 48 | std::uint64_t{d} << 44 | std::uint64_t{c} << 32 | o);
}
inline std::uint32_t order_of_customer_index(std::string_view key) {
  return static_cast<std::uint32_t>(unpack(key));
}

inline PackedKey history_key(std::uint32_t worker, std::uint64_t number) {
  return PackedKey(std::uint64_t{worker} << 48 | number);
}
inline std::uint64_t number_of_history(std::string_view key) {
  return unpack(key) & ((std::uint64_t{1} << 48) - 1);
}

// The length of text that is padded with zero bytes.
template <std::size_t kBytes>
std::string_view text_of(const char (&field)[kBytes]) {
  return {field, strnlen(field, kBytes)};
}

// Key of the index of customers by name, and the bounds of one last name in it.
class NameKey {
 public:
  static NameKey of(std::uint32_t w, std::uint32_t d, std::string_view last, std::string_view first,
                    std::uint32_t c) {
    NameKey key(w, d);
    key.append(last);
    key.append_byte(0);
    key.append(first);
    key.append_byte(0);
    for (int shift = 24; shift >= 0; shift -= 8) key.append_byte(static_cast<char>(c >> shift));
    return key;
  }
  // Below all names of the district.
  static NameKey district(std::uint32_t w, std::uint32_t d) { return NameKey(w, d); }
  static NameKey low(std::uint32_t w, std::uint32_t d, std::string_view last) {
    return bound(w, d, last, 0);
  }
  static NameKey high(std::uint32_t w, std::uint32_t d, std::string_view last) {
    return bound(w, d, last, 1);  // text has no byte 1, so nothing else lies between
  }
  static std::uint32_t customer_of(std::string_view key) {
    std::uint32_t c = 0;
    for (const char byte : key.substr(key.size() - sizeof(c))) {
      c = c << 8 | static_cast<std::uint8_t>(byte);
    }
    return c;
  }

  std::string_view bytes() const { return {data_, bytes_}; }
  operator KeyView() const { return {0, bytes()}; }  // NOLINT: implicit on purpose

 private:
  NameKey(std::uint32_t w, std::uint32_t d) {
    append_byte(static_cast<char>(w >> 8));
    append_byte(static_cast<char>(w));
    append_byte(static_cast<char>(d));
  }
  static NameKey bound(std::uint32_t w, std::uint32_t d, std::string_view last, char end) {
    NameKey key(w, d);
    key.append(last);
    key.append_byte(end);
    return key;
  }
  void append_byte(char byte) { data_[bytes_++] = byte; }
  void append(std::string_view part) {
    std::memcpy(data_ + bytes_, part.data(), part.size());
    bytes_ += part.size();
  }

  std::size_t bytes_ = 0;
  char data_[3 + 16 + 1 + 16 + 1 + 4];
};

}  // namespace experiments::tpcc
