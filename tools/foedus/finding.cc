#include "tools/foedus/finding.h"

#include <ostream>

#include "tools/foedus/preview.h"

namespace foedus::cli {

std::string line_of(const Finding& finding) {
  std::string line = finding.is_warning ? "warning: " : "problem: ";
  line += finding.file.empty() ? "the directory" : finding.file;
  if (finding.page.has_value()) line += ", page " + std::to_string(*finding.page);
  if (!finding.storage.empty()) line += ", storage " + preview(finding.storage);
  return line + ": " + finding.what;
}

void Findings::add(Finding finding) {
  (finding.is_warning ? warnings_ : problems_) += 1;
  if (each_) each_(finding);
  if (kept_.size() < kKeptMax) kept_.push_back(std::move(finding));
}

void Findings::print(std::ostream* out, Which which) const {
  std::uint64_t others = problems_ + (which == Which::kAll ? warnings_ : 0);
  for (const Finding& finding : kept_) {
    if (which == Which::kProblems && finding.is_warning) continue;
    *out << line_of(finding) << '\n';
    --others;
  }
  if (others != 0) *out << "and " << count_of(others, "finding") << " more\n";
}

}  // namespace foedus::cli
