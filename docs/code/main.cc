// Runs the code of all pages: docs_code <folder>. The folder must exist; each page's database is
// made in it. Prints a line for each page, and what the first programs print.

#include <foedus/foedus.h>

#include <cstdio>
#include <string>

#include "docs/code/pieces.h"

int first_in_cpp(int argc, char** argv);
extern "C" int first_in_c(int argc, char** argv);

namespace {

struct Piece {
  const char* name;
  foedus::Status (*run)(const std::string& dir);
};
constexpr Piece kPieces[] = {
    {"modelling", docs::modelling},   {"tables", docs::tables},   {"isolation", docs::isolation},
    {"durability", docs::durability}, {"errors", docs::errors},   {"operations", docs::operations},
    {"changes", docs::changes},       {"porting", docs::porting},
};

// Runs a first program as its user would, in the directory `dir`.
bool run_first(int (*program)(int, char**), std::string dir) {
  char name[] = "first";
  char* arguments[] = {name, dir.data(), nullptr};
  return program(2, arguments) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: docs_code <folder>\n"), 2;
  const std::string folder = argv[1];
  bool is_fine = run_first(first_in_cpp, folder + "/first_in_cpp");
  is_fine &= run_first(first_in_c, folder + "/first_in_c");
  for (const Piece& piece : kPieces) {
    const foedus::Status status = piece.run(folder + "/" + piece.name);
    std::printf("%s: %s\n", piece.name, status.message().c_str());
    is_fine &= status.is_ok();
  }
  return is_fine ? 0 : 1;
}
