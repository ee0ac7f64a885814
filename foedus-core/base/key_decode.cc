// foedus/key_decode.h: reading the parts of a key.
#include "foedus/key_decode.h"

#include <bit>
#include <cinttypes>
#include <cmath>
#include <cstdio>

#include "foedus-core/base/out_of_memory.h"

namespace foedus::internal {

namespace {

constexpr std::uint64_t kSign = std::uint64_t{1} << 63;

}  // namespace

bool KeyReader::read_integer(std::int64_t low, std::uint64_t high, std::uint64_t* bits) {
  if (at_ == bytes_.size()) return fail("the key ends before an integer");
  const unsigned tag = static_cast<unsigned char>(bytes_[at_]);
  if (tag < 0x78 || tag > 0x88) return fail("no integer begins with this byte");
  const bool is_negative = tag < 0x80;
  const std::size_t significant = is_negative ? 0x80 - tag : tag - 0x80;
  if (bytes_.size() - at_ - 1 < significant) return fail("the key ends within an integer");
  std::uint64_t value = bits_at(at_ + 1, significant);
  // A negative number has the bytes of ~magnitude; the value, -magnitude, is one more.
  if (is_negative && significant < 8) value |= ~std::uint64_t{0} << (8 * significant);
  if (is_negative) ++value;
  const std::uint64_t magnitude = is_negative ? 0 - value : value;
  if (significant != 0 && (magnitude >> (8 * (significant - 1))) == 0) {
    return fail("an integer with an idle byte in front");
  }
  if (is_negative && magnitude > kSign) return fail("an integer below INT64_MIN");

  const auto negative = static_cast<std::int64_t>(value);
  if (is_negative ? negative < low : value > high) {
    char text[96];
    if (is_negative) {
      std::snprintf(text, sizeof(text), "%" PRId64 " is not in %" PRId64 " .. %" PRIu64, negative,
                    low, high);
    } else {
      std::snprintf(text, sizeof(text), "%" PRIu64 " is not in %" PRId64 " .. %" PRIu64, value, low,
                    high);
    }
    return fail(text);
  }
  *bits = value;
  return end_part(at_ + 1 + significant);
}

bool KeyReader::read_fixed(std::size_t part_bytes, std::uint64_t* bits) {
  if (bytes_.size() - at_ < part_bytes) return fail("the key ends within a part of fixed width");
  *bits = bits_at(at_, part_bytes);
  return end_part(at_ + part_bytes);
}

bool KeyReader::look_at_double(std::uint64_t* bits) {
  if (bytes_.size() - at_ < sizeof(double)) return fail("the key ends within a double");
  const std::uint64_t sorted = bits_at(at_, sizeof(double));
  *bits = (sorted & kSign) != 0 ? sorted ^ kSign : ~sorted;
  constexpr auto kInfinity = std::bit_cast<std::uint64_t>(std::numeric_limits<double>::infinity());
  constexpr auto kNan = std::bit_cast<std::uint64_t>(std::numeric_limits<double>::quiet_NaN());
  if ((*bits & ~kSign) > kInfinity && *bits != kNan) return fail("a NaN that key() does not write");
  return true;
}

bool KeyReader::read(double* part) {
  std::uint64_t bits = 0;
  if (!look_at_double(&bits)) return false;
  *part = std::bit_cast<double>(bits);
  return end_part(at_ + sizeof(double));
}

bool KeyReader::read(float* part) {
  std::uint64_t bits = 0;
  if (!look_at_double(&bits)) return false;
  const auto value = std::bit_cast<double>(bits);
  // The language does not say what a finite double beyond the floats is converted to.
  const bool is_beyond =
      std::isfinite(value) && std::fabs(value) > std::numeric_limits<float>::max();
  const float number = is_beyond ? 0.0f : static_cast<float>(value);
  if (std::bit_cast<std::uint64_t>(double{number}) != bits) {
    char text[96];
    std::snprintf(text, sizeof(text), "%.17g is not a float", value);
    return fail(text);
  }
  *part = number;
  return end_part(at_ + sizeof(double));
}

bool KeyReader::read(std::string* part) {
  const char* problem = nullptr;
  std::size_t end = 0;
  failure_ = base::catching([&] {
    problem = look_at_string(part, &end);
    return Status();
  });
  if (!failure_.is_ok()) return false;
  return problem != nullptr ? fail(problem) : end_part(end);
}

const char* KeyReader::look_at_string(std::string* part, std::size_t* end) const {
  for (std::size_t begin = at_;;) {
    const std::size_t zero = bytes_.find('\0', begin);
    if (zero == std::string_view::npos || zero + 1 == bytes_.size()) {
      return "the string does not end within the key";
    }
    const unsigned mark = static_cast<unsigned char>(bytes_[zero + 1]);
    if (mark != 0x00 && mark != 0xff) {
      return "a zero byte in the string is followed by neither 0x00 nor 0xff";
    }
    // A zero byte that is part of the string is copied with the bytes before it.
    part->append(bytes_.substr(begin, zero + (mark == 0xff ? 1 : 0) - begin));
    begin = zero + 2;
    if (mark == 0x00) {
      *end = begin;
      return nullptr;
    }
  }
}

std::uint64_t KeyReader::bits_at(std::size_t at, std::size_t count) const {
  std::uint64_t bits = 0;
  for (const char byte : bytes_.substr(at, count)) {
    bits = bits << 8 | static_cast<unsigned char>(byte);
  }
  return bits;
}

bool KeyReader::end_part(std::size_t at) {
  at_ = at;
  ++parts_;
  return true;
}

bool KeyReader::fail(const char* problem) {
  failure_ = base::catching([&] {
    std::string text = "part " + std::to_string(parts_ + 1) + " at byte " + std::to_string(at_);
    text.append(" of a key of ").append(std::to_string(bytes_.size())).append(" bytes: ");
    return Status::error(ErrorCode::kInvalidArgument, text.append(problem));
  });
  failure_.at_key(bytes_.data(), bytes_.size());
  return false;
}

Status KeyReader::finish() && {
  if (failure_.is_ok() && at_ != bytes_.size()) {
    fail("no part was asked for, and bytes are left");
  }
  return std::move(failure_);
}

}  // namespace foedus::internal
