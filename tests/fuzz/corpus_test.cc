// ctest-program: own
// The short run of the fuzz targets. Goal: no target dies of its corpus, which has all earlier
// finds, or of tens of thousands of changes of it. Method: changes of bytes, of whole fields and of
// lengths by a seed (FOEDUS_SEED; printed, another one each time). libFuzzer makes the long runs
// (README.md).
// ctest-labels: memory
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "foedus-core/base/system/clock.h"
#include "tests/base/test_seed.h"

using FuzzTarget = int(const std::uint8_t* data, std::size_t size);
extern "C" {
FuzzTarget array_page_fuzz;
FuzzTarget ddl_record_fuzz;
FuzzTarget hash_page_fuzz;
FuzzTarget log_segment_fuzz;
FuzzTarget manifest_fuzz;
FuzzTarget masstree_page_fuzz;
FuzzTarget savepoint_fuzz;
FuzzTarget sequential_page_fuzz;
}

namespace foedus::fuzz::corpus_test {
namespace {

constexpr int kChanges = 30'000;  // of each target

struct Target {
  const char* name;
  FuzzTarget* run;
};
constexpr Target kTargets[] = {
    {"array_page_fuzz", array_page_fuzz}, {"ddl_record_fuzz", ddl_record_fuzz},
    {"hash_page_fuzz", hash_page_fuzz},   {"log_segment_fuzz", log_segment_fuzz},
    {"manifest_fuzz", manifest_fuzz},     {"masstree_page_fuzz", masstree_page_fuzz},
    {"savepoint_fuzz", savepoint_fuzz},   {"sequential_page_fuzz", sequential_page_fuzz},
};

std::vector<std::string> corpus_of(const std::string& target) {
  const char* const source = std::getenv("FOEDUS_SOURCE_DIR");
  const std::filesystem::path dir = std::filesystem::path(source == nullptr ? "." : source) /
                                    "tests" / "fuzz" / "corpus" / target;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(dir)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> inputs;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return inputs;
}

void run(const Target& target, const std::string& input) {
  // The buffer has the size of the input, so that a sanitizer notices a read of the first byte
  // after it.
  const std::vector<std::uint8_t> bytes(input.begin(), input.end());
  target.run(bytes.data(), bytes.size());
}

std::string changed(std::string input, base::Random* random) {
  const std::uint64_t changes = 1 + random->below(4);
  for (std::uint64_t i = 0; i < changes && !input.empty(); ++i) {
    const std::uint64_t at = random->below(input.size());
    switch (random->below(5)) {
      case 0:
        input[at] = static_cast<char>(input[at] ^ (1 << random->below(8)));
        break;
      case 1:
        input[at] = static_cast<char>(random->below(256));
        break;
      case 2:  // a word becomes one of the extremes
        for (std::uint64_t b = at; b < std::min<std::uint64_t>(at + 4, input.size()); ++b) {
          input[b] = random->below(2) == 0 ? '\0' : '\xff';
        }
        break;
      case 3:  // a part is copied to another place
        for (std::uint64_t b = 0, from = random->below(input.size()); b < 16; ++b) {
          if (at + b < input.size() && from + b < input.size()) input[at + b] = input[from + b];
        }
        break;
      default:
        if (random->below(4) == 0) input.resize(at);
        break;
    }
  }
  if (!input.empty()) input.back() = static_cast<char>(random->below(2));  // mended, or not
  return input;
}

class FuzzCorpusTest : public ::testing::TestWithParam<Target> {};

TEST_P(FuzzCorpusTest, and_what_is_made_of_it_harms_no_reader) {
  const std::vector<std::string> corpus = corpus_of(GetParam().name);
  ASSERT_FALSE(corpus.empty());
  for (const std::string& input : corpus) run(GetParam(), input);
  run(GetParam(), "");
  base::Random random(testing::test_seed(base::system_seed()));
  for (int i = 0; i < kChanges; ++i) {
    run(GetParam(), changed(corpus[random.below(corpus.size())], &random));
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, FuzzCorpusTest, ::testing::ValuesIn(kTargets),
                         [](const auto& about) { return std::string(about.param.name); });

}  // namespace
}  // namespace foedus::fuzz::corpus_test
