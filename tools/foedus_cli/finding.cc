#include "tools/foedus_cli/finding.h"

#include "tools/foedus_cli/preview.h"

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

}  // namespace foedus::cli
