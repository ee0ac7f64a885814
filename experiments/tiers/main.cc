// Figures of the papers about non-volatile memory, drawn with this engine. See README.md.

#include <gflags/gflags.h>
#include <glog/logging.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "experiments/common/options.h"
#include "experiments/common/text.h"
#include "experiments/tiers/figure.h"

DEFINE_string(figure, "", "which one; --list names them");
DEFINE_bool(quick, false, "smaller and shorter");
DEFINE_uint32(rounds, 3, "in which the curves of figures 8 to 15 and foedus8 take turns, 1 .. 100");
DEFINE_bool(list, false, "name the figures, one a line, with what they claim");

namespace {

using experiments::tiers::Figure;

foedus::Status run(int argc, char** argv) {
  FOEDUS_CHECK(experiments::parse_command_line(argc, argv, "tiers --figure F --dir D [--quick]"));
  const auto& figures = experiments::tiers::all_figures();
  if (FLAGS_list) {
    for (const Figure& figure : figures) std::printf("%s  %s\n", figure.name, figure.claim);
    return {};
  }
  for (const Figure& figure : figures) {
    if (FLAGS_figure != figure.name) continue;
    if (FLAGS_dir.empty()) {
      return experiments::failed(foedus::ErrorCode::kInvalidArgument, "--dir is empty");
    }
    if (FLAGS_rounds < 1 || FLAGS_rounds > 100) {
      return experiments::failed(foedus::ErrorCode::kInvalidArgument, "--rounds must be 1 .. 100");
    }
    std::error_code error;
    std::filesystem::create_directory(FLAGS_dir, error);
    if (error) {
      return experiments::failed(foedus::ErrorCode::kIoError, "%s: %s", FLAGS_dir.c_str(),
                                 error.message().c_str());
    }
    const experiments::tiers::Plan plan{.dir = FLAGS_dir,
                                        .is_quick = FLAGS_quick,
                                        .rounds = FLAGS_rounds,
                                        .sessions = FLAGS_sessions,
                                        .seed = FLAGS_seed};
    FOEDUS_TRY(const experiments::tiers::Verdict verdict, figure.draw(plan));
    experiments::JsonObject line = experiments::begin_line("tiers");
    line.add("figure", figure.name);
    line.add("claim", figure.claim);
    line.add("ours", verdict.ours);
    line.add("same", verdict.is_same);
    experiments::print_line(line);
    return {};
  }
  return experiments::failed(foedus::ErrorCode::kInvalidArgument,
                             "--figure is \"%s\"; --list names them", FLAGS_figure.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const foedus::Status status = run(argc, argv);
  if (status.is_ok()) return EXIT_SUCCESS;
  LOG(ERROR) << "tiers: " << status.message();
  return EXIT_FAILURE;
}
