#pragma once
// FOEDUS_INVARIANT(condition, values…): what must hold whatever users, devices and other threads
// do. Always on. One condition each. When it fails, the condition and the values are printed and
// the process aborts: an impossible state is never survived. Errors of operation are Status, never
// this.

#include <string_view>
#include <type_traits>

namespace foedus::base {

// A value as an invariant prints it.
class InvariantValue {
 public:
  template <typename T>
    requires std::is_integral_v<T> || std::is_enum_v<T>
  InvariantValue(T value)  // NOLINT: implicit on purpose
      : number_(static_cast<unsigned long long>(value)) {}
  InvariantValue(const void* pointer)  // NOLINT: implicit on purpose
      : number_(reinterpret_cast<unsigned long long>(pointer)) {}
  InvariantValue(std::string_view text) : text_(text) {}  // NOLINT: implicit on purpose
  InvariantValue(const char* text) : text_(text) {}       // NOLINT: implicit on purpose

  unsigned long long number() const { return number_; }
  std::string_view text() const { return text_; }

 private:
  unsigned long long number_ = 0;
  std::string_view text_;
};

[[noreturn]] void invariant_failed(const char* file, int line, const char* condition,
                                   const char* names, const InvariantValue* values,
                                   unsigned value_count);

// For a mistake of the program that the engine cannot survive: prints the sentence, which says what
// the program did and what it should do, and aborts.
[[noreturn, gnu::cold]] void end_program(std::string_view sentence);

template <typename... Values>
[[noreturn, gnu::cold, gnu::noinline]] void invariant_failed_with(const char* file, int line,
                                                                  const char* condition,
                                                                  const char* names,
                                                                  const Values&... values) {
  if constexpr (sizeof...(Values) == 0) {
    invariant_failed(file, line, condition, names, nullptr, 0);
  } else {
    const InvariantValue list[] = {InvariantValue(values)...};
    invariant_failed(file, line, condition, names, list, sizeof...(Values));
  }
}

}  // namespace foedus::base

#define FOEDUS_INVARIANT(condition, ...)                                                   \
  do {                                                                                     \
    if (!(condition)) [[unlikely]] {                                                       \
      ::foedus::base::invariant_failed_with(__FILE__, __LINE__, #condition, #__VA_ARGS__   \
                                            __VA_OPT__(, ) __VA_ARGS__);                   \
    }                                                                                      \
  } while (false)
