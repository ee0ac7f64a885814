#include "foedus-core/base/invariant.h"

#include <cstdio>
#include <cstdlib>

namespace foedus::base {

void invariant_failed(const char* file, int line, const char* condition, const char* names,
                      const InvariantValue* values, unsigned value_count) {
  std::fprintf(stderr, "foedus: invariant failed at %s:%d: %s\n", file, line, condition);
  if (value_count != 0) std::fprintf(stderr, "foedus:   (%s) =", names);
  for (unsigned i = 0; i < value_count; ++i) {
    const std::string_view text = values[i].text();
    if (text.data() != nullptr) {
      std::fprintf(stderr, " \"%.*s\"", static_cast<int>(text.size()), text.data());
    } else {
      std::fprintf(stderr, " %llu (0x%llx)", values[i].number(), values[i].number());
    }
  }
  if (value_count != 0) std::fprintf(stderr, "\n");
  std::fflush(stderr);
  std::abort();
}

void end_program(std::string_view sentence) {
  std::fprintf(stderr, "foedus: %.*s\n", static_cast<int>(sentence.size()), sentence.data());
  std::fflush(stderr);
  std::abort();
}

}  // namespace foedus::base
