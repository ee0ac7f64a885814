#include "tools/foedus/salvage/losses.h"

#include <utility>

#include "tools/foedus/preview.h"

namespace foedus::cli {

void Losses::take(const Finding& finding) {
  if (finding.is_warning) return;
  if (!waiting_.empty()) {
    more_ += 1;
    return;
  }
  const std::string line = line_of(finding);
  waiting_ = line.substr(line.find(' ') + 1);
}

void Losses::rows(std::string_view storage, std::string_view what) {
  std::string line = std::exchange(waiting_, {});
  if (line.empty()) line = "storage " + preview(storage) + ": a file that cannot be read";
  if (more_ != 0) line += " (and " + count_of(std::exchange(more_, 0), "problem") + " more)";
  add("lost: " + line + "; " + std::string(what));
}

void Losses::file(std::string_view name, std::string_view what) {
  add("lost: " + std::string(name) + ": " + std::string(what));
}

void Losses::row(std::string_view storage, std::string_view what) {
  add("lost: storage " + preview(storage) + ": " + std::string(what));
}

void Losses::settle() {
  if (waiting_.empty()) return;
  std::string line = "problem: " + std::exchange(waiting_, {});
  if (more_ != 0) line += " (and " + count_of(std::exchange(more_, 0), "problem") + " more)";
  add(std::move(line));
}

void Losses::add(std::string line) {
  count_ += 1;
  if (each_) each_(line);
  if (kept_.size() < kKeptMax) kept_.push_back(std::move(line));
}

}  // namespace foedus::cli
