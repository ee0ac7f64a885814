#pragma once
// text(): printf into a string, checked by the compiler. failed(): the same as an error.

#include <cstdarg>
#include <cstdio>
#include <string>

#include "foedus/status.h"

namespace experiments {

inline std::string vtext(const char* format, std::va_list arguments) {
  char line[512];
  std::vsnprintf(line, sizeof(line), format, arguments);
  return line;
}

[[gnu::format(printf, 1, 2)]] inline std::string text(const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  std::string line = vtext(format, arguments);
  va_end(arguments);
  return line;
}

[[gnu::format(printf, 2, 3)]] inline foedus::Status failed(foedus::ErrorCode code,
                                                           const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  std::string line = vtext(format, arguments);
  va_end(arguments);
  return foedus::Status::error(code, std::move(line));
}

}  // namespace experiments
